package runs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/looptrace/looptrace/controlplane/access"
)

// window is a part of a filter's time, which a statement of its own reads. It has the conditions of that statement.
type window struct {
	where
	// state identifies what the days of the window hold. It is empty unless all of them have settled.
	state string
	// scored selects the runs of the window that failed by a score alone. What the days hold does not show these.
	scored where
}

func newWindow(f Filter, start, end time.Time) window {
	w := window{where: inProjects()}
	w.startsIn(start, end)
	f.conditions(&w.where, start)
	f.failures.scoredAsFailed(&w.scored, start)
	return w
}

// settledAfter is how long a day must not have changed to be cached. A cached answer about a day that is being written to or merged is
// never used.
const settledAfter = 10 * time.Minute

// windows divides [start, end), which must not be empty, into the days that have settled and the rest. The settled days are whole days in
// UTC, up to the first to which a run was written lately.
//
// A day is a partition of the table runs. The paths of its parts change whenever rows are written, merged, deleted or dropped. They are
// read before the runs, so a cached answer may be newer than its state, but not older.
func (s *Service) windows(ctx context.Context, f Filter, start, end time.Time) ([]window, error) {
	of := func(start, end time.Time) window { return newWindow(f, start, end) }
	if f.Search != "" || f.readsScores() { // these read other tables
		return []window{of(start, end)}, nil
	}
	return s.windowsOf(ctx, "runs", start, end, of)
}

// windowsOf is windows for another table with the days of starts as partitions, and with other conditions.
func (s *Service) windowsOf(ctx context.Context, table string, start, end time.Time, of func(start, end time.Time) window) ([]window, error) {
	const day = 24 * time.Hour
	whole := []window{of(start, end)}
	first, last := start.Add(day-1).Truncate(day), end.Truncate(day)
	if !first.Before(last) {
		return whole, nil
	}
	var partitions []struct {
		Day     int64     `ch:"day"` // as yearMonthDay
		Written time.Time `ch:"written"`
		State   string    `ch:"state"`
	}
	err := s.conn.Select(s.conn.withSettings(ctx), &partitions, `
		SELECT toInt64OrZero(right(partition_id, 8)) AS day, max(modification_time) AS written, hex(sipHash128(arraySort(groupArray(path)))) AS state
		FROM system.parts WHERE database = currentDatabase() AND table = ? AND active
		GROUP BY day HAVING day >= ? AND day < ? ORDER BY day`, table, yearMonthDay(first), yearMonthDay(last))
	if err != nil {
		return nil, classify(err)
	}
	state := sha256.New()
	for _, p := range partitions {
		if s.now().Sub(p.Written) < settledAfter {
			last = dateOf(p.Day)
			break
		}
		state.Write([]byte(p.State))
	}
	if !first.Before(last) {
		return whole, nil
	}
	settled := of(first, last)
	settled.state = string(state.Sum(nil))
	if start.Equal(first) && end.Equal(last) {
		return []window{settled}, nil
	}
	rest := whole[0]
	for _, column := range []string{"start_time", "toStartOfHour(start_time)"} { // as where.startsIn
		rest.add("("+column+" < fromUnixTimestamp64Nano(?) OR "+column+" >= fromUnixTimestamp64Nano(?))", first.UnixNano(), last.UnixNano())
	}
	return []window{settled, rest}, nil
}

// dateOf reverses yearMonthDay.
func dateOf(day int64) time.Time {
	const hundred = 100
	year, month, ofMonth := int(day/hundred/hundred), time.Month(day/hundred%hundred), int(day%hundred)
	return time.Date(year, month, ofMonth, 0, 0, 0, 0, time.UTC)
}

// readWindow is query for a statement on the runs of a window. It caches what it reads of days that have settled, until they change.
// complete is called once for each row that comes from ClickHouse. The caller must not change the rows.
func readWindow[T interface{ size() int }](
	ctx context.Context, s *Service, projects access.Projects, w window, complete func(*T) error, statement string, args ...any,
) ([]T, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %#v", w.state, projects.IDs(), statement, args))
	if w.state != "" {
		if found, ok := s.cache.get(key); ok {
			return found.([]T), nil // the statement determines the type
		}
	}
	var rows []T
	if err := query(ctx, s.conn, projects, &rows, statement, args...); err != nil {
		return nil, err
	}
	size := 0
	for i := range rows {
		if err := complete(&rows[i]); err != nil {
			return nil, err
		}
		size += rows[i].size()
	}
	if w.state != "" {
		s.cache.put(key, rows, size)
	}
	return rows, nil
}

const (
	maxCached      = 32 << 20 // bytes
	maxCachedEntry = maxCached / 8
	// entryOverhead is the approximate size of an entry without its rows: its key, twice, an element of the list and a slot of the map.
	entryOverhead = 256
)

type cacheKey [sha256.Size]byte

// rowCache holds the rows that were used last.
type rowCache struct {
	mutex sync.Mutex
	rows  *simplelru.LRU[cacheKey, cacheEntry]
	size  int
}

type cacheEntry struct {
	rows any
	size int
}

func newRowCache() *rowCache {
	// NewLRU refuses only sizes below one. The size is one entry too large, so that put does all evictions and counts their bytes.
	rows, _ := simplelru.NewLRU[cacheKey, cacheEntry](maxCached/entryOverhead+1, nil)
	return &rowCache{rows: rows}
}

func (k *rowCache) get(key cacheKey) (rows any, ok bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	entry, ok := k.rows.Get(key)
	return entry.rows, ok
}

func (k *rowCache) put(key cacheKey, rows any, size int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	size += entryOverhead
	if size > maxCachedEntry || k.rows.Contains(key) { // another caller has read the same meanwhile
		return
	}
	k.rows.Add(key, cacheEntry{rows, size})
	for k.size += size; k.size > maxCached; {
		_, oldest, _ := k.rows.RemoveOldest()
		k.size -= oldest.size
	}
}
