package conformance

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// listPrices are the list prices of the recordings' providers, in US dollars for a million tokens. They are written
// by hand, to be independent of the price table.
var listPrices = map[string]listPrice{
	"gpt-5-mini":             {0.25, 0.025, 0.25, 2},
	"gpt-4.1-mini":           {0.40, 0.10, 0.40, 1.60},
	"gpt-4o-mini":            {0.15, 0.075, 0.15, 0.60},
	"claude-sonnet-4-5":      {3, 0.30, 3.75, 15},
	"gemini-2.5-flash":       {0.30, 0.03, 0.30, 2.50},
	"text-embedding-3-small": {0.02, 0.02, 0.02, 0},
}

type listPrice struct{ input, cacheRead, cacheWrite, output float64 }

func priceOf(model string) (price listPrice, ok bool) {
	price, ok = listPrices[dated.ReplaceAllString(model[strings.LastIndex(model, "/")+1:], "")]
	return price, ok
}

// usd is the price of a call. Input includes what was read from a cache and written to it.
func (p *listPrice) usd(input, output, cacheRead, cacheWrite float64) float64 {
	const million = 1e6
	return ((input-cacheRead-cacheWrite)*p.input + cacheRead*p.cacheRead + cacheWrite*p.cacheWrite + output*p.output) / million
}

// TestRecordedCosts compares the computed cost of every recorded call that counts with its tokens times the list
// price, and the cost of each run with the sum of its calls. TestConformance checks the tokens.
func TestRecordedCosts(t *testing.T) {
	t.Parallel()
	var scenarios map[string]scenario
	readJSON(t, "scenarios.json", &scenarios)
	priced := 0
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		folder := filepath.Join("testdata", name)
		received, _ := receive(t, readPayload(t, filepath.Join(folder, "traces.json"), filepath.Join(folder, "logs.json")))
		for _, r := range received {
			sum := 0.0
			sent := false
			for i, counts := range r.counted {
				s := &r.spans[i]
				sent = sent || s.CostSource == runmodel.CostSent
				if !counts || s.CostSource == runmodel.CostSent {
					continue
				}
				want, ok := byHand(s)
				if !ok {
					assert.Nil(t, s.CostUSD, "%s: %s of %q has a price", name, s.Name, s.ResponseModel+s.RequestModel)
					continue
				}
				if assert.NotNil(t, s.CostUSD, "%s: %s", name, s.Name) {
					assert.InDelta(t, want, *s.CostUSD, 1e-9, "%s: %s", name, s.Name)
					sum += want
					priced++
				}
			}
			if total := r.totals.CostUSD; !sent && sum > 0 && assert.NotNil(t, total, name) {
				assert.InDelta(t, sum, *total, 1e-9, name)
			}
		}
	}
	t.Log(priced, "calls")
	require.Greater(t, priced, 150)
}

var dated = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}$`)

func byHand(s *runmodel.Span) (usd float64, ok bool) {
	model := s.ResponseModel
	if model == "" {
		model = s.RequestModel
	}
	price, ok := priceOf(model)
	of := func(n *int64) float64 {
		if n == nil {
			return 0
		}
		return float64(*n)
	}
	return price.usd(of(s.InputTokens), of(s.OutputTokens), of(s.CacheReadTokens), of(s.CacheWriteTokens)), ok && s.HasUsage()
}
