package prices

import "time"

// Usage is the tokens of a call. Input includes CacheRead and CacheWrite, CacheWrite includes CacheWrite1h, and
// Output includes Reasoning, as in the OpenTelemetry GenAI semantic conventions
// (open-telemetry/semantic-conventions-genai, model/gen-ai/registry.yaml, gen_ai.usage.*).
type Usage struct {
	Input, Output                       int64
	CacheRead, CacheWrite, CacheWrite1h int64
	Reasoning                           int64
}

// Cost returns the cost of a call in US dollars, never less than 0:
//
//	(input − cache_read − cache_write) · input + cache_read · cache_read + cache_write · cache_write
//	+ (output − reasoning) · output + reasoning · reasoning
//
// The second factors are the prices of those tokens. The whole input selects the tier. Every token is paid once,
// because of what Usage includes. If a part is larger than the whole that should include it, the whole was counted
// without the part, and nothing is charged at the whole's own rate.
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

// Call is what a span says of a model call.
type Call struct {
	Provider      string
	ResponseModel string
	RequestModel  string
	// Start selects among the prices that a model had over time.
	Start time.Time
	Usage
}

// Price returns the price of the model that answered, else of the one that was requested. It returns nil if neither
// has a known price.
func (m *Matcher) Price(call *Call) *Price {
	if price := m.Find(call.Provider, call.ResponseModel, call.Start); price != nil {
		return price
	}
	if call.RequestModel == call.ResponseModel {
		return nil
	}
	return m.Find(call.Provider, call.RequestModel, call.Start)
}
