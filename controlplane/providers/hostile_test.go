package providers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

func getProvider(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) contract.Provider {
	t.Helper()
	return apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+id.String(), nil, as), http.StatusOK)
}

// raw is an answer of chat completions with a usage.
func raw(usage string) provider.Reply {
	return provider.Reply{Raw: &provider.Raw{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":` + usage + `}`,
	}}
}

// TestUsageDoesNotLiftTheBudget has a provider that tells usages which are no counts: the most that the calls can cost counts.
func TestUsageDoesNotLiftTheBudget(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	e.Price(t, as, project.Id, "text")
	made := e.Connect(t, as, project.Id, "openai", server, `,"monthly_budget_usd":1`)
	spent := 0.0
	for _, usage := range []string{`{"prompt_tokens":1,"completion_tokens":9000000000000000000}`, `{"prompt_tokens":-1,"completion_tokens":-1}`, `"x"`} {
		server.Next(raw(usage))
		done := e.Complete(t, as, project.Id, made.Id, "text", `,"model_config":{"model":"text","max_output_tokens":1000}`)
		assert.Nil(t, done.CostUsd, usage)
		after := getProvider(t, e, as, made.Id)
		assert.Greater(t, after.Month.SpentUsd, spent+0.01, usage)
		assert.Less(t, after.Month.SpentUsd, spent+0.02, usage)
		spent = after.Month.SpentUsd
	}
	// A second limit of the output would be the one that a server obeys.
	more := `,"model_config":{"model":"text","max_output_tokens":1,"extra":{"max_tokens":1000000}}`
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "text", more), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "parameter_refused", refused.Code)
}

// TestRequestsThatReachNoServerCostNothing has a server that is down, and one that redirects.
func TestRequestsThatReachNoServerCostNothing(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Price(t, as, project.Id, "redirect")
	for _, kind := range []string{"openai", "anthropic"} {
		server := provider.Start(t, provider.Options{})
		made := e.Connect(t, as, project.Id, kind, server, `,"monthly_budget_usd":1`)
		apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "redirect", ""), as), http.StatusBadGateway)
		closed := provider.Start(t, provider.Options{})
		require.NoError(t, closed.Close())
		down := e.Connect(t, as, project.Id, kind, closed, `,"monthly_budget_usd":1`)
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, down.Id, "redirect", ""), as), http.StatusBadGateway)
		assert.Equal(t, "provider_unreachable", refused.Code)
		for _, id := range []uuid.UUID{made.Id, down.Id} {
			after := getProvider(t, e, as, id)
			assert.Zero(t, after.Month.SpentUsd)
			assert.Zero(t, after.Month.ReservedUsd)
			assert.Zero(t, after.Activity.Running)
		}
	}
}

// TestMonthGoesForward has two processes whose clocks disagree about the month.
func TestMonthGoesForward(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	e.Price(t, as, project.Id, "no-usage")
	made := e.Connect(t, as, project.Id, "openai", server, `,"monthly_budget_usd":0.02`)
	body := apitest.CompletionBody(project.Id, made.Id, "", `,"model_config":{"model":"no-usage","max_output_tokens":1000}`)
	e.Clock.Advance(32 * 24 * time.Hour)
	later := apitest.Cookie(apitest.SessionOf(t, e.Login(t, apitest.Password)))
	require.Equal(t, http.StatusOK, e.Do(t, http.MethodPost, "/v1/playground/completions", body, later).Code)
	spent := getProvider(t, e, later, made.Id).Month
	assert.Greater(t, spent.SpentUsd, 0.01)
	e.Clock.Advance(-32 * 24 * time.Hour)
	as = apitest.Cookie(apitest.SessionOf(t, e.Login(t, apitest.Password)))
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", body, as), http.StatusPaymentRequired)
	assert.Equal(t, "budget_exceeded", refused.Code, "the other clock does not give the month a new budget")
	assert.Equal(t, spent, getProvider(t, e, as, made.Id).Month)
}

// TestPauseEnds has a provider that asks to wait for years.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	for i, change := range []string{`{"requests_per_minute":null}`, `{"api_key":"another-key-of-some-length"}`} {
		server := provider.Start(t, provider.Options{})
		made := e.Connect(t, as, project.Id, "openai", server, "")
		server.Next(provider.Reply{Raw: &provider.Raw{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"Thu, 01 Jan 2099 00:00:00 GMT"}}, Body: `{"error":{"message":"slow down"}}`}})
		apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "text", ""), as), http.StatusBadGateway)
		paused := getProvider(t, e, as, made.Id).Activity.PausedUntil
		require.NotNil(t, paused, i)
		assert.WithinDuration(t, e.Clock.Now().Add(time.Hour), *paused, time.Minute)
		changed := apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, "/v1/providers/"+made.Id.String(), change, as), http.StatusOK)
		assert.Nil(t, changed.Activity.PausedUntil, change)
	}
}

// TestNamesThatCannotBeSent has values that a database, HTTP or an address cannot have.
func TestNamesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	made := e.Connect(t, as, project.Id, "openai", provider.Start(t, provider.Options{}), "")
	for path, location := range map[string]string{
		"/v1/playground/completions":                           "body.model_config.model",
		"/v1/playground/completions/_actions/preview":          "body.model_config.model",
		"/v1/providers/" + made.Id.String() + "/_actions/test": "body.model",
	} {
		body := apitest.CompletionBody(project.Id, made.Id, "", `,"model_config":{"model":"a\u0000b"}`)
		if location == "body.model" {
			body = `{"model":"a\u0000b"}`
		}
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path, body, as), http.StatusUnprocessableEntity)
		assert.Equal(t, location, (*refused.Errors)[0].Location)
	}
	for _, c := range []struct{ more, location string }{
		{`"headers":{"content-encoding":"gzip"}`, "body.headers.content-encoding"},
		{`"headers":{"Proxy-Connection":"x"}`, "body.headers.Proxy-Connection"},
		{`"base_url":"https://example.com/v1?"`, "body.base_url"},
		{`"base_url":"https://example.com/v1#"`, "body.base_url"},
	} {
		body := fmt.Sprintf(`{"project_id":%q,"name":"x","kind":"openai",%s}`, project.Id, c.more)
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/providers", body, as), http.StatusUnprocessableEntity)
		require.NotNil(t, refused.Errors, c.more)
		assert.Equal(t, c.location, (*refused.Errors)[0].Location)
	}
}

// deadlines is an answer that keeps the longest time that a client has to read a part of it.
type deadlines struct {
	*httptest.ResponseRecorder
	longest time.Duration
}

// SetWriteDeadline is that of a connection.
func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.longest = max(d.longest, time.Until(at))
	if d.Body.Len() == 0 && !d.Flushed {
		d.longest = 0 // no event was sent yet
	}
	return nil
}

// TestClientThatDoesNotReadHoldsNoCall has a client that has little time to read each event: the provider's call waits for it.
func TestClientThatDoesNotReadHoldsNoCall(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	made := e.Connect(t, apitest.Cookie(session), project.Id, "openai", provider.Start(t, provider.Options{}), "")
	body := apitest.CompletionBody(project.Id, made.Id, "text", `,"stream":true`)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/playground/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	apitest.Cookie(session)(r)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	e.API.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), "event: done")
	assert.NotZero(t, w.longest)
	assert.LessOrEqual(t, w.longest, 30*time.Second)
}
