package runs

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestStatsOfSettledDays compares cached answers with read ones, before and after settled days change.
func TestStatsOfSettledDays(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(writer.Close)

	now := time.Now()
	reading, caching := NewService(conn, nil, nil, slog.New(slog.DiscardHandler)), NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	reading.now = func() time.Time { return now }
	caching.now = func() time.Time { return now.Add(time.Hour) } // an hour after the last write
	project := uuid.New()
	projects := accesstest.Projects(t, project)
	run := func(project uuid.UUID, i int, start time.Time) runmodel.Run {
		tokens := int64(i)
		return runmodel.Run{
			ProjectID: project, RunID: uuid.New(), Version: 1, StartTime: start, FirstReceived: start, EndTime: start.Add(time.Duration(i) * time.Millisecond),
			Name: fmt.Sprint("name", i%7), Kind: "agent", GenAI: true, Source: "user", Status: []string{"ok", "error"}[i%2], Environment: []string{"prod", "dev"}[i%2],
			Models: [][]string{{}, {"m1"}, {"m1", "m2"}}[i%3], Tags: []string{"t"}, InputTokens: &tokens,
			Failure: runmodel.Failure{Fingerprint: []string{"", "fp:v3:1"}[i%2]},
		}
	}
	var rows []runmodel.Run
	for i := range 400 {
		start := now.UTC().Add(-time.Duration(i) * 2 * time.Hour)
		rows = append(rows, run(project, i, start), run(uuid.New(), i, start))
	}
	require.NoError(t, writer.InsertRuns(t.Context(), rows))

	// Cached rows are marked, so that an answer shows whether it came from the cache.
	const mark = 1_000_000
	spoil := func() {
		for _, key := range caching.cache.rows.Keys() {
			if entry, _ := caching.cache.rows.Peek(key); entry.size > 0 {
				if rows, ok := entry.rows.([]statsSum); ok && len(rows) > 0 {
					rows[0].NoCost += mark
				}
			}
		}
	}
	stats := func(s *Service, q StatsQuery) Stats {
		t.Helper()
		q.ProjectID, q.StartAfter, q.StartBefore = project, now.Add(-30*24*time.Hour), now
		if q.GroupBy != "" {
			q.Groups = 2
		}
		answer, err := s.Stats(t.Context(), projects, q)
		require.NoError(t, err)
		return answer
	}
	queries := []StatsQuery{{}, {Bucket: 7 * 24 * time.Hour}, {Filter: Filter{Environment: "prod"}}, {Filter: Filter{Search: "name1"}}}
	for group := range StatsGroups {
		queries = append(queries, StatsQuery{GroupBy: group})
	}
	for _, q := range queries {
		want := stats(reading, q)
		assert.Equal(t, want, stats(caching, q), q)
		assert.Equal(t, want, stats(caching, q), q)
		spoil()
		want.Total.NoCost += mark
		if q.Search != "" {
			want.Total.NoCost -= mark // a search reads other tables, and is not cached
		}
		assert.Equal(t, want.Total.NoCost, stats(caching, q).Total.NoCost, "%v is answered from the cache", q)
		caching.cache = newRowCache()
	}

	for name, change := range map[string]func(){
		"a late run": func() {
			require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{run(project, 3, now.UTC().Add(-10*24*time.Hour))}))
		},
		"another version": func() {
			failed := rows[100]
			failed.Version, failed.Status, failed.Fingerprint = 2, "error", "fp:v3:1"
			require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{failed}))
		},
		"a dropped day": func() {
			require.NoError(t, conn.Exec(t.Context(), "ALTER TABLE runs DROP PARTITION ?", yearMonthDay(now.UTC().Add(-20*24*time.Hour))))
		},
	} {
		before := stats(caching, StatsQuery{GroupBy: "name"})
		change()
		after := stats(caching, StatsQuery{GroupBy: "name"})
		assert.NotEqual(t, before.Total, after.Total, name)
		assert.Equal(t, stats(reading, StatsQuery{GroupBy: "name"}), after, name)
	}

	windows, err := reading.windows(t.Context(), Filter{}, now.Add(-30*24*time.Hour), now)
	require.NoError(t, err)
	assert.Len(t, windows, 1, "nothing has settled that was written a moment ago")
}

func TestRowCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := newRowCache()
	key := func(i int) cacheKey { return cacheKey{byte(i), byte(i >> 8), byte(i >> 16)} }
	cache.put(key(0), nil, maxCachedEntry+1)
	_, ok := cache.get(key(0))
	assert.False(t, ok, "too large")
	for i := range 1000 {
		cache.put(key(i), i, maxCachedEntry/4-entryOverhead)
		cache.put(key(i), i, maxCachedEntry/4-entryOverhead)
		assert.LessOrEqual(t, cache.size, maxCached)
	}
	assert.Equal(t, maxCached/(maxCachedEntry/4), cache.rows.Len())
	rows, ok := cache.get(key(999))
	assert.True(t, ok)
	assert.Equal(t, 999, rows)

	// Empty entries count as well.
	cache = newRowCache()
	for i := range 2 * maxCached / entryOverhead {
		cache.put(key(i), nil, 0)
	}
	assert.Equal(t, maxCached/entryOverhead, cache.rows.Len())
	assert.Equal(t, maxCached, cache.size)
}

// TestDigest merges digests of ClickHouse and compares their quantiles with those of all values.
func TestDigest(t *testing.T) {
	t.Parallel()
	conn, err := clickhouse.Open(engines.ClickHouse(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	for name, values := range map[string]string{
		"one":       "SELECT 7 AS x, 0 AS part",
		"two":       "SELECT arrayJoin([1, 5]) AS x, x AS part",
		"even":      "SELECT number AS x, number % 7 AS part FROM numbers(100000)",
		"same":      "SELECT 3 AS x, number % 7 AS part FROM numbers(1000)",
		"long tail": "SELECT exp(sipHash64(number) % 1000 / 100) AS x, number % 3 AS part FROM numbers(50000)",
	} {
		var states []struct {
			State string `ch:"state"`
		}
		require.NoError(t, conn.Select(t.Context(), &states, "SELECT hex(quantileTDigestStateIf(x, true)) AS state FROM ("+values+") GROUP BY part"))
		var all digest
		for _, s := range states {
			part, err := parseDigest(s.State)
			require.NoError(t, err)
			all = append(all, part...)
		}
		var exact []float64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT quantilesExactInclusive(0.5, 0.95, 0.99)(x) FROM ("+values+")").Scan(&exact))
		got := all.compress().quantiles(0.5, 0.95, 0.99)
		for i := range exact {
			if name == "two" {
				assert.Contains(t, []float64{1, 3, 5}, got[i])
				continue
			}
			assert.InEpsilon(t, exact[i], got[i], 0.02, "%s: %v, %v", name, exact, got)
		}
	}
	for _, text := range []string{"", "zz", "01", "0100", "FFFFFFFFFFFFFFFFFFFF"} {
		_, err := parseDigest(text)
		require.Error(t, err, text)
	}
}

func TestDateOfReversesYearMonthDay(t *testing.T) {
	t.Parallel()
	for _, day := range []time.Time{time.Unix(0, 0).UTC(), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)} {
		assert.Equal(t, day, dateOf(int64(yearMonthDay(day))))
	}
}
