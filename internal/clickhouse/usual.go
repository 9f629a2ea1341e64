package clickhouse

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// What is usual for an agent on a day follows from its runs of the four weeks before, so that each weekday counts alike. Of n values the limit
// is the kth largest with k = (n + 1) / 200: whatever the distribution is, a run like those before exceeds it in at most one case of 200. Below
// usualRuns values there is no such limit. It is at least twice the median, since a small difference matters to nobody.
const (
	usualHistory = 28 * 24 * time.Hour
	// usualRuns is how many runs must have come before.
	usualRuns = "199"
	// usualSample is how many runs are looked at, drawn by chance.
	usualSample = 20_000
)

// usualLimit is the limit of a sorted list of values in SQL.
const usualLimit = `if(length(%[1]s) < ` + usualRuns + `, NULL, greatest(%[1]s[length(%[1]s) + 1 - intDiv(length(%[1]s) + 1, ` + usualRuns + ` + 1)],
	2 * %[1]s[intDiv(length(%[1]s) + 1, 2)]))`

var usualStatement = `SELECT project_id, peers, ` + fmt.Sprintf(usualLimit, "durations") + ` AS duration, ` + fmt.Sprintf(usualLimit, "costs") + ` AS cost, ` +
	fmt.Sprintf(usualLimit, "counts") + ` AS tokens
FROM (
	SELECT project_id, ` + runmodel.PeersHashSQL + ` AS peers, count() AS n,
		arraySort(groupArraySample(` + strconv.Itoa(usualSample) + `, 1)(toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time))) AS durations,
		arraySort(groupArraySample(` + strconv.Itoa(usualSample) + `, 1)(cost_usd)) AS costs,
		arraySort(groupArraySample(` + strconv.Itoa(usualSample) + `, 1)(if(input_tokens IS NULL AND output_tokens IS NULL AND other_tokens IS NULL, NULL,
			ifNull(input_tokens, 0) + ifNull(output_tokens, 0) + ifNull(other_tokens, 0)))) AS counts
	FROM runs FINAL
	WHERE project_id IN (?) AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?) AND toYYYYMMDD(start_time) BETWEEN ? AND ?
		AND genai AND source = '` + runmodel.SourceUser + `' AND status != '` + runmodel.StatusRunning + `' AND toUnixTimestamp64Nano(end_time) != 0
	GROUP BY project_id, peers HAVING n >= ` + usualRuns + ` ORDER BY n DESC LIMIT 10000 BY project_id
) SETTINGS max_execution_time = 20, max_memory_usage = 2000000000`

// usual knows what is usual for the agents of projects, by day.
type usual struct {
	mu   sync.Mutex
	days map[projectDay]usualDay
}

type projectDay struct {
	project uuid.UUID
	day     int64 // in seconds
}

// usualDay has the limits by the hash of the agent or name. It has none where they could not be read, and then ends.
type usualDay struct {
	limits map[string]runmodel.Usual
	ends   time.Time
}

// Limits of what is kept, and how long no second attempt to read is made.
const (
	maxUsualDays = 4096
	usualRetry   = 10 * time.Minute
)

// compare adds the signals of runs that are beyond what is usual. If that cannot be read, it is unknown: no run waits for it.
func (u *usual) compare(ctx context.Context, conn driver.Conn, runs []runmodel.Run) {
	u.mu.Lock()
	defer u.mu.Unlock()
	missing := map[int64]map[uuid.UUID]struct{}{}
	for i := range runs {
		at := dayOf(&runs[i])
		known, ok := u.days[at]
		if !runs[i].HasUsual() || ok && (known.ends.IsZero() || time.Now().Before(known.ends)) {
			continue
		}
		if missing[at.day] == nil {
			missing[at.day] = map[uuid.UUID]struct{}{}
		}
		missing[at.day][at.project] = struct{}{}
	}
	for day, projects := range missing {
		u.read(ctx, conn, day, projects)
	}
	for i := range runs {
		if runs[i].HasUsual() {
			runs[i].CompareWith(u.days[dayOf(&runs[i])].limits[runs[i].PeersHash()])
		}
	}
}

func dayOf(run *runmodel.Run) projectDay {
	return projectDay{run.ProjectID, run.StartTime.UTC().Truncate(24 * time.Hour).Unix()}
}

// read reads the limits of projects on a day.
func (u *usual) read(ctx context.Context, conn driver.Conn, at int64, projects map[uuid.UUID]struct{}) {
	if len(u.days)+len(projects) > maxUsualDays || u.days == nil {
		u.days = map[projectDay]usualDay{}
	}
	ids := make([]uuid.UUID, 0, len(projects))
	for id := range projects {
		ids = append(ids, id)
	}
	start := time.Unix(at, 0).UTC()
	first, last := start.Add(-usualHistory), start.Add(-time.Hour)
	var rows []struct {
		ProjectID uuid.UUID `ch:"project_id"`
		Peers     string    `ch:"peers"`
		Duration  *int64    `ch:"duration"`
		CostUSD   *float64  `ch:"cost"`
		Tokens    *int64    `ch:"tokens"`
	}
	read := usualDay{}
	if err := conn.Select(ctx, &rows, usualStatement, ids, hour(first), hour(last), day(first), day(last)); err != nil {
		read.ends = time.Now().Add(usualRetry)
	}
	for _, id := range ids {
		read.limits = map[string]runmodel.Usual{}
		u.days[projectDay{id, at}] = read
	}
	for _, row := range rows {
		limits := runmodel.Usual{CostUSD: row.CostUSD, Tokens: row.Tokens}
		if row.Duration != nil {
			took := time.Duration(*row.Duration)
			limits.Duration = &took
		}
		u.days[projectDay{row.ProjectID, at}].limits[row.Peers] = limits
	}
}
