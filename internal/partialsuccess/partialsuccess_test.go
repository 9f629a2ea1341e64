package partialsuccess

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
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

func TestWarning(t *testing.T) {
	t.Parallel()
	var r Report
	r.Warn("odd")
	r.Reject(0, "nothing")
	count, message := r.Rejected()
	assert.Zero(t, count)
	assert.Equal(t, "odd", message)
	r.Reject(2, "wrong")
	count, message = r.Rejected()
	assert.EqualValues(t, 2, count)
	assert.Equal(t, "wrong", message)
}

// Each client is told once an hour.
func TestTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told Told
		a, b := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2}
		assert.True(t, told.First(a))
		assert.False(t, told.First(a))
		assert.True(t, told.First(b))
		assert.True(t, told.First(nil))
		assert.False(t, told.First(nil))
		time.Sleep(time.Hour)
		assert.True(t, told.First(a))
		for port := range maxTold {
			told.First(&net.TCPAddr{Port: port})
		}
		assert.LessOrEqual(t, len(told.at), maxTold)
	})
}

// pdata reads what is written here.
func TestResponses(t *testing.T) {
	t.Parallel()
	for _, count := range []int64{0, 3} {
		spans := ptraceotlp.NewExportResponse()
		require.NoError(t, spans.UnmarshalProto(MarshalProto(count, `a "reason"`)))
		assert.Equal(t, count, spans.PartialSuccess().RejectedSpans())
		assert.Equal(t, `a "reason"`, spans.PartialSuccess().ErrorMessage())
		points := pmetricotlp.NewExportResponse()
		require.NoError(t, points.UnmarshalJSON(MarshalJSON("rejectedDataPoints", count, `a "reason"`)))
		assert.Equal(t, count, points.PartialSuccess().RejectedDataPoints())
		assert.Equal(t, `a "reason"`, points.PartialSuccess().ErrorMessage())
	}
}
