package pricing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// runBatch is the maximum number of runs that are read and written together.
const runBatch = 200

// Options select the spans to reprice.
type Options struct {
	// From (inclusive) and To (exclusive) bound the start times of the spans.
	From, To time.Time
	// Project is uuid.Nil for all projects.
	Project uuid.UUID
	// DryRun writes nothing.
	DryRun bool
	// Overrides are the project prices by project id.
	Overrides map[string][]prices.Override
	// Progress is called after each hour of a project. It may be nil.
	Progress func(project uuid.UUID, hour time.Time, sum *Summary)
}

// Summary counts the changes, or with DryRun the changes that would have been made.
type Summary struct {
	// Spans is the number of spans with tokens or a cost, and the sum of the counts up to NotCounted.
	Spans int
	// Sent is the number of spans with a cost from the client, which does not change.
	Sent int
	// Changed is the number of spans with a new cost or price version, Withdrawn that of spans that lost their cost.
	Changed, Withdrawn int
	// Unchanged is the number of spans whose cost stays the same.
	Unchanged int
	// Unpriced is the number of spans with tokens but no cost and no known price.
	// NotCounted is the number of spans without a cost whose tokens are already counted in other spans.
	Unpriced, NotCounted int
	// Runs is the number of runs that were derived again.
	Runs int
	// Unknown is the number of spans without a known price by model.
	Unknown map[string]int
}

// maxUnknown is the maximum number of models in a summary. Clients choose the names, so the set is unbounded.
const maxUnknown = 1000

// Reprice recomputes the cost of stored spans, writes the changes, and derives the runs of these spans again.
//
// A change is a new version of the span that holds only the cost. Readers merge it with the earlier versions. Its
// number follows that of the version it was computed from. Writing it twice therefore gives the same row, a version
// that a client sends later is newer, and Reprice can resume after it was killed. Runs are written after their spans.
// A run row that has seen fewer versions than exist is left over from a killed process and is derived again.
func Reprice(ctx context.Context, conn driver.Conn, writer *clickhouse.Writer, o Options) (*Summary, error) {
	sum := &Summary{Unknown: map[string]int{}}
	projects := []uuid.UUID{o.Project}
	if o.Project == uuid.Nil {
		var err error
		if projects, err = clickhouse.ReadPricedProjects(ctx, conn, o.From, o.To); err != nil {
			return sum, err
		}
	}
	for _, project := range projects {
		r := repricer{
			Options: o, conn: conn, writer: writer, sum: sum, project: project,
			matcher: prices.Default().WithOverrides(o.Overrides[project.String()]),
		}
		for from := o.From; from.Before(o.To); {
			to := from.Truncate(time.Hour).Add(time.Hour)
			if to.After(o.To) {
				to = o.To
			}
			if err := r.hour(ctx, from, to); err != nil {
				return sum, fmt.Errorf("project %s, %s: %w", project, from.UTC().Format(time.RFC3339), err)
			}
			if o.Progress != nil {
				o.Progress(project, from, sum)
			}
			from = to
		}
	}
	return sum, nil
}

type repricer struct {
	Options
	conn    driver.Conn
	writer  *clickhouse.Writer
	sum     *Summary
	project uuid.UUID
	matcher *prices.Matcher
}

// hour reprices the spans that start in [from, to), which is at most one hour.
func (r *repricer) hour(ctx context.Context, from, to time.Time) error {
	runs, err := clickhouse.ReadPricedRuns(ctx, r.conn, r.project, from, to)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(runs, runBatch) {
		keys := make([]runmodel.RunKey, len(some))
		for i, id := range some {
			keys[i] = runmodel.RunKey{ProjectID: r.project, RunID: id}
		}
		if err := r.runs(ctx, keys, from, to); err != nil {
			return err
		}
	}
	return nil
}

func (r *repricer) runs(ctx context.Context, keys []runmodel.RunKey, from, to time.Time) error {
	bounds, err := clickhouse.ReadBounds(ctx, r.conn, keys)
	if err != nil || len(bounds) == 0 {
		return err
	}
	versions, err := clickhouse.ReadPricedVersions(ctx, r.conn, bounds, runmodel.KeyCacheWrite1hTokens)
	if err != nil {
		return err
	}
	byRun := map[uuid.UUID][]runmodel.Span{}
	for i := range versions {
		byRun[versions[i].RunID] = append(byRun[versions[i].RunID], versions[i])
	}
	derive := map[runmodel.RunKey]bool{}
	var written []runmodel.Span
	for id, versions := range byRun {
		for _, span := range runmodel.Fold(versions) {
			// If the versions of a span start in different hours, the hour of the last version handles it.
			if span.StartTime.Before(from) || !span.StartTime.Before(to) {
				continue
			}
			if version, changes := r.price(&span); changes {
				written = append(written, version)
				derive[runmodel.RunKey{ProjectID: r.project, RunID: id}] = true
			}
		}
	}
	if err := r.addStale(ctx, bounds, byRun, derive); err != nil {
		return err
	}
	r.sum.Runs += len(derive)
	if r.DryRun || len(derive) == 0 {
		return nil
	}
	if err := r.writer.InsertSpans(ctx, written); err != nil {
		return err
	}
	touched := make([]clickhouse.Bounds, 0, len(derive))
	batch := rand.Uint64() //nolint:gosec // distinguishes batches, not a secret
	all := make(map[runmodel.RunKey][]runmodel.Span, len(derive))
	for _, b := range bounds {
		if key := (runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}); derive[key] {
			// The new versions have the start times of their spans, so only the batch changes.
			b.FirstBatch, b.LastBatch = batch, batch
			touched, all[key] = append(touched, b), nil
		}
	}
	if err := r.writer.InsertBounds(ctx, touched); err != nil {
		return err
	}
	_, err = clickhouse.DeriveRuns(ctx, r.conn, r.writer, all, batch)
	return err
}

// addStale adds the runs whose rows have seen fewer versions than exist.
func (r *repricer) addStale(
	ctx context.Context, bounds []clickhouse.Bounds, byRun map[uuid.UUID][]runmodel.Span, derive map[runmodel.RunKey]bool,
) error {
	keys := make([]runmodel.RunKey, len(bounds))
	first, last := bounds[0].FirstStart, bounds[0].LastStart
	for i, b := range bounds {
		keys[i] = runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}
		if b.FirstStart.Before(first) {
			first = b.FirstStart
		}
		if b.LastStart.After(last) {
			last = b.LastStart
		}
	}
	locations, err := clickhouse.ReadRunLocations(ctx, r.conn, keys, first, last)
	if err != nil {
		return err
	}
	seen := map[uuid.UUID]uint64{}
	for _, p := range locations {
		seen[p.RunID] = max(seen[p.RunID], p.Version)
	}
	for id, versions := range byRun {
		if seen[id] < runmodel.CountVersions(versions) {
			derive[runmodel.RunKey{ProjectID: r.project, RunID: id}] = true
		}
	}
	return nil
}

// price returns the version with the cost of a folded span at current prices, and whether the cost changes.
func (r *repricer) price(span *runmodel.Span) (version runmodel.Span, changes bool) {
	if !span.HasUsage() && span.CostUSD == nil {
		return runmodel.Span{}, false
	}
	r.sum.Spans++
	if span.CostSource == runmodel.CostSent {
		r.sum.Sent++
		return runmodel.Span{}, false
	}
	version = runmodel.Span{
		ProjectID: span.ProjectID, RunID: span.RunID, SpanID: span.SpanID, Version: span.Version + 1,
		StartTime: span.StartTime, EndTime: runmodel.Epoch,
	}
	counts := span.HasUsage() && span.OtherTokens == nil && span.Counting != runmodel.CountNothing
	var price *prices.Price
	if counts {
		price = r.matcher.Price(&prices.Call{
			Provider: span.Provider, ResponseModel: span.ResponseModel, RequestModel: span.RequestModel, Start: span.StartTime,
		})
	}
	if price == nil {
		if counts {
			r.unknown(span)
		}
		switch {
		case span.CostUSD != nil:
			version.CostSource = runmodel.CostWithdrawn
			r.sum.Withdrawn++
			return version, true
		case counts:
			r.sum.Unpriced++
		default:
			r.sum.NotCounted++
		}
		return runmodel.Span{}, false
	}
	cost := price.Cost(usageOf(span))
	if span.CostUSD != nil && *span.CostUSD == cost && span.PriceVersion == price.Version {
		r.sum.Unchanged++
		return runmodel.Span{}, false
	}
	version.CostUSD, version.CostSource, version.PriceVersion = &cost, runmodel.CostComputed, price.Version
	r.sum.Changed++
	return version, true
}

func (r *repricer) unknown(span *runmodel.Span) {
	model := span.ResponseModel
	if model == "" {
		model = span.RequestModel
	}
	if _, known := r.sum.Unknown[model]; !known && len(r.sum.Unknown) >= maxUnknown {
		model = "other models"
	}
	r.sum.Unknown[model]++
}

func usageOf(span *runmodel.Span) prices.Usage {
	count := func(tokens *int64) int64 {
		if tokens == nil {
			return 0
		}
		return *tokens
	}
	return prices.Usage{
		Input: count(span.InputTokens), Output: count(span.OutputTokens),
		CacheRead: count(span.CacheReadTokens), CacheWrite: count(span.CacheWriteTokens), Reasoning: count(span.ReasoningTokens),
		CacheWrite1h: wholeNumber(span.AttributesJSON[runmodel.KeyCacheWrite1hTokens]),
	}
}

// wholeNumber parses a non-negative integer in JSON. It returns 0 for anything else.
func wholeNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
