package httpapi_test

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

func TestRateLimits(t *testing.T) {
	t.Parallel()
	e := apitest.NewLimited(t, engines.Postgres(t), apitest.AbsentClickHouse, httpapi.RateLimits{
		Key:     ratelimit.Limits{ratelimit.Requests: apitest.Slowly(3)},
		Project: ratelimit.Limits{ratelimit.Requests: apitest.Slowly(5)},
		User:    ratelimit.Limits{ratelimit.Requests: apitest.Slowly(20), ratelimit.Bytes: apitest.Slowly(1 << 20)},
	})
	owner, project := e.SetUp(t)
	first, second := e.Mint(t, owner, project.Id, contract.ScopeRunsRead), e.Mint(t, owner, project.Id, contract.ScopeRunsRead)
	ask := func(as apitest.Option) (code int, remaining string) {
		t.Helper()
		w := e.Do(t, http.MethodGet, "/v1/me", nil, as)
		remaining = w.Header().Get("RateLimit-Remaining")
		require.NotEmpty(t, remaining)
		if w.Code != http.StatusTooManyRequests {
			assert.Empty(t, w.Header().Get("Retry-After"))
			return w.Code, remaining
		}
		assert.Equal(t, problem.CodeRateLimited, apitest.WantProblem(t, w, http.StatusTooManyRequests).Code)
		seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
		require.NoError(t, err)
		assert.Positive(t, seconds)
		return w.Code, remaining
	}
	// until sends requests until one is refused, and returns how many were not.
	until := func(as apitest.Option) (passed int) {
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
	_, remaining := ask(apitest.Bearer(first.Key))
	assert.Equal(t, "2", remaining)
	assert.Equal(t, 3, until(apitest.Bearer(first.Key)), "the key's")
	assert.Equal(t, 2, until(apitest.Bearer(second.Key)), "what the project has left")

	// A person is somebody else; what was refused did nothing.
	w := e.Do(t, http.MethodDelete, "/v1/keys/"+first.Id.String(), nil, apitest.Bearer(first.Key))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	code, _ := ask(apitest.Cookie(owner))
	assert.Equal(t, http.StatusOK, code)

	// Bodies count, and so does one without a Content-Length.
	for range 2 {
		body := `{"name":"` + strings.Repeat("a", 1<<19) + `"}`
		e.Do(t, http.MethodPatch, "/v1/projects/"+project.Id.String(), body, apitest.Cookie(owner))
	}
	code, _ = ask(apitest.Cookie(owner))
	assert.Equal(t, http.StatusTooManyRequests, code)

	// Nobody is limited where nobody is known, and the health of the service is nobody's.
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil).Code)
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/healthz", nil).Code)
}

// What a read answers is charged, too.
// What a request declares and does not send is not charged.
func TestDeclaredLengthIsBounded(t *testing.T) {
	t.Parallel()
	e := apitest.NewLimited(t, engines.Postgres(t), apitest.AbsentClickHouse, httpapi.RateLimits{
		User: ratelimit.Limits{ratelimit.Bytes: apitest.Slowly(100 * httpapi.DefaultMaxBody)},
	})
	owner, _ := e.SetUp(t)
	for range 2 {
		declared := func(r *http.Request) { r.ContentLength = math.MaxInt64 }
		require.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(owner), declared).Code)
	}
}

func TestAnswersAreCharged(t *testing.T) {
	t.Parallel()
	e := apitest.NewLimited(t, engines.Postgres(t), apitest.AbsentClickHouse, httpapi.RateLimits{
		User: ratelimit.Limits{ratelimit.Bytes: apitest.Slowly(1)},
	})
	owner, _ := e.SetUp(t)
	require.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(owner)).Code)
	assert.Equal(t, http.StatusTooManyRequests, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(owner)).Code)
}
