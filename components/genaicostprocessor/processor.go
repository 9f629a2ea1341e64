package genaicostprocessor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/genaicostprocessor/internal/metadata"
	"github.com/looptrace/looptrace/internal/componenthealth"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

type costProcessor struct {
	cfg       *Config
	settings  processor.Settings
	next      consumer.Traces
	telemetry *metadata.TelemetryBuilder
	unpriced  modelNames

	configured *prices.Matcher // without a database
	overrides  *overrides      // nil without a database
	stop       context.CancelFunc
	loop       sync.WaitGroup
}

func newProcessor(set processor.Settings, cfg *Config, next consumer.Traces) (*costProcessor, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	configured := make([]prices.Override, len(cfg.Prices))
	for i := range cfg.Prices {
		if configured[i], err = cfg.Prices[i].override(); err != nil {
			return nil, fmt.Errorf("prices[%d]: %w", i, err)
		}
	}
	return &costProcessor{cfg: cfg, settings: set, next: next, telemetry: telemetry, configured: prices.Default().WithOverrides(configured)}, nil
}

// Capabilities reports that the processor changes spans.
func (p *costProcessor) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Start reads projects' own prices. It succeeds even if PostgreSQL is away.
func (p *costProcessor) Start(ctx context.Context, host component.Host) error {
	if p.cfg.DatabaseURL == "" {
		return nil
	}
	connection, err := pgx.ParseConfig(string(p.cfg.DatabaseURL))
	if err != nil {
		// pgx's message contains the address with its password masked.
		return fmt.Errorf("parse the PostgreSQL address: %w", err)
	}
	connection.RuntimeParams["application_name"] = "looptrace"
	p.overrides = &overrides{
		connection: connection, refresh: p.cfg.RefreshInterval, logger: p.settings.Logger, telemetry: p.telemetry,
		report: func(unread error) { componenthealth.Report(host, unread, true) }, read: make(chan struct{}),
	}
	if err := p.telemetry.RegisterGenaicostOverridesCallback(p.observeOverrides); err != nil {
		return err
	}
	// What is started here ends with Shutdown, not with Start's context.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.loop.Go(func() { p.overrides.run(running) })
	select {
	case <-p.overrides.read:
	case <-time.After(startTimeout):
	case <-ctx.Done():
	}
	return nil
}

func (p *costProcessor) observeOverrides(_ context.Context, observer metric.Int64Observer) error {
	if k := p.overrides.known.Load(); k != nil {
		observer.Observe(int64(k.count))
	}
	return nil
}

// Shutdown ends what Start started.
func (p *costProcessor) Shutdown(context.Context) error {
	p.telemetry.Shutdown()
	if p.stop != nil {
		p.stop()
		p.loop.Wait()
	}
	return nil
}

// ConsumeTraces prices spans and passes them on.
func (p *costProcessor) ConsumeTraces(ctx context.Context, traces ptrace.Traces) error {
	var count outcomes
	for _, rs := range traces.ResourceSpans().All() {
		matcher := p.matcherFor(rs.Resource())
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				outcome := price(span, matcher)
				count[outcome]++
				if outcome == outcomeUnpriced {
					p.telemetry.GenaicostUnpricedSpans.Add(ctx, 1, p.unpriced.option(modelOf(span)))
				}
			}
		}
	}
	count.add(ctx, p.telemetry)
	return p.next.ConsumeTraces(ctx, traces)
}

// matcherFor returns the prices for a resource's project. It returns nil if they are not known: the project may have
// prices of its own that were never read, and the table's would be wrong.
func (p *costProcessor) matcherFor(resource pcommon.Resource) *prices.Matcher {
	project, ok := resource.Attributes().Get(runmodel.KeyProjectID)
	if p.overrides == nil || !ok || project.Type() != pcommon.ValueTypeStr {
		return p.configured
	}
	matcher, known := p.overrides.matcher(project.Str())
	if !known {
		return nil
	}
	return matcher
}

// price sets a span's cost and its source.
func price(span ptrace.Span, matcher *prices.Matcher) outcome {
	attributes := span.Attributes()
	var call prices.Call
	var hasTokens, hasCost, computed, notCounted, leftover bool
	var others int64
	var sent float64
	for key, value := range attributes.All() {
		switch key {
		case runmodel.KeyInputTokens:
			hasTokens = setCount(&call.Input, value) || hasTokens
		case runmodel.KeyOutputTokens:
			hasTokens = setCount(&call.Output, value) || hasTokens
		case runmodel.KeyCacheReadTokens:
			hasTokens = setCount(&call.CacheRead, value) || hasTokens
		case runmodel.KeyCacheWriteTokens:
			hasTokens = setCount(&call.CacheWrite, value) || hasTokens
		case runmodel.KeyReasoningTokens:
			hasTokens = setCount(&call.Reasoning, value) || hasTokens
		case runmodel.KeyCacheWrite1hTokens:
			setCount(&call.CacheWrite1h, value)
		case runmodel.KeyOtherTokens:
			setCount(&others, value)
		case runmodel.KeyProviderName:
			call.Provider = text(value)
		case runmodel.KeyRequestModel:
			call.RequestModel = text(value)
		case runmodel.KeyResponseModel:
			call.ResponseModel = text(value)
		case runmodel.KeyCostUSD:
			if hasCost = isAmount(value); hasCost {
				sent = amountOf(value)
			}
		case runmodel.KeyCostSource:
			leftover = true
			computed = text(value) == runmodel.CostComputed
		case runmodel.KeyPriceVersion:
			leftover = true
		case runmodel.KeyUsageCounted:
			notCounted = value.Type() == pcommon.ValueTypeBool && !value.Bool()
		}
	}
	switch {
	case hasCost && computed:
		return outcomeComputed // an earlier instance of this processor computed it
	case hasCost:
		attributes.PutStr(runmodel.KeyCostSource, runmodel.CostSent)
		if hasTokens && others == 0 && matcher != nil {
			call.Start = startOf(span)
			compare(attributes, sent, matcher.Price(&call), call.Usage)
		}
		return outcomeSent
	}
	if leftover { // it belongs to no cost
		attributes.Remove(runmodel.KeyCostSource)
		attributes.Remove(runmodel.KeyPriceVersion)
	}
	switch {
	case others > 0: // nobody knows what they cost
		return outcomeIncomplete
	case !hasTokens:
		return outcomeNone
	case notCounted:
		return outcomeNotCounted
	case matcher == nil:
		return outcomeOverridesUnread
	}
	call.Start = startOf(span)
	found := matcher.Price(&call)
	if found == nil {
		return outcomeUnpriced
	}
	attributes.PutDouble(runmodel.KeyCostUSD, found.Cost(call.Usage))
	attributes.PutStr(runmodel.KeyCostSource, runmodel.CostComputed)
	attributes.PutStr(runmodel.KeyPriceVersion, found.Version)
	return outcomeComputed
}

// compare keeps what a call costs by a price, if the client sent another cost: one of the two counts wrong.
func compare(attributes pcommon.Map, sent float64, price *prices.Price, usage prices.Usage) {
	if price == nil {
		return
	}
	if computed := price.Cost(usage); runmodel.CostsDiffer(sent, computed) {
		attributes.PutDouble(runmodel.KeyComputedCostUSD, computed)
	} else {
		attributes.Remove(runmodel.KeyComputedCostUSD)
	}
}

// startOf returns the start of a call, else its end, else now.
func startOf(span ptrace.Span) time.Time {
	switch {
	case span.StartTimestamp() != 0:
		return span.StartTimestamp().AsTime()
	case span.EndTimestamp() != 0:
		return span.EndTimestamp().AsTime()
	}
	return time.Now()
}

func text(value pcommon.Value) string {
	if value.Type() != pcommon.ValueTypeStr {
		return ""
	}
	return value.Str()
}

// setCount sets a count like the store does.
func setCount(count *int64, value pcommon.Value) bool {
	n, ok := runpdata.Count(value)
	if ok {
		*count = n
	}
	return ok
}

// isAmount reports whether the store accepts the value as a cost.
func isAmount(value pcommon.Value) bool {
	switch value.Type() {
	case pcommon.ValueTypeInt:
		return value.Int() >= 0 && value.Int() <= runmodel.MaxCostUSD
	case pcommon.ValueTypeDouble:
		return value.Double() >= 0 && value.Double() <= runmodel.MaxCostUSD // a comparison with NaN is false
	default:
		return false
	}
}

func amountOf(value pcommon.Value) float64 {
	if value.Type() == pcommon.ValueTypeInt {
		return float64(value.Int())
	}
	return value.Double()
}

func modelOf(span ptrace.Span) string {
	for _, key := range []string{runmodel.KeyResponseModel, runmodel.KeyRequestModel} {
		if value, ok := span.Attributes().Get(key); ok && text(value) != "" {
			return text(value)
		}
	}
	return ""
}

func option(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}
