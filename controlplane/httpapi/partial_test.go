package httpapi_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// boundedStore lets one statement read so many rows of runs and no more, where that is not 0. ClickHouse refuses what
// goes beyond, as it does at the bounds of the product.
type boundedStore struct {
	driver.Conn
	rows *atomic.Int64
}

func (b boundedStore) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if rows := b.rows.Load(); rows > 0 && strings.Contains(query, "FROM runs FINAL") {
		ctx = ch.Context(ctx, ch.WithSettings(ch.Settings{"max_rows_to_read": rows}))
	}
	return b.Conn.Query(ctx, query, args...)
}

// TestPartialAnswers drives answers past the bound of a query: what they say they are of is exactly what they are of, and
// a cursor goes on to exactly the rest.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	db, err := postgres.Open(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	bound := &atomic.Int64{}
	e := apitest.NewWith(t, db, boundedStore{conn, bound}, httpapi.RateLimits{})
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)

	// Twenty days of a few runs, one of which has so many that not even a minute of it can be read: a part's rows lie too close.
	const few, many, most, days, fullDay = 20, 1500, 1000, 20, 10
	end := time.Now().UTC().Truncate(24 * time.Hour)
	var all []runmodel.Run
	for day := range days {
		n := few
		if day == fullDay {
			n = many
		}
		for i := range n {
			start := end.Add(-time.Duration(day+1)*24*time.Hour + time.Duration(i)*50*time.Second)
			cost := float64((i*7919+day*31)%1000) / 1000
			all = append(all, runmodel.Run{
				ProjectID: project.Id, RunID: uuid.New(), Version: 1, StartTime: start, EndTime: start.Add(time.Second), FirstReceived: start,
				Name: fmt.Sprint("n", i%3), Kind: "agent", GenAI: true, Source: "user", Status: "ok", CostUSD: &cost, Models: []string{}, Tags: []string{}, Tools: []string{},
			})
		}
	}
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	defer writer.Close()
	require.NoError(t, writer.InsertRuns(t.Context(), all))
	newest := func(a, b runmodel.Run) int {
		return cmp.Or(b.StartTime.Compare(a.StartTime), strings.Compare(b.RunID.String(), a.RunID.String()))
	}
	slices.SortFunc(all, newest)
	idsOf := func(list []runmodel.Run) []uuid.UUID {
		ids := make([]uuid.UUID, len(list))
		for i := range list {
			ids[i] = list[i].RunID
		}
		return ids
	}
	window := "project_id=" + project.Id.String() +
		"&start_after=" + end.Add(-days*24*time.Hour).Format(time.RFC3339) + "&start_before=" + end.Format(time.RFC3339)
	get := func(t *testing.T, query, cursor string) contract.RunPage {
		t.Helper()
		path := "/v1/runs?" + window + "" + query
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
		assert.Equal(t, page.NextCursor != nil, page.HasMore)
		assert.Equal(t, page.Partial != nil, page.SearchedTo != nil)
		return page
	}

	for _, order := range []string{"-start_time", "start_time"} {
		t.Run("list by "+order, func(t *testing.T) {
			want := idsOf(all)
			if order == "start_time" {
				slices.Reverse(want)
			}
			var found []uuid.UUID
			cursor := ""
			bound.Store(most)
			for range 100 {
				page := get(t, "&limit=150&order="+order, cursor)
				for _, run := range page.Data {
					found = append(found, run.RunId)
				}
				require.NotNil(t, page.NextCursor)
				cursor = *page.NextCursor
				if page.Partial == nil {
					continue
				}
				var searched []uuid.UUID
				for _, run := range all {
					if order == "start_time" && run.StartTime.Before(*page.SearchedTo) || order == "-start_time" && !run.StartTime.Before(*page.SearchedTo) {
						searched = append(searched, run.RunID)
					}
				}
				require.ElementsMatch(t, searched, found, "all that it says it has searched")
				if len(page.Data) == 0 {
					break
				}
			}
			require.NotEmpty(t, found)
			require.Less(t, len(found), len(all)-many+1)
			stuck := get(t, "&limit=150&order="+order, cursor)
			assert.Empty(t, stuck.Data)
			require.NotNil(t, stuck.Partial)
			assert.Equal(t, cursor, *stuck.NextCursor)

			bound.Store(0)
			for cursor != "" {
				page := get(t, "&limit=150&order="+order, cursor)
				assert.Nil(t, page.Partial)
				require.True(t, len(page.Data) > 0 || page.NextCursor == nil)
				for _, run := range page.Data {
					found = append(found, run.RunId)
				}
				cursor = ""
				if page.NextCursor != nil {
					cursor = *page.NextCursor
				}
			}
			assert.Equal(t, want, found)
		})
	}
	t.Run("list by value", func(t *testing.T) {
		bound.Store(most)
		page := get(t, "&order=-cost_usd&limit=30", "")
		require.NotNil(t, page.Partial)
		since := *page.SearchedTo
		var found []uuid.UUID
		for _, run := range page.Data {
			found = append(found, run.RunId)
		}
		bound.Store(0) // what was left out at first stays out, so that the pages belong together
		for page.NextCursor != nil {
			page = get(t, "&order=-cost_usd&limit=30", *page.NextCursor)
			require.NotNil(t, page.Partial)
			assert.Equal(t, since, *page.SearchedTo)
			for _, run := range page.Data {
				found = append(found, run.RunId)
			}
		}
		var want []runmodel.Run
		for _, run := range all {
			if !run.StartTime.Before(since) {
				want = append(want, run)
			}
		}
		require.Less(t, len(want), len(all))
		slices.SortFunc(want, func(a, b runmodel.Run) int { return cmp.Or(cmp.Compare(*b.CostUSD, *a.CostUSD), newest(a, b)) })
		assert.Equal(t, idsOf(want), found)
	})
	t.Run("stats and values", func(t *testing.T) {
		for _, limit := range []int64{most, 0} {
			bound.Store(limit)
			stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, "/v1/runs/stats?"+window+"&group_by=name", nil, key), http.StatusOK)
			values := apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, "/v1/runs/fields/name/values?"+window, nil, key), http.StatusOK)
			fields := apitest.Must[contract.RunFields](t, e.Do(t, http.MethodGet, "/v1/runs/fields?"+window, nil, key), http.StatusOK)
			for what, since := range map[string]time.Time{"stats": stats.Start, "values": values.Start, "fields": fields.Start} {
				assert.Equal(t, limit > 0, since.After(end.Add(-days*24*time.Hour)), what)
			}
			assert.Equal(t, [3]bool{limit > 0, limit > 0, limit > 0}, [3]bool{stats.Partial, values.Partial, fields.Partial})
			counted, named := int64(0), map[string]int64{}
			for _, run := range all {
				if !run.StartTime.Before(stats.Start) {
					counted++
				}
				if !run.StartTime.Before(values.Start) {
					named[run.Name]++
				}
			}
			assert.Equal(t, counted, stats.Total.Count)
			got := map[string]int64{}
			for _, value := range values.Data {
				got[value.Value] = value.Count
			}
			assert.Equal(t, named, got)
		}
	})
	t.Run("runs.search", func(t *testing.T) {
		server := httptest.NewServer(e.API)
		t.Cleanup(server.Close)
		client := apitest.ConnectMCP(t, server.URL+"/mcp", e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
		arguments := map[string]any{"name": "none", "start_after": end.Add(-days * 24 * time.Hour).Format(time.RFC3339)}
		bound.Store(most)
		found, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", arguments)
		assert.True(t, found.Partial)
		assert.NotEmpty(t, found.SearchedTo)
		bound.Store(0)
		_, arguments = apitest.NextCall(t, found.NextPage)
		rest, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", arguments)
		assert.False(t, rest.Partial)
		assert.Empty(t, rest.SearchedTo)
	})
	t.Run("offset", func(t *testing.T) {
		bound.Store(most)
		w := e.Do(t, http.MethodGet, "/v1/runs?"+window+"&limit=10&offset=100", nil, key)
		got := apitest.WantProblem(t, w, http.StatusServiceUnavailable)
		assert.Contains(t, *got.Detail, "next_cursor")
		assert.Empty(t, w.Header().Get("Retry-After"), "it is as expensive later")
		bound.Store(0)
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?"+window+"&limit=10&offset=100", nil, key), http.StatusOK)
		assert.Equal(t, all[100].RunID, page.Data[0].RunId)
	})
}
