package genaicostprocessor

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/genaicostprocessor/internal/metadata"
)

var (
	reloadDone   = option("outcome", "done")
	reloadFailed = option("outcome", "failed")
)

// outcome is the source of a span's cost, or why it has none.
type outcome int

const (
	outcomeNone outcome = iota // neither tokens nor a cost
	outcomeSent
	outcomeComputed
	outcomeUnpriced
	outcomeNotCounted
	outcomeIncomplete // some of the tokens are neither input nor output
	outcomeOverridesUnread
	outcomeCount
)

var outcomeOptions = [outcomeCount]metric.MeasurementOption{
	outcomeSent:            option("outcome", "sent"),
	outcomeComputed:        option("outcome", "computed"),
	outcomeUnpriced:        option("outcome", "unpriced"),
	outcomeNotCounted:      option("outcome", "not_counted"),
	outcomeIncomplete:      option("outcome", "incomplete"),
	outcomeOverridesUnread: option("outcome", "overrides_unread"),
}

// outcomes counts the spans of a batch.
type outcomes [outcomeCount]int64

func (o *outcomes) add(ctx context.Context, telemetry *metadata.TelemetryBuilder) {
	for outcome, count := range o {
		if count > 0 && outcomeOptions[outcome] != nil {
			telemetry.GenaicostSpans.Add(ctx, count, outcomeOptions[outcome])
		}
	}
}

const (
	// maxModels limits the models in the attributes of a metric, since clients choose their names.
	maxModels = 100
	// maxModelLength limits a model's name in a metric, in bytes.
	maxModelLength = 100
)

var otherModel = option("model", "other")

// modelNames holds the models without a price that were seen, each with the attributes of its metric.
type modelNames struct {
	mu      sync.RWMutex
	options map[string]metric.MeasurementOption
}

func (m *modelNames) option(model string) metric.MeasurementOption {
	if len(model) > maxModelLength {
		return otherModel
	}
	m.mu.RLock()
	known, ok := m.options[model]
	m.mu.RUnlock()
	if ok {
		return known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.options[model]; ok {
		return known
	}
	if len(m.options) >= maxModels {
		return otherModel
	}
	if m.options == nil {
		m.options = map[string]metric.MeasurementOption{}
	}
	model = strings.Clone(model) // otherwise it would keep a whole fetch of the queue in memory
	added := option("model", strings.ToValidUTF8(model, "�"))
	m.options[model] = added
	return added
}
