package pricing_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestPricesOfAProject(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/projects/" + project.Id.String() + "/prices"
	list := func(query string) contract.PricePage {
		t.Helper()
		return apitest.Must[contract.PricePage](t, e.Do(t, http.MethodGet, path+query, nil, apitest.Cookie(owner)), http.StatusOK)
	}

	// The table alone, searched and paged.
	page := list("?search=GPT-4o-MINI")
	assert.Equal(t, prices.Default().Version, page.TableVersion)
	require.NotEmpty(t, page.Data)
	assert.Equal(t, "gpt-4o-mini", page.Data[0].Model)
	assert.Equal(t, contract.PriceSourceTable, page.Data[0].Source)
	assert.Nil(t, page.Data[0].Id)
	assert.NotNil(t, page.Data[0].Url)
	var all []string
	for offset := 0; ; offset += 300 {
		part := list("?limit=300&offset=" + strconv.Itoa(offset))
		for _, p := range part.Data {
			all = append(all, p.Provider+" "+p.Model+" "+p.Version)
		}
		if !part.HasMore {
			break
		}
	}
	assert.Len(t, all, len(prices.Default().Prices))
	tiers := list("?search=gemini-2.5-pro").Data[0]
	require.Len(t, tiers.Tiers, 1)
	assert.Equal(t, int64(200_000), tiers.Tiers[0].Above)

	// A price of the project's own: made, listed first, changed with a version of its own, deleted.
	w := e.Do(t, http.MethodPost, path, `{"provider":" OpenAI ","model":"GPT-4o","valid_from":"2026-01-01T01:00:00+01:00","input":1,"output":4,"cache_read":0}`, apitest.Cookie(owner))
	made := apitest.Must[contract.Price](t, w, http.StatusCreated)
	assert.Equal(t, path+"/"+made.Id.String(), w.Header().Get("Location"))
	assert.Equal(t, "openai gpt-4o", made.Provider+" "+made.Model)
	assert.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), *made.ValidFrom)
	assert.Zero(t, *made.CacheRead)
	assert.Nil(t, made.CacheWrite)
	assert.True(t, strings.HasPrefix(made.Version, "project:"))
	assert.Equal(t, made, list("").Data[0])
	assert.Equal(t, []contract.Price{made}, list("?source=project").Data)
	assert.NotEqual(t, made, list("?source=table").Data[0])
	assert.Empty(t, list("?source=project&search=claude").Data)

	one := path + "/" + made.Id.String()
	changed := apitest.Must[contract.Price](t, e.Do(t, http.MethodPut, one, contract.PriceWrite{Model: "gpt-4o*", Input: 2}, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, made.Id, changed.Id)
	assert.NotEqual(t, made.Version, changed.Version)
	assert.Empty(t, changed.Provider)
	assert.Nil(t, changed.ValidFrom)
	assert.Nil(t, changed.CacheRead)

	// What is stored is what spans are priced by.
	stored, err := postgres.PriceOverrides(t.Context(), e.DB)
	require.NoError(t, err)
	require.Len(t, stored[project.Id.String()], 1)
	price := prices.Default().WithOverrides(stored[project.Id.String()]).Find("azure", "gpt-4o-mini", time.Now())
	assert.Equal(t, changed.Version, price.Version)

	// A model has one price from a moment on.
	for _, again := range []struct{ method, path string }{{http.MethodPost, path}, {http.MethodPut, one}} {
		if again.method == http.MethodPut {
			apitest.Must[contract.Price](t, e.Do(t, http.MethodPost, path, contract.PriceWrite{Model: "taken"}, apitest.Cookie(owner)), http.StatusCreated)
			w = e.Do(t, again.method, again.path, contract.PriceWrite{Model: "Taken"}, apitest.Cookie(owner))
		} else {
			w = e.Do(t, again.method, again.path, contract.PriceWrite{Model: "gpt-4o*"}, apitest.Cookie(owner))
		}
		assert.Equal(t, []string{"body.model"}, apitest.Locations(t, w), again.method)
	}

	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, one, nil, apitest.Cookie(owner)).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodDelete, one, nil, apitest.Cookie(owner)).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodPut, one, contract.PriceWrite{Model: "x"}, apitest.Cookie(owner)).Code)
	assert.Len(t, list("?source=project").Data, 1)

	// A key that may only read sees them, and changes none.
	reader := apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeRunsRead).Key)
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, path, nil, reader).Code)
	assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodPost, path, contract.PriceWrite{Model: "x"}, reader).Code)
	assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodPut, one, contract.PriceWrite{Model: "x"}, reader).Code)
	assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodDelete, one, nil, reader).Code)
	assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodGet, path+"/_unpriced", nil, apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeIngestWrite).Key)).Code)
}

func TestPricesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/projects/" + project.Id.String() + "/prices"
	for body, want := range map[string][]string{
		`{}`: {"body.input", "body.model", "body.output"},
		`{"model":"m","input":-1,"output":1000001}`:                         {"body.input", "body.output"},
		`{"model":"m","input":1,"output":1,"cache_read":-0.1}`:              {"body.cache_read"},
		`{"model":"m","input":"1","output":1}`:                              {"body.input"},
		`{"model":"m","input":1,"output":1,"free":true}`:                    {"body.free"},
		`{"model":"m","input":1,"output":1,"valid_from":"soon"}`:            {"body.valid_from"},
		`{"model":"","input":1,"output":1}`:                                 {"body.model"},
		`{"model":"  ","input":1,"output":1}`:                               {"body.model"},
		`{"model":"a*b*c*d*e*f","input":1,"output":1}`:                      {"body.model"},
		`{"model":"` + strings.Repeat("ü", 200) + `","input":1,"output":1}`: {"body.model"}, // 400 bytes
	} {
		w := e.Do(t, http.MethodPost, path, body, apitest.Cookie(owner))
		assert.Equal(t, want, apitest.Locations(t, w), body)
	}
	for _, query := range []string{"?source=mine", "?limit=0", "?search=" + url.QueryEscape(strings.Repeat("x", 300))} {
		assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodGet, path+query, nil, apitest.Cookie(owner)).Code, query)
	}
}

func TestUnpricedModels(t *testing.T) {
	t.Parallel()
	clickhouseURL := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), clickhouseURL)
	owner, project := e.SetUp(t)
	writer, err := clickhouse.NewWriter(t.Context(), clickhouseURL)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	tokens, cost := int64(10), 0.5
	now := time.Now().UTC().Truncate(time.Millisecond)
	var spans []runmodel.Span
	add := func(count int, age time.Duration, span runmodel.Span) {
		for range count {
			span.ProjectID, span.RunID, span.SpanID = project.Id, uuid.New(), uint64(len(spans)+1)
			span.StartTime, span.EndTime, span.Version = now.Add(-age), runmodel.Epoch, uint64(len(spans)+1)
			spans = append(spans, span)
		}
	}
	add(2, time.Hour, runmodel.Span{InputTokens: &tokens, Provider: "acme", RequestModel: "acme-1"})
	add(1, 2*time.Hour, runmodel.Span{InputTokens: &tokens, Provider: "acme", RequestModel: "acme-latest", ResponseModel: "acme-1"})
	add(5, time.Hour, runmodel.Span{InputTokens: &tokens, Provider: "acme", RequestModel: "acme-2"})
	add(9, time.Hour, runmodel.Span{InputTokens: &tokens, Provider: "openai", RequestModel: "gpt-4o"}) // has a price by now
	add(9, time.Hour, runmodel.Span{InputTokens: &tokens, RequestModel: "costly", CostUSD: &cost, CostSource: "sent"})
	add(9, 8*24*time.Hour, runmodel.Span{InputTokens: &tokens, RequestModel: "forgotten"})
	add(9, time.Hour, runmodel.Span{RequestModel: "without tokens"})
	require.NoError(t, writer.InsertSpans(t.Context(), spans))

	path := "/v1/projects/" + project.Id.String() + "/prices"
	unpriced := func() []contract.UnpricedModel {
		t.Helper()
		return apitest.Must[contract.UnpricedModels](t, e.Do(t, http.MethodGet, path+"/_unpriced", nil, apitest.Cookie(owner)), http.StatusOK).Data
	}
	assert.Equal(t, []contract.UnpricedModel{
		{Provider: "acme", Model: "acme-2", SpanCount: 5, LastSeen: now.Add(-time.Hour)},
		{Provider: "acme", Model: "acme-1", SpanCount: 3, LastSeen: now.Add(-time.Hour)},
	}, unpriced())
	apitest.Must[contract.Price](t, e.Do(t, http.MethodPost, path, contract.PriceWrite{Model: "acme-*", Input: 1}, apitest.Cookie(owner)), http.StatusCreated)
	assert.Empty(t, unpriced())
}

// TestCostDifferences lists clients whose costs differ from the computed ones by version and model, the largest difference first.
func TestCostDifferences(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	now := time.Now().UTC().Truncate(time.Second)
	var spans []runmodel.Span
	add := func(release, model string, sent float64, computed string, ago time.Duration) {
		span := runmodel.Span{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: 1, Version: uint64(len(spans) + 1), StartTime: now.Add(-ago), EndTime: runmodel.Epoch, Kind: "llm",
			Framework: "claude-code", Release: release, ResponseModel: model, CostUSD: &sent, CostSource: runmodel.CostSent,
		}
		if computed != "" {
			span.AttributesJSON = map[string]string{runmodel.KeyComputedCostUSD: computed}
		}
		spans = append(spans, span)
	}
	add("2.2", "m", 1, "7", time.Hour)
	add("2.2", "m", 1, "7", 2*time.Hour)
	add("2.1", "m", 1, "", time.Hour)
	add("2.2", "other", 1, "1.5", time.Hour)
	add("2.2", "old", 1, "9", 8*24*time.Hour)
	apitest.StoreSpans(t, address, spans[:1], spans[1:2], spans[2:3], spans[3:4], spans[4:])
	path := "/v1/projects/" + project.Id.String() + "/prices/_differences"
	assert.Equal(t, []contract.CostDifference{
		{Client: "claude-code", Version: "2.2", Model: "m", SpanCount: 2, SentUsd: 2, ComputedUsd: 14, LastSeen: now.Add(-time.Hour)},
		{Client: "claude-code", Version: "2.2", Model: "other", SpanCount: 1, SentUsd: 1, ComputedUsd: 1.5, LastSeen: now.Add(-time.Hour)},
	}, apitest.Must[contract.CostDifferences](t, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(owner)), http.StatusOK).Data)
	span := apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, "/v1/runs/"+spans[0].RunID.String()+"/spans/0000000000000001", nil, apitest.Cookie(owner)), http.StatusOK)
	require.NotNil(t, span.ComputedCostUsd)
	assert.InDelta(t, 7, *span.ComputedCostUsd, 1e-9)
	assert.NotContains(t, *span.Attributes, runmodel.KeyComputedCostUSD, "it was not received")
}
