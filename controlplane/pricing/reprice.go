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

// runsAtOnce bounds the runs that are read and written together.
const runsAtOnce = 200

// Options say which spans are priced anew.
type Options struct {
	// From and To bound the start of the spans: From is within the range, To is not.
	From, To time.Time
	// Project is uuid.Nil for all projects.
	Project uuid.UUID
	// DryRun writes nothing.
	DryRun bool
	// Overrides are the prices of projects' own, by the project's id.
	Overrides map[string][]prices.Override
	// Progress, where not nil, is told after each hour of a project.
	Progress func(project uuid.UUID, hour time.Time, sum *Summary)
}

// Summary counts what was done, or with DryRun would have been.
type Summary struct {
	// Spans with tokens or a cost; the next five together are all of them.
	Spans int
	// Sent spans keep the cost that their client sent.
	Sent int
	// Changed spans have another cost, or another version of their price, Withdrawn ones none any more.
	Changed, Withdrawn int
	// Unchanged spans have the cost that they had.
	Unchanged int
	// Unpriced spans have tokens that count and no known price, and had no cost; NotCounted ones repeat others' tokens.
	Unpriced, NotCounted int
	// Runs were derived anew.
	Runs int
	// Unknown counts the spans without a known price by model.
	Unknown map[string]int
}

// maxUnknown bounds the models that a summary tells apart: clients choose the names.
const maxUnknown = 1000

// attributeCacheWrite1h names the tokens that were written to a cache for an hour; the conventions have no name for them.
const attributeCacheWrite1h = "gen_ai.usage.cache_creation.ephemeral_1h_input_tokens"

// Reprice computes the cost of stored spans anew, writes what changes, and derives the runs of these spans.
//
// What is written is one more version of a span, with its cost alone: readers lay it over what they have. Its number is the
// next one after the version that it was computed from. So it is the same row however often it is written, a version that a
// client sends later is the newer one, and a repetition after a kill goes on where the first was ended. Runs come after
// their spans; a run whose row has seen fewer versions than there are was left behind by a kill and is derived again.
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

// hour prices the spans that start within a part of an hour.
func (r *repricer) hour(ctx context.Context, from, to time.Time) error {
	runs, err := clickhouse.ReadPricedRuns(ctx, r.conn, r.project, from, to)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(runs, runsAtOnce) {
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
	versions, err := clickhouse.ReadPricedVersions(ctx, r.conn, bounds, attributeCacheWrite1h)
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
			// A span whose versions say different hours is the business of the hour of the last one.
			if span.StartTime.Before(from) || !span.StartTime.Before(to) {
				continue
			}
			if version, changes := r.price(&span); changes {
				written = append(written, version)
				derive[runmodel.RunKey{ProjectID: r.project, RunID: id}] = true
			}
		}
	}
	if err := r.leftBehind(ctx, bounds, byRun, derive); err != nil {
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
	batch := rand.Uint64() //nolint:gosec // tells batches apart, guards nothing
	all := make(map[runmodel.RunKey][]runmodel.Span, len(derive))
	for _, b := range bounds {
		if key := (runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}); derive[key] {
			// The versions start where their spans do, so that the bounds stay; the batch is another one.
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

// leftBehind adds the runs whose rows have seen fewer versions than there are.
func (r *repricer) leftBehind(
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

// price returns the version that gives a folded span its cost by the prices of now, and whether that changes anything.
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
	counts := span.HasUsage() && span.Counting != runmodel.CountNothing
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
		CacheWrite1h: wholeNumber(span.AttributesJSON[attributeCacheWrite1h]),
	}
}

// wholeNumber reads the JSON text of a count, or 0.
func wholeNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
