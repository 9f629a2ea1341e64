package runs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestRunStats(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	apitest.StoreRun(t, address, project.Id)
	apitest.StoreRun(t, address, project.Id)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	of := func(path string, id uuid.UUID, query string) string {
		return "/v1/runs/" + path + "?project_id=" + id.String() + query
	}

	t.Run("stats", func(t *testing.T) {
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", project.Id, "&window_seconds=3600&group_by=model"), nil, key), http.StatusOK)
		assert.Equal(t, int64(2), stats.Total.Count)
		assert.InDelta(t, 1, *stats.Total.ErrorRate, 0)
		assert.InDelta(t, 1.5, stats.Total.DurationMs.P95, 1e-6)
		assert.Equal(t, int64(300), *stats.Total.Usage.TotalTokens)
		assert.Nil(t, stats.Total.Usage.ReasoningOutputTokens)
		assert.InDelta(t, 0.0084, *stats.Total.CostUsd, 1e-9)
		require.Len(t, stats.Groups, 1)
		assert.Equal(t, "gpt-5", stats.Groups[0].Value)
		assert.Nil(t, stats.Other)
		assert.Equal(t, int64(300), stats.BucketSeconds, "60 points at most: an hour begins within a minute")
		var sum int64
		for i, point := range stats.Series {
			sum += point.Totals.Count
			assert.Equal(t, stats.Series[0].Start.Add(time.Duration(i)*5*time.Minute), point.Start)
			if point.Totals.Count == 0 {
				assert.Nil(t, point.Totals.CostUsd, "unknown is not 0")
				assert.Nil(t, point.Totals.ErrorRate)
			}
		}
		assert.Equal(t, int64(2), sum)
		ungrouped := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", project.Id, ""), nil, key), http.StatusOK)
		assert.Equal(t, stats.Total, ungrouped.Total)
		assert.Empty(t, ungrouped.Groups)
		none := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", project.Id, "&status=ok&group_by=name"), nil, key), http.StatusOK)
		assert.Zero(t, none.Total.Count)
		assert.Empty(t, none.Groups)
	})
	t.Run("sampled runs are counted, and weigh no more", func(t *testing.T) {
		sampled := e.CreateProject(t, session, project.WorkspaceId, "Sampled")
		for _, state := range []string{"", "ot=th:8", "ot=th:e666"} {
			e.Record(t, address, sampled.Id, apitest.SourceRun{Question: "?", TraceState: state})
		}
		reader := apitest.Bearer(e.Mint(t, session, sampled.Id, contract.ScopeRunsRead).Key)
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", sampled.Id, "&group_by=name"), nil, reader), http.StatusOK)
		assert.Equal(t, int64(3), stats.Total.Count)
		assert.Equal(t, int64(2), stats.Total.SampledCount)
		assert.InDelta(t, 0.1, *stats.Total.SampleShare, 0)
		tenth := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+sampled.Id.String()+"&metadata[looptrace.sample_share]=0.1", nil, reader), http.StatusOK)
		assert.Len(t, tenth.Data, 1)
		whole := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", project.Id, ""), nil, key), http.StatusOK)
		assert.Zero(t, whole.Total.SampledCount)
		assert.Nil(t, whole.Total.SampleShare)
	})
	t.Run("a sum is rounded to hide the noise of its additions", func(t *testing.T) {
		other := e.CreateProject(t, session, project.WorkspaceId, "Sums")
		for range 5 {
			apitest.StoreRun(t, address, other.Id)
		}
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", other.Id, ""), nil, apitest.Bearer(e.Mint(t, session, other.Id, contract.ScopeRunsRead).Key)), http.StatusOK)
		assert.InDelta(t, 0.021, *stats.Total.CostUsd, 0, "5 times 0.0042")
	})
	t.Run("fields", func(t *testing.T) {
		fields := apitest.Must[contract.RunFields](t, e.Do(t, http.MethodGet, of("fields", project.Id, ""), nil, key), http.StatusOK)
		names := map[string]contract.RunField{}
		for _, field := range fields.Data {
			names[field.Name] = field
		}
		require.Contains(t, names, "metadata.tier")
		assert.Equal(t, "metadata[tier]", names["metadata.tier"].Parameter)
		assert.Equal(t, int64(2), *names["metadata.tier"].Count)
		for name := range names {
			found := apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, of("fields/"+name+"/values", project.Id, ""), nil, key), http.StatusOK)
			for _, value := range found.Data {
				assert.Equal(t, int64(2), value.Count, name)
			}
			if name == "tag" {
				assert.Equal(t, "math", found.Data[0].Value)
			}
		}
		for prefix, want := range map[string]int{"FR": 1, "x": 0, "%25": 0} {
			found := apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, of("fields/metadata.tier/values", project.Id, "&prefix="+prefix), nil, key), http.StatusOK)
			assert.Len(t, found.Data, want, prefix)
		}
	})
	t.Run("another tenant's", func(t *testing.T) {
		other := apitest.Bearer(e.Mint(t, session, sibling.Id, contract.ScopeRunsRead).Key)
		for _, path := range []string{"stats", "fields", "fields/metadata.tier/values"} {
			apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, of(path, project.Id, ""), nil, other))
		}
		assert.Zero(t, apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", sibling.Id, ""), nil, other), http.StatusOK).Total.Count)
		assert.Empty(t, apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, of("fields/name/values", sibling.Id, ""), nil, other), http.StatusOK).Data)
	})
	t.Run("failed, and not known when", func(t *testing.T) {
		start := time.Now().UTC()
		apitest.StoreSpans(t, address, []runmodel.Span{{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: 1, Version: 1, StartTime: start, EndTime: runmodel.Epoch, IsRun: true, Name: "crash", ErrorMessage: "boom",
		}})
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, of("stats", project.Id, "&name=crash"), nil, key), http.StatusOK)
		assert.Equal(t, int64(1), stats.Total.EndedCount)
		assert.InDelta(t, 1, *stats.Total.ErrorRate, 0)
		assert.Nil(t, stats.Total.DurationMs)
	})
	t.Run("a tag that a run has twice", func(t *testing.T) {
		start := time.Now().UTC()
		apitest.StoreSpans(t, address, []runmodel.Span{{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: 1, Version: 1, StartTime: start, EndTime: start, Name: "twice", Kind: "agent", Tags: []string{"t", "t"},
		}})
		found := apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, of("fields/tag/values", project.Id, "&name=twice"), nil, key), http.StatusOK)
		assert.Equal(t, []contract.RunFieldValue{{Value: "t", Count: 1}}, found.Data)
	})
	t.Run("invalid", func(t *testing.T) {
		for query, status := range map[string]int{"&group_by=inputs": 422, "&bucket_seconds=1&window_seconds=86400": 422, "&groups=51": 422} {
			assert.Equal(t, status, e.Do(t, http.MethodGet, of("stats", project.Id, query), nil, key).Code, query)
		}
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, of("fields/inputs/values", project.Id, ""), nil, key))
	})
}
