package partialsuccess

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReport(t *testing.T) {
	t.Parallel()
	assert.False(t, Reject(t.Context(), 1, "nobody asks"))
	var r Report
	ctx := With(t.Context(), &r)
	count, message := r.Rejected()
	assert.Zero(t, count)
	assert.Empty(t, message)
	assert.True(t, Reject(ctx, 2, "first"))
	assert.True(t, Reject(ctx, 1, "second"))
	count, message = r.Rejected()
	assert.EqualValues(t, 3, count)
	assert.Equal(t, "first", message)
}
