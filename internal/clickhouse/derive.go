package clickhouse

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Derived counts the rows of runs that were written, and those for which spans were read.
type Derived struct{ Runs, Reread int }

// DeriveRuns derives runs from all their spans and writes their rows. The caller must have written the spans and then
// widened the bounds of their runs, with a batch of its own. spans holds those of the batch by run, or none for runs
// whose spans are to be read. If the bounds of a run have changed by the time its row is written, another batch
// touched it and may not have seen that row, so the run is derived again. A batch that touches it later finds the
// row.
func DeriveRuns(
	ctx context.Context, conn driver.Conn, writer *Writer, spans map[runmodel.RunKey][]runmodel.Span, batch uint64,
) (Derived, error) {
	var derived Derived
	known, err := ReadBounds(ctx, conn, slices.Collect(maps.Keys(spans)))
	if err != nil {
		return derived, err
	}
	for len(known) > 0 {
		if err := writeRuns(ctx, conn, writer, spans, known, batch, &derived); err != nil {
			return derived, err
		}
		written := make(map[runmodel.RunKey]Bounds, len(known))
		for _, b := range known {
			written[b.key()] = b
		}
		if known, err = ReadBounds(ctx, conn, slices.Collect(maps.Keys(written))); err != nil {
			return derived, err
		}
		known = slices.DeleteFunc(known, func(b Bounds) bool { return b.equal(written[b.key()]) })
	}
	return derived, nil
}

func (b Bounds) key() runmodel.RunKey {
	return runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}
}

func (b Bounds) equal(other Bounds) bool {
	return b.FirstBatch == other.FirstBatch && b.LastBatch == other.LastBatch && b.DeletedAt == other.DeletedAt &&
		b.FirstStart.Equal(other.FirstStart) && b.LastStart.Equal(other.LastStart)
}

// writeRuns writes the rows of runs. If no other batch has touched a run, this batch has all its spans.
func writeRuns(
	ctx context.Context, conn driver.Conn, writer *Writer,
	spans map[runmodel.RunKey][]runmodel.Span, known []Bounds, batch uint64, derived *Derived,
) error {
	var shared []Bounds
	totals := make([]runmodel.Run, 0, len(known))
	for _, b := range known {
		if versions := spans[b.key()]; len(versions) > 0 && b.FirstBatch == batch && b.LastBatch == batch && b.DeletedAt == 0 {
			totals = append(totals, runmodel.Totals(versions))
		} else {
			shared = append(shared, b)
		}
	}
	sharedTotals, late, err := readTotals(ctx, conn, shared)
	if err != nil {
		return err
	}
	all := slices.Concat(totals, sharedTotals)
	writer.usual.compare(ctx, conn, all)
	if err := writer.InsertRuns(ctx, all); err != nil {
		return err
	}
	derived.Runs += len(totals) + len(sharedTotals)
	derived.Reread += len(sharedTotals)
	if err := removeDeleted(ctx, conn, writer, shared, late, sharedTotals); err != nil {
		return err
	}
	return removeMoved(ctx, conn, writer, shared)
}

// removeDeleted deletes what was written of deleted runs: by a redelivered batch, or by one that was under way during
// the deletion. What was received after the deletion stays and begins a new run.
func removeDeleted(
	ctx context.Context, conn driver.Conn, writer *Writer, known, late []Bounds, totals []runmodel.Run,
) error {
	deleted := slices.DeleteFunc(slices.Clone(known), func(b Bounds) bool { return b.DeletedAt == 0 })
	if len(deleted) == 0 {
		return nil
	}
	upTo := make(map[runmodel.RunKey]uint64, len(deleted))
	for _, b := range deleted {
		upTo[b.key()] = b.DeletedAt
	}
	first, last := extent(deleted)
	locations, err := ReadRunLocations(ctx, conn, slices.Collect(maps.Keys(upTo)), first, last)
	if err != nil {
		return err
	}
	var rows []runmodel.Run
	for _, p := range locations {
		if at := upTo[runmodel.RunKey{ProjectID: p.ProjectID, RunID: p.RunID}]; p.Version < at {
			rows = append(rows, p.deletion(at))
		}
	}
	if err := writer.InsertRuns(ctx, rows); err != nil {
		return err
	}
	living := make(map[runmodel.RunKey]bool, len(totals))
	for i := range totals {
		living[runmodel.RunKey{ProjectID: totals[i].ProjectID, RunID: totals[i].RunID}] = true
	}
	return deleteLate(ctx, conn, late, living)
}

// Limits of what is read back at a time: the number of runs, the number of their versions, which take a kilobyte
// each, and the time between their starts, since all hours of the project in between are searched. Totals need all
// spans of a run, so a run with more versions is read alone, up to maxVersionsPerRun.
const (
	maxRunsAtOnce     = 500
	maxVersionsAtOnce = 50_000
	maxTimeAtOnce     = 24 * time.Hour
	// maxVersionsPerRun limits what totals are derived from. Otherwise a client whose trace never ends would take
	// more memory and time with every batch, until nothing is stored any more for anybody.
	maxVersionsPerRun = 100_000
)

// KeyTotalsOf is the metadata key of a run with more span versions than its totals are derived from. Its value is how
// many that are: the first ones by start.
const KeyTotalsOf = "looptrace.totals_of_first"

// readTotals derives runs from all their spans; deleted runs from what came later. late are the runs that have
// deleted spans.
func readTotals(ctx context.Context, conn driver.Conn, shared []Bounds) (totals []runmodel.Run, late []Bounds, err error) {
	totals = make([]runmodel.Run, 0, len(shared))
	for _, some := range together(shared) {
		versions, err := readVersions(ctx, conn, some, maxVersionsAtOnce+1)
		if err != nil {
			return nil, nil, err
		}
		if len(versions) <= maxVersionsAtOnce {
			if totals, late, err = addTotals(ctx, conn, some, versions, totals, late); err != nil {
				return nil, nil, err
			}
			continue
		}
		counts, err := countVersions(ctx, conn, some)
		if err != nil {
			return nil, nil, err
		}
		for _, fewer := range pack(some, counts) {
			cut := counts[fewer[0].key()] > maxVersionsPerRun // then it is alone
			if cut {
				versions, err = readFirstVersions(ctx, conn, fewer[0], maxVersionsPerRun)
			} else {
				versions, err = readVersions(ctx, conn, fewer, math.MaxInt64)
			}
			if err != nil {
				return nil, nil, err
			}
			before := len(totals)
			if totals, late, err = addTotals(ctx, conn, fewer, versions, totals, late); err != nil {
				return nil, nil, err
			}
			if cut && len(totals) > before {
				markTotals(&totals[before])
			}
		}
	}
	return totals, late, nil
}

// markTotals notes in a run's row that its totals cover only its first spans. How far the whole run can be replayed, and which
// signals it has, is unknown.
func markTotals(run *runmodel.Run) {
	metadata := make(map[string]string, len(run.Metadata)+1)
	maps.Copy(metadata, run.Metadata) // the metadata belongs to a span
	metadata[KeyTotalsOf] = strconv.Itoa(maxVersionsPerRun)
	run.Metadata = metadata
	run.Replayability = ""
	run.ForgetSignals()
}

// together groups runs that are read together. A run whose own spans are far apart in time is grouped with others of
// its kind: together with other runs, all hours in between would be searched for those as well.
func together(runs []Bounds) [][]Bounds {
	isWide := func(b Bounds) bool { return b.LastStart.Sub(b.FirstStart) > maxTimeAtOnce }
	runs = slices.SortedFunc(slices.Values(runs), func(a, b Bounds) int {
		switch {
		case isWide(a) == isWide(b):
			return a.FirstStart.Compare(b.FirstStart)
		case isWide(a):
			return 1
		}
		return -1
	})
	var all [][]Bounds
	from := 0
	for i, b := range runs {
		first := runs[from]
		if i-from == maxRunsAtOnce || isWide(b) != isWide(first) || !isWide(b) && b.LastStart.Sub(first.FirstStart) > maxTimeAtOnce {
			all, from = append(all, runs[from:i]), i
		}
	}
	if from < len(runs) {
		all = append(all, runs[from:])
	}
	return all
}

// pack groups runs so that each group has at most maxVersionsAtOnce versions.
func pack(runs []Bounds, counts map[runmodel.RunKey]uint64) [][]Bounds {
	var packs [][]Bounds
	var held uint64
	for i, b := range runs {
		n := counts[b.key()]
		if i == 0 || held+n > maxVersionsAtOnce {
			packs, held = append(packs, nil), 0
		}
		last := len(packs) - 1
		packs[last], held = append(packs[last], b), held+n
	}
	return packs
}

// addTotals adds to totals and late what follows from all versions of runs.
func addTotals(
	ctx context.Context, conn driver.Conn, runs []Bounds, versions []runmodel.Span, totals []runmodel.Run, late []Bounds,
) ([]runmodel.Run, []Bounds, error) {
	byRun := runmodel.ByRun(versions)
	var failed []Bounds
	for _, b := range runs {
		received, ok := byRun[b.key()]
		if !ok {
			continue
		}
		living := received
		if b.DeletedAt > 0 {
			living = slices.DeleteFunc(slices.Clone(received), func(s runmodel.Span) bool { return s.Version <= b.DeletedAt })
		}
		if len(living) < len(received) {
			late = append(late, b)
		}
		if len(living) == 0 {
			continue
		}
		byRun[b.key()] = living
		run := runmodel.Totals(living)
		run.Version += b.DeletedAt // greater than in any row from before the deletion
		if run.Fingerprint != "" {
			b.LastStart = slices.MaxFunc(living, func(x, y runmodel.Span) int { return x.StartTime.Compare(y.StartTime) }).StartTime
			failed = append(failed, b)
		}
		totals = append(totals, run)
	}
	return totals, late, nameFailures(ctx, conn, failed, byRun, totals)
}

// nameFailures derives failed runs again whose spans have a fingerprint of the client's own. It is an attribute, and
// attributes are not read for other runs.
func nameFailures(
	ctx context.Context, conn driver.Conn, failed []Bounds, byRun map[runmodel.RunKey][]runmodel.Span, totals []runmodel.Run,
) error {
	if len(failed) == 0 {
		return nil
	}
	own, err := readOwnFingerprints(ctx, conn, failed)
	if err != nil || len(own) == 0 {
		return err
	}
	for i := range totals {
		key := runmodel.RunKey{ProjectID: totals[i].ProjectID, RunID: totals[i].RunID}
		changed := false
		for j := range byRun[key] {
			span := &byRun[key][j]
			if value, ok := own[spanVersion{key, span.SpanID, span.Version}]; ok {
				span.Attributes = map[string]string{runmodel.KeyFingerprint: value}
				changed = true
			}
		}
		if changed {
			version := totals[i].Version
			totals[i] = runmodel.Totals(byRun[key])
			totals[i].Version = version
		}
	}
	return nil
}

// removeMoved deletes the rows that runs left in another hour when an earlier start arrived.
func removeMoved(ctx context.Context, conn driver.Conn, writer *Writer, shared []Bounds) error {
	var moved []Bounds
	for _, b := range shared {
		// All starts that a run ever had are within its bounds. If those are in one hour, it has not moved.
		if !b.FirstStart.Truncate(time.Hour).Equal(b.LastStart.Truncate(time.Hour)) {
			moved = append(moved, b)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	keys := make([]runmodel.RunKey, len(moved))
	for i, b := range moved {
		keys[i] = b.key()
	}
	first, last := extent(moved)
	locations, err := ReadRunLocations(ctx, conn, keys, first, last)
	if err != nil {
		return err
	}
	return writer.InsertRuns(ctx, leftBehind(locations))
}

// leftBehind returns deletions of all rows of each run except the one that was derived from most versions.
func leftBehind(locations []RunLocation) []runmodel.Run {
	newest := make(map[runmodel.RunKey]RunLocation, len(locations))
	for _, p := range locations {
		key := runmodel.RunKey{ProjectID: p.ProjectID, RunID: p.RunID}
		if best, ok := newest[key]; !ok || p.Version > best.Version {
			newest[key] = p
		}
	}
	var deletions []runmodel.Run
	for _, p := range locations {
		best := newest[runmodel.RunKey{ProjectID: p.ProjectID, RunID: p.RunID}]
		if p.Version < best.Version && !p.StartTime.Truncate(time.Hour).Equal(best.StartTime.Truncate(time.Hour)) {
			deletions = append(deletions, p.deletion(best.Version))
		}
	}
	return deletions
}

// deletion returns the row that replaces the one at p.
func (p RunLocation) deletion(version uint64) runmodel.Run {
	return runmodel.Run{
		ProjectID: p.ProjectID, RunID: p.RunID, Version: version, Deleted: 1,
		StartTime: p.StartTime, EndTime: runmodel.Epoch, FirstReceived: runmodel.Epoch,
	}
}
