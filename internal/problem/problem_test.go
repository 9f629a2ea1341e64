package problem

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Of(nil))
	assert.Nil(t, Of(errors.New("a defect")))
	assert.True(t, Is(fmt.Errorf("read: %w", Missing()), NotFound))
	assert.False(t, Is(errors.New("a defect"), NotFound))

	name, query := InvalidField("body.name", "is required"), InvalidField("body.query", "is too long")
	all := Of(fmt.Errorf("check: %w", errors.Join(name, nil, fmt.Errorf("again: %w", query))))
	require.NotNil(t, all)
	assert.Equal(t, []Field{name.Fields[0], query.Fields[0]}, all.Fields)
	assert.Len(t, name.Fields, 1, "the errors themselves stay as they are")

	cause := errors.New("connection refused")
	assert.Equal(t, Unavailable, Of(fmt.Errorf("%w: %w", DependencyDown("PostgreSQL"), cause)).Kind)
}

func TestEveryKindHasAStatus(t *testing.T) {
	t.Parallel()
	for kind := Internal; kind <= TooExpensive; kind++ {
		assert.NotEmpty(t, http.StatusText(statuses[kind]), kind)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	(&Error{Kind: RateLimited, Code: CodeRateLimited, Detail: "Wait <a moment>.", RetryAfter: 1500 * time.Millisecond}).Write(w, "r1")
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, ContentType, w.Header().Get("Content-Type"))
	assert.Equal(t, "2", w.Header().Get("Retry-After"), "rounded up")
	assert.JSONEq(t, `{"type": "about:blank", "title": "Too Many Requests", "status": 429, "detail": "Wait <a moment>.", "code": "rate_limited", "request_id": "r1"}`, w.Body.String())
}
