package providers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

func TestProviders(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	create := func(more string) string {
		return fmt.Sprintf(`{"project_id":%q,"kind":"openai",%s}`, project.Id, more)
	}
	w := e.Do(t, http.MethodPost, "/v1/providers", create(`"name":" OpenAI ","api_key":"sk-test-1234567890abcd","headers":{"X-Org":"secret-organization"}`), as)
	made := apitest.Must[contract.Provider](t, w, http.StatusCreated)
	path := "/v1/providers/" + made.Id.String()
	assert.Equal(t, path, w.Header().Get("Location"))
	assert.Equal(t, "OpenAI", made.Name)
	assert.Equal(t, "https://api.openai.com/v1", made.BaseUrl)
	assert.Equal(t, "abcd", *made.KeyHint)
	assert.Equal(t, []string{"X-Org"}, made.HeaderNames)
	assert.Equal(t, 16, made.MaxConcurrency)
	assert.True(t, made.KeyReadable)
	assert.Equal(t, 16, made.Activity.ConcurrencyLimit)
	assert.Equal(t, made, apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK))
	page := apitest.Must[contract.ProviderPage](t, e.Do(t, http.MethodGet, "/v1/providers", nil, as), http.StatusOK)
	assert.Equal(t, []contract.Provider{made}, page.Data)
	assert.Equal(t, "name_taken", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/providers", create(`"name":"openai"`), as), http.StatusConflict).Code)

	change := func(body string) contract.Provider {
		return apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, path, body, as), http.StatusOK)
	}
	assert.InDelta(t, 25.5, *change(`{"monthly_budget_usd":25.5,"requests_per_minute":60}`).MonthlyBudgetUsd, 1e-9)
	changed := change(`{"name":"Other","max_concurrency":4,"requests_per_minute":null}`)
	assert.Equal(t, "abcd", *changed.KeyHint, "absent members stay")
	assert.Equal(t, 4, changed.Activity.ConcurrencyLimit)
	assert.Nil(t, changed.RequestsPerMinute)
	assert.InDelta(t, 25.5, *changed.MonthlyBudgetUsd, 1e-9)
	assert.Nil(t, change(`{"monthly_budget_usd":null}`).MonthlyBudgetUsd)

	// The key is for one address.
	moved := apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"base_url":"https://example.com/v1"}`, as), http.StatusUnprocessableEntity)
	require.Len(t, *moved.Errors, 2)
	assert.Equal(t, "body.api_key", (*moved.Errors)[0].Location)
	assert.Equal(t, "body.headers", (*moved.Errors)[1].Location)
	assert.Nil(t, change(`{"base_url":"https://example.com/v1","api_key":null,"headers":{}}`).KeyHint)

	for _, bad := range []struct{ body, location string }{
		{`"name":""`, "body.name"},
		{`"name":"a","base_url":"ftp://example.com"`, "body.base_url"},
		{`"name":"a","base_url":"https://user:password@example.com"`, "body.base_url"},
		{`"name":"a","base_url":"https://example.com/v1/chat/completions"`, "body.base_url"},
		{`"name":"a","base_url":"https://example.com?key=1"`, "body.base_url"},
		{`"name":"a","api_key":"two words"`, "body.api_key"},
		{`"name":"a","headers":{"Host":"a"}`, "body.headers.Host"},
		{`"name":"a","headers":{"a b":"c"}`, "body.headers.a b"},
		{`"name":"a","headers":{"a":"b\nc"}`, "body.headers.a"},
		{`"name":"a","max_concurrency":0`, "body.max_concurrency"},
		{`"name":"a","monthly_budget_usd":-1`, "body.monthly_budget_usd"},
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/providers", create(bad.body), as), http.StatusUnprocessableEntity)
		require.NotEmpty(t, *refused.Errors, bad.body)
		assert.Equal(t, bad.location, (*refused.Errors)[0].Location, bad.body)
	}
	// Loopback is allowed here.
	for _, address := range []string{"http://10.1.2.3/v1", "http://169.254.169.254/v1", "http://[fd00::1]/v1"} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/providers", create(`"name":"a","base_url":"`+address+`"`), as), http.StatusUnprocessableEntity)
		assert.Equal(t, "address_not_allowed", refused.Code)
		assert.Contains(t, *refused.Detail, "PROVIDER_PRIVATE_ADDRESSES")
	}

	reading := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeEvalsRead).Key)
	apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, path, nil, reading), http.StatusOK)
	apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"name":"x"}`, reading), http.StatusForbidden)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path, nil, as), http.StatusNotFound)
}

func TestProviderModels(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	for _, kind := range []string{"openai", "anthropic"} {
		server := provider.Start(t, provider.Options{})
		made := e.Connect(t, as, project.Id, kind, server, "")
		e.Price(t, as, project.Id, kind+"-priced")
		list := apitest.Must[contract.ProviderModelList](t, e.Do(t, http.MethodGet, "/v1/providers/"+made.Id.String()+"/models", nil, as), http.StatusOK)
		assert.True(t, list.Listed)
		assert.Len(t, list.Data, len(provider.Models()))

		other := provider.Start(t, provider.Options{Answer: func(r *provider.Request) *provider.Reply {
			if r.Method == http.MethodGet {
				return &provider.Reply{Raw: &provider.Raw{Status: http.StatusNotFound, Body: "no such page"}}
			}
			return nil
		}})
		unlisted := e.Connect(t, as, project.Id, kind, other, "")
		e.Complete(t, as, project.Id, unlisted.Id, "text", "")
		list = apitest.Must[contract.ProviderModelList](t, e.Do(t, http.MethodGet, "/v1/providers/"+unlisted.Id.String()+"/models", nil, as), http.StatusOK)
		assert.False(t, list.Listed)
		require.NotNil(t, list.Message)
		require.Len(t, list.Data, 1, "that of the call")
		assert.Equal(t, "text", list.Data[0].Id)
	}
}

// TestProviderModelsAreAskedForRarely: who may only read cannot use up what a connection may ask of its provider.
func TestProviderModelsAreAskedForRarely(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, `,"requests_per_minute":1`)
	path := "/v1/providers/" + made.Id.String()
	list := func() contract.ProviderModelList {
		return apitest.Must[contract.ProviderModelList](t, e.Do(t, http.MethodGet, path+"/models", nil, as), http.StatusOK)
	}
	for range 5 {
		assert.True(t, list().Listed)
	}
	assert.Len(t, server.Requests(), 1)
	e.Clock.Advance(time.Second)
	// A change of the connection is asked about at once, if there is a place.
	apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, path, `{"name":"other"}`, as), http.StatusOK)
	busy := list()
	assert.False(t, busy.Listed)
	require.NotNil(t, busy.Message)
	assert.Contains(t, *busy.Message, "calls per minute")
	e.Clock.Advance(time.Minute)
	assert.True(t, list().Listed)
	assert.Len(t, server.Requests(), 2)
	e.Exec(t, "UPDATE provider_states SET paused_until = $1", e.Clock.Now().Add(time.Hour))
	e.Clock.Advance(2 * time.Minute)
	assert.True(t, list().Listed, "the older list serves while the provider asked to wait")
	assert.Len(t, server.Requests(), 2)
}

// TestProviderTest tests connections that work, that have a wrong key, a public list of models, and no server.
func TestProviderTest(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	test := func(id uuid.UUID, model string) contract.ProviderTestResult {
		body := "{}"
		if model != "" {
			body = fmt.Sprintf(`{"model":%q}`, model)
		}
		return apitest.Must[contract.ProviderTestResult](t, e.Do(t, http.MethodPost, "/v1/providers/"+id.String()+"/_actions/test", body, as), http.StatusOK)
	}
	for _, kind := range []string{"openai", "anthropic"} {
		server := provider.Start(t, provider.Options{})
		made := e.Connect(t, as, project.Id, kind, server, "")
		good := test(made.Id, "text")
		assert.True(t, good.Reachable)
		assert.True(t, *good.Authenticated)
		for name, found := range map[string]*bool{"chat": good.Features.Chat, "streaming": good.Features.Streaming, "tools": good.Features.Tools, "json_schema": good.Features.JsonSchema} {
			require.NotNil(t, found, kind+name)
			assert.True(t, *found, kind+name)
		}
		assert.Nil(t, good.Code)
		without := test(made.Id, "")
		assert.True(t, *without.Authenticated)
		assert.Nil(t, without.Features.Chat)
		lacking := test(made.Id, "no-tools")
		assert.True(t, *lacking.Features.Chat)
		assert.False(t, *lacking.Features.Tools)

		unknown := test(made.Id, "unknown-model")
		assert.Equal(t, "model_not_found", *unknown.Code)

		path := "/v1/providers/" + made.Id.String()
		apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, path, `{"api_key":"wrong-key-1234567890"}`, as), http.StatusOK)
		refused := test(made.Id, "text")
		assert.True(t, refused.Reachable)
		assert.False(t, *refused.Authenticated)
		assert.Equal(t, "provider_key_refused", *refused.Code)
		assert.NotContains(t, *refused.Message, "wrong-key-1234567890")

		public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"a","object":"model","type":"model"}]}`))
		}))
		listing := e.Connect(t, as, project.Id, kind, &provider.Server{URL: public.URL, Key: "some-key-1234567890"}, "")
		assert.Nil(t, test(listing.Id, "").Authenticated, "the list says nothing of the key")
		public.Close()

		require.NoError(t, server.Close())
		gone := test(made.Id, "text")
		assert.False(t, gone.Reachable)
		assert.Equal(t, "provider_unreachable", *gone.Code)
	}
}

// TestBudget makes 100 calls at once under a budget of a cent. Each reserves the most that it can cost.
func TestBudget(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	e.Price(t, as, project.Id, "text")
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":50,"monthly_budget_usd":0.01`)
	var (
		all              sync.WaitGroup
		mu               sync.Mutex
		made200, refused int
		cost             float64
	)
	for range 100 {
		all.Go(func() {
			w := e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "text", `,"model_config":{"model":"text","max_output_tokens":50}`), as)
			mu.Lock()
			defer mu.Unlock()
			switch w.Code {
			case http.StatusOK:
				made200++
				cost += *apitest.Must[contract.Completion](t, w, http.StatusOK).CostUsd
			case http.StatusPaymentRequired:
				refused++
				assert.Equal(t, "budget_exceeded", apitest.WantProblem(t, w, http.StatusPaymentRequired).Code)
			default:
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	assert.Equal(t, 100, made200+refused)
	assert.NotZero(t, made200)
	assert.NotZero(t, refused)
	after := apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+made.Id.String(), nil, as), http.StatusOK)
	assert.LessOrEqual(t, after.Month.SpentUsd, 0.01)
	assert.InDelta(t, cost, after.Month.SpentUsd, 1e-9)
	assert.Zero(t, after.Month.ReservedUsd)
	assert.Zero(t, after.Activity.Running)
	assert.Len(t, server.Requests(), made200)
	spending := apitest.Must[contract.Spending](t, e.Do(t, http.MethodGet, "/v1/spending?project_id="+project.Id.String()+"&end="+apitest.InAnHour(e), nil, as), http.StatusOK)
	assert.EqualValues(t, made200, spending.Total.CallCount)
	assert.InDelta(t, cost, spending.Total.CostUsd, 1e-9)
	require.Len(t, spending.Rows, 1)
	assert.Equal(t, made.Name, spending.Rows[0].Label)
	for _, group := range []string{"feature", "caller", "model", "day"} {
		grouped := apitest.Must[contract.Spending](t, e.Do(t, http.MethodGet, "/v1/spending?project_id="+project.Id.String()+"&group_by="+group+"&end="+apitest.InAnHour(e), nil, as), http.StatusOK)
		assert.Equal(t, spending.Total, grouped.Total)
		assert.Len(t, grouped.Rows, 1, group)
	}

	// The next month has a budget of its own.
	e.Clock.Advance(32 * 24 * time.Hour)
	e.Complete(t, apitest.Cookie(apitest.SessionOf(t, e.Login(t, apitest.Password))), project.Id, made.Id, "text", `,"model_config":{"model":"text","max_output_tokens":50}`)
}

// TestUnpriced calls models without a price where money is limited.
func TestUnpriced(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	free := e.Connect(t, as, project.Id, "openai", server, "")
	limited := e.Connect(t, as, project.Id, "openai", server, `,"monthly_budget_usd":1`)
	allowing := e.Connect(t, as, project.Id, "openai", server, `,"monthly_budget_usd":1,"allow_unpriced":true`)
	post := func(id uuid.UUID, more string) contract.Problem {
		return apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, id, "text", more), as), http.StatusUnprocessableEntity)
	}
	assert.Nil(t, e.Complete(t, as, project.Id, free.Id, "text", "").CostUsd)
	assert.Equal(t, "price_unknown", post(limited.Id, "").Code)
	assert.Equal(t, "price_unknown", post(free.Id, `,"max_cost_usd":1`).Code)
	assert.Nil(t, e.Complete(t, as, project.Id, allowing.Id, "text", "").CostUsd)
	assert.Nil(t, e.Complete(t, as, project.Id, free.Id, "text", `,"max_cost_usd":1,"allow_unpriced":true`).CostUsd)

	// A priced model needs a limit of its output.
	e.Price(t, as, project.Id, "text")
	done := e.Complete(t, as, project.Id, limited.Id, "text", "")
	require.Len(t, done.Warnings, 1)
	assert.Contains(t, done.Warnings[0], "max_output_tokens")
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, free.Id, "text", `,"max_cost_usd":0.0001`), as), http.StatusPaymentRequired)
	assert.Equal(t, "budget_exceeded", refused.Code)

	// A model that reports no usage has an unknown cost: the most that it can be counts.
	e.Price(t, as, project.Id, "no-usage")
	assert.Nil(t, e.Complete(t, as, project.Id, limited.Id, "no-usage", `,"model_config":{"model":"no-usage","max_output_tokens":1000}`).CostUsd)
	after := apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+limited.Id.String(), nil, as), http.StatusOK)
	assert.Greater(t, after.Month.SpentUsd, 0.01)
	// It counts against the limit of a completion, too: the next round is not afforded, and the completion ends with what was answered.
	server.Next(provider.Reply{NoUsage: true, ToolCalls: []provider.ToolCall{{Name: "get_weather", Arguments: "{}"}}})
	rounds := `,"tools":[` + apitest.WeatherTool + `],"tool_answers":{"get_weather":{"content":"sunny"}},"max_cost_usd":0.018,"model_config":{"model":"text","max_output_tokens":1000}`
	ended := e.Complete(t, as, project.Id, free.Id, "text", rounds)
	assert.Equal(t, contract.CompletionStopReasonMaxCost, ended.StopReason)
	assert.Equal(t, 1, ended.Rounds)
	assert.Len(t, ended.AddedMessages, 2, "the call of the tool and its answer")
	assert.Contains(t, string(ended.Message), "get_weather", "what was paid is not lost")
	assert.Nil(t, ended.CostUsd)
	spending := apitest.Must[contract.Spending](t, e.Do(t, http.MethodGet, "/v1/spending?project_id="+project.Id.String()+"&end="+apitest.InAnHour(e), nil, as), http.StatusOK)
	assert.EqualValues(t, 3, spending.Total.UnpricedCount)
	assert.EqualValues(t, 2, spending.Total.BoundedCount)
	assert.Greater(t, spending.Total.BoundedUsd, 0.01)
}

// TestLimitsOfConnections checks the calls at once, requests a minute, and what a 429 does.
func TestLimitsOfConnections(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	var mu sync.Mutex
	running, peak := 0, 0
	server := provider.Start(t, provider.Options{Answer: func(r *provider.Request) *provider.Reply {
		mu.Lock()
		running++
		peak = max(peak, running)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}})
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":3`)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { e.Complete(t, as, project.Id, made.Id, "text", "") })
	}
	all.Wait()
	assert.Equal(t, 3, peak)

	limited := e.Connect(t, as, project.Id, "openai", provider.Start(t, provider.Options{}), `,"max_concurrency":10`)
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, limited.Id, "error-429-long", ""), as), http.StatusBadGateway)
	assert.Equal(t, "provider_rate_limited", refused.Code)
	after := apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+limited.Id.String(), nil, as), http.StatusOK)
	assert.Equal(t, 8, after.Activity.ConcurrencyLimit, "cut by a fifth")
	require.NotNil(t, after.Activity.LastLimitedAt)
	require.NotNil(t, after.Activity.PausedUntil)
	// Others wait, too, as long as the provider asks.
	busy := e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, limited.Id, "text", ""), as)
	assert.Equal(t, "provider_busy", apitest.WantProblem(t, busy, http.StatusServiceUnavailable).Code)
	assert.NotEmpty(t, busy.Header().Get("Retry-After"))
	assert.WithinDuration(t, e.Clock.Now().Add(time.Hour), *after.Activity.PausedUntil, time.Minute, "the provider asks for a day")
	e.Clock.Advance(2 * time.Hour)
	for range 8 {
		e.Complete(t, as, project.Id, limited.Id, "text", "")
	}
	after = apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+limited.Id.String(), nil, as), http.StatusOK)
	assert.Equal(t, 9, after.Activity.ConcurrencyLimit, "grown by one")
}

// TestLostCalls has calls of a process that was killed.
func TestLostCalls(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	made := e.Connect(t, as, project.Id, "openai", provider.Start(t, provider.Options{}), `,"max_concurrency":1,"monthly_budget_usd":1`)
	e.Price(t, as, project.Id, "text")
	now := e.Clock.Now()
	e.Exec(t, `INSERT INTO provider_calls (id, project_id, provider_id, provider_name, feature, model, status, reserved_nanousd, started_at, lease_until)
		VALUES (gen_random_uuid(), $1, $2, 'x', 'playground', 'text', 'running', 500000000, $3, $4)`, project.Id, made.Id, now, now.Add(time.Minute))
	e.Exec(t, `UPDATE provider_states SET running = 1, reserved_nanousd = 500000000 WHERE provider_id = $1`, made.Id)
	require.NoError(t, e.Providers.EndLost(t.Context()))
	get := func() contract.Provider {
		return apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+made.Id.String(), nil, as), http.StatusOK)
	}
	assert.Equal(t, 1, get().Activity.Running, "it may still run")
	e.Clock.Advance(2 * time.Minute)
	require.NoError(t, e.Providers.EndLost(t.Context()))
	require.NoError(t, e.Providers.EndLost(t.Context()))
	after := get()
	assert.Zero(t, after.Activity.Running)
	assert.InDelta(t, 0.5, after.Month.SpentUsd, 1e-12, "what it cost is unknown: the most counts")
	assert.Zero(t, after.Month.ReservedUsd)
	e.Complete(t, as, project.Id, made.Id, "text", "")
}

// TestProviderKeysNeverLeave looks for an API key and a header in all answers, the log, and all tables.
func TestProviderKeysNeverLeave(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	const header = "header-secret-8c1f0a2b7d"
	var answers strings.Builder
	for _, kind := range []string{"openai", "anthropic"} {
		server := provider.Start(t, provider.Options{Key: "sk-key-secret-" + kind + "-51f2c9"})
		made := e.Connect(t, as, project.Id, kind, server, `,"headers":{"X-Extra":"`+header+`"}`)
		path := "/v1/providers/" + made.Id.String()
		for _, model := range []string{"text", "error-401", "error-400", "error-500", "cut", "bad-json", "bad-gateway", "redirect", "unknown"} {
			for _, stream := range []string{"", `,"stream":true`} {
				answers.WriteString(e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, model, stream), as).Body.String())
			}
		}
		for _, r := range []struct{ method, path, body string }{
			{http.MethodGet, path, ""},
			{http.MethodGet, "/v1/providers", ""},
			{http.MethodGet, path + "/models", ""},
			{http.MethodPost, path + "/_actions/test", `{"model":"text"}`},
			{http.MethodPatch, path, `{"api_key":"two words"}`},
			{http.MethodPost, "/v1/playground/completions/_actions/preview", apitest.CompletionBody(project.Id, made.Id, "text", "")},
		} {
			var body any
			if r.body != "" {
				body = r.body
			}
			answers.WriteString(e.Do(t, r.method, r.path, body, as).Body.String())
		}
	}
	var tables []string
	rows, err := e.DB.Query(t.Context(), "SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
	require.NoError(t, err)
	tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var dump strings.Builder
	for _, table := range tables {
		var text *string
		require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT string_agg(t::text, E'\n') FROM "+table+" t").Scan(&text))
		if text != nil {
			dump.WriteString(*text)
		}
	}
	require.Contains(t, dump.String(), "X-Extra")
	require.Contains(t, answers.String(), "X-Extra")
	for _, secret := range []string{"sk-key-secret", header, "51f2c9\""} {
		assert.NotContains(t, answers.String(), secret)
		assert.NotContains(t, e.Log.String(), secret)
		assert.NotContains(t, dump.String(), secret)
		assert.NotContains(t, dump.String(), fmt.Sprintf("%x", secret))
	}
}

// TestKeyOfAnotherSecret has an API key that was encrypted with a secret that is gone.
func TestKeyOfAnotherSecret(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	e.Exec(t, "UPDATE providers SET secret_id = 'gone'")
	path := "/v1/providers/" + made.Id.String()
	assert.False(t, apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK).KeyReadable)
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "text", ""), as), http.StatusConflict)
	assert.Equal(t, "provider_key_unreadable", refused.Code)
	assert.False(t, apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, path, `{"max_concurrency":2}`, as), http.StatusOK).KeyReadable)
	require.NoError(t, e.Providers.Reencrypt(t.Context()))
	text, err := json.Marshal(map[string]string{"api_key": server.Key})
	require.NoError(t, err)
	assert.True(t, apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, path, string(text), as), http.StatusOK).KeyReadable)
	e.Complete(t, as, project.Id, made.Id, "text", "")
}
