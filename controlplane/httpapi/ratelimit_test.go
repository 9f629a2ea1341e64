package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

// slowly is a limit that does not refill while a test runs. One more request than the burst passes: when it comes the
// bucket has gained a little, and then it is in debt.
func slowly(burst float64) ratelimit.Limit { return ratelimit.Limit{Rate: 1e-6, Burst: burst} }

func TestRateLimits(t *testing.T) {
	t.Parallel()
	e := newLimitedEnv(t, engines.Postgres(t), absentClickHouse, RateLimits{
		Key:     ratelimit.Limits{ratelimit.Requests: slowly(3)},
		Project: ratelimit.Limits{ratelimit.Requests: slowly(5)},
		User:    ratelimit.Limits{ratelimit.Requests: slowly(20), ratelimit.Bytes: slowly(1 << 20)},
	})
	owner, project := e.setUp(t)
	first, second := e.mint(t, owner, project.Id, contract.ScopeRunsRead), e.mint(t, owner, project.Id, contract.ScopeRunsRead)
	ask := func(as option) (code int, remaining string) {
		t.Helper()
		w := e.do(t, http.MethodGet, "/v1/me", nil, as)
		remaining = w.Header().Get("RateLimit-Remaining")
		require.NotEmpty(t, remaining)
		if w.Code != http.StatusTooManyRequests {
			assert.Empty(t, w.Header().Get("Retry-After"))
			return w.Code, remaining
		}
		assert.Equal(t, problem.CodeRateLimited, wantProblem(t, w, http.StatusTooManyRequests).Code)
		seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
		require.NoError(t, err)
		assert.Positive(t, seconds)
		return w.Code, remaining
	}
	// until sends requests until one is refused, and returns how many were not.
	until := func(as option) (passed int) {
		t.Helper()
		for {
			code, _ := ask(as)
			if code == http.StatusTooManyRequests {
				return passed
			}
			require.Equal(t, http.StatusOK, code)
			passed++
		}
	}
	_, remaining := ask(bearer(first.Key))
	assert.Equal(t, "2", remaining)
	assert.Equal(t, 3, until(bearer(first.Key)), "the key's")
	assert.Equal(t, 2, until(bearer(second.Key)), "what the project has left")

	// A person is somebody else; what was refused did nothing.
	w := e.do(t, http.MethodDelete, "/v1/keys/"+first.Id.String(), nil, bearer(first.Key))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	code, _ := ask(cookie(owner))
	assert.Equal(t, http.StatusOK, code)

	// Bodies count, and so does one without a Content-Length.
	for range 2 {
		body := `{"name":"` + strings.Repeat("a", 1<<19) + `"}`
		e.do(t, http.MethodPatch, "/v1/projects/"+project.Id.String(), body, cookie(owner))
	}
	code, _ = ask(cookie(owner))
	assert.Equal(t, http.StatusTooManyRequests, code)

	// Nobody is limited where nobody is known, and the health of the service is nobody's.
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil).Code)
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/healthz", nil).Code)
}

// What a read answers is charged, too.
// What a request declares and does not send is not charged.
func TestDeclaredLengthIsBounded(t *testing.T) {
	t.Parallel()
	e := newLimitedEnv(t, engines.Postgres(t), absentClickHouse, RateLimits{
		User: ratelimit.Limits{ratelimit.Bytes: slowly(100 * defaultMaxBody)},
	})
	owner, _ := e.setUp(t)
	for range 2 {
		declared := func(r *http.Request) { r.ContentLength = math.MaxInt64 }
		require.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, cookie(owner), declared).Code)
	}
}

func TestAnswersAreCharged(t *testing.T) {
	t.Parallel()
	e := newLimitedEnv(t, engines.Postgres(t), absentClickHouse, RateLimits{
		User: ratelimit.Limits{ratelimit.Bytes: slowly(1)},
	})
	owner, _ := e.setUp(t)
	require.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, cookie(owner)).Code)
	assert.Equal(t, http.StatusTooManyRequests, e.do(t, http.MethodGet, "/v1/me", nil, cookie(owner)).Code)
}
