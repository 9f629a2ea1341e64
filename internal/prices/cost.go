package prices

import "time"

// Usage is the tokens of a call. Input includes CacheRead and CacheWrite, CacheWrite includes CacheWrite1h, and Output
// includes Reasoning, as the OpenTelemetry GenAI semantic conventions have it (open-telemetry/semantic-conventions-genai,
// model/gen-ai/registry.yaml, gen_ai.usage.*).
type Usage struct {
	Input, Output                       int64
	CacheRead, CacheWrite, CacheWrite1h int64
	Reasoning                           int64
}

// Cost returns what a call costs in US dollars, never less than 0:
//
//	(input − cache_read − cache_write) · input + cache_read · cache_read + cache_write · cache_write
//	+ (output − reasoning) · output + reasoning · reasoning
//
// each factor the price of its tokens, and the tier chosen by the whole input. It follows from what Usage includes: each
// token is paid once. Where a part is larger than the whole that should include it, the whole was counted without it, and
// nothing is left to pay at the whole's own rate.
func (p *Price) Cost(u Usage) float64 {
	read, write, reasoning := max(u.CacheRead, 0), max(u.CacheWrite, 0), max(u.Reasoning, 0)
	writeLong := min(max(u.CacheWrite1h, 0), write)
	plain := max(u.Input-read-write, 0)

	r := &p.Rates
	for i := range p.Tiers {
		if plain+read+write > p.Tiers[i].Above {
			r = &p.Tiers[i].Rates
		}
	}
	writeRate := or(r.CacheWrite, r.Input)
	sum := float64(plain)*r.Input +
		float64(read)*or(r.CacheRead, r.Input) +
		float64(write-writeLong)*writeRate +
		float64(writeLong)*or(r.CacheWrite1h, writeRate) +
		float64(max(u.Output-reasoning, 0))*r.Output +
		float64(reasoning)*or(r.Reasoning, r.Output)
	return sum / perTokens
}

func or(rate *float64, otherwise float64) float64 {
	if rate != nil {
		return *rate
	}
	return otherwise
}

// Call is what a span says of a call of a model.
type Call struct {
	Provider      string
	ResponseModel string
	RequestModel  string
	// Start chooses among the prices that a model has had.
	Start time.Time
	Usage
}

// Price returns the price of a call: that of the model that answered, else of the one that was asked; nil where neither
// has a known one.
func (m *Matcher) Price(call *Call) *Price {
	if price := m.Find(call.Provider, call.ResponseModel, call.Start); price != nil {
		return price
	}
	if call.RequestModel == call.ResponseModel {
		return nil
	}
	return m.Find(call.Provider, call.RequestModel, call.Start)
}
