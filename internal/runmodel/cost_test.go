package runmodel

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func usd(amount float64) *float64 { return &amount }

func TestFoldOfCosts(t *testing.T) {
	t.Parallel()
	sent := Span{CostUSD: usd(1), CostSource: CostSent}
	computed := Span{CostUSD: usd(2), CostSource: CostComputed, PriceVersion: "2026-08-22"}
	repriced := Span{CostUSD: usd(3), CostSource: CostComputed, PriceVersion: "project:4"}
	withdrawn := Span{CostSource: CostWithdrawn}
	sentLater := Span{CostUSD: usd(5), CostSource: CostSent}
	ofLog := func(s Span) Span { s.FromLog = true; return s }
	for name, test := range map[string]struct {
		versions []Span
		want     Span
	}{
		"what a log record sent wins too":        {[]Span{computed, ofLog(sent)}, sent},
		"a cost of a log record is taken back":   {[]Span{ofLog(computed), withdrawn}, Span{}},
		"and computed once more behind it":       {[]Span{ofLog(computed), repriced}, repriced},
		"nothing is left of what was taken back": {[]Span{withdrawn}, Span{}},
		"nothing replaces a cost with none":      {[]Span{computed, {}}, computed},
		"a computed cost is computed anew":       {[]Span{computed, repriced}, repriced},
		"a computed cost is taken back":          {[]Span{computed, withdrawn}, Span{}},
		"and computed once more":                 {[]Span{computed, withdrawn, repriced}, repriced},
		"what was sent wins over computed":       {[]Span{sent, computed}, sent},
		"what is sent later wins":                {[]Span{computed, sent}, sent},
		"what was sent is not taken back":        {[]Span{sent, withdrawn}, sent},
		"the client may send another":            {[]Span{sent, sentLater}, sentLater},
		"no trace of prices on what was sent":    {[]Span{repriced, sentLater}, sentLater},
	} {
		versions := make([]Span, len(test.versions))
		for i, v := range test.versions {
			v.SpanID, v.Version = 1, uint64(i+1)
			versions[len(versions)-1-i] = v // in any order
		}
		folded := Fold(versions)
		require.Len(t, folded, 1, name)
		got := Span{CostUSD: folded[0].CostUSD, CostSource: folded[0].CostSource, PriceVersion: folded[0].PriceVersion}
		assert.Equal(t, test.want, got, name)
	}
}

// TestSumsStayNumbers checks that no total exceeds the numbers of JSON and its readers, whatever its spans have.
func TestSumsStayNumbers(t *testing.T) {
	t.Parallel()
	spans := make([]Span, 3)
	for i := range spans {
		spans[i] = Span{
			SpanID: uint64(i + 1), Version: 1, StartTime: time.Unix(int64(i), 0), Kind: KindLLM,
			InputTokens: number[int64](1 << 62), OutputTokens: number[int64](1<<53 - 1), CostUSD: usd(1.7e308), CostSource: CostSent,
		}
	}
	run := Totals(spans)
	assert.EqualValues(t, 1<<53, *run.InputTokens)
	assert.EqualValues(t, 1<<53, *run.OutputTokens)
	assert.InDelta(t, 1e12, *run.CostUSD, 0)
	one := Totals(spans[:1])
	assert.InDelta(t, 1e12, *one.CostUSD, 0)
}

// Sums of costs are exact decimals.
func TestSumOfCosts(t *testing.T) {
	t.Parallel()
	spans := make([]Span, 24)
	sum := 0.0
	for i := range spans {
		spans[i] = Span{SpanID: uint64(i + 1), Version: 1, StartTime: time.Unix(int64(i), 0), Kind: KindLLM, CostUSD: usd(0.00035), CostSource: CostSent}
		sum += 0.00035
	}
	require.NotEqual(t, "0.0084", strconv.FormatFloat(sum, 'g', -1, 64), "this case says nothing")
	assert.Equal(t, "0.0084", strconv.FormatFloat(*Totals(spans).CostUSD, 'g', -1, 64))

	assert.Zero(t, RoundUSD(0, 15))
	for _, amount := range []float64{3e-9, 0.0084, 1.5, 158.7119140625, 123456.789, 1e12} {
		assert.InDelta(t, amount, RoundUSD(amount, 15), 0)
		assert.InDelta(t, amount, RoundUSD(math.Nextafter(amount, 2e12), 15), 0)
	}
}

// The cost of a run is the sum over its spans that count: a computed cost counts if its tokens do.
func TestCostOfARun(t *testing.T) {
	t.Parallel()
	tokens := int64(10)
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	agent := func(s Span) Span {
		s.SpanID, s.Version, s.Kind, s.StartTime = 1, 1, KindAgent, at(1)
		return s
	}
	call := func(id uint64, s Span) Span {
		s.SpanID, s.Version, s.ParentSpanID, s.Kind, s.StartTime = id, id, 1, KindLLM, at(int64(id))
		return s
	}
	for name, test := range map[string]struct {
		spans  []Span
		want   *float64
		source string
		left   uint64 // calls that the cost leaves out
	}{
		"computed on every call": {[]Span{
			agent(Span{}),
			call(2, Span{InputTokens: &tokens, CostUSD: usd(0.25), CostSource: CostComputed}),
			call(3, Span{InputTokens: &tokens, CostUSD: usd(0.5), CostSource: CostComputed}),
		}, usd(0.75), CostComputed, 0},
		"a roll-up's price is not paid again": {[]Span{
			agent(Span{InputTokens: &tokens, CostUSD: usd(9), CostSource: CostComputed}),
			call(2, Span{InputTokens: &tokens, CostUSD: usd(0.25), CostSource: CostComputed}),
		}, usd(0.25), CostComputed, 0},
		"not even where the price of the call itself is unknown": {[]Span{
			agent(Span{InputTokens: &tokens, CostUSD: usd(9), CostSource: CostComputed}),
			call(2, Span{InputTokens: &tokens, RequestModel: "unknown"}),
		}, nil, "", 1},
		"but where no call names its model": {[]Span{
			agent(Span{InputTokens: &tokens, CostUSD: usd(9), CostSource: CostComputed}),
			call(2, Span{InputTokens: &tokens}),
			call(3, Span{InputTokens: &tokens}),
		}, usd(9), CostComputed, 0},
		"where the agent alone knows": {[]Span{
			agent(Span{InputTokens: &tokens, CostUSD: usd(9), CostSource: CostComputed}),
			call(2, Span{}),
		}, usd(9), CostComputed, 0},
		"the client's sum of an agent whose calls carry tokens only": {[]Span{
			agent(Span{CostUSD: usd(9), CostSource: CostSent}),
			call(2, Span{InputTokens: &tokens}),
		}, usd(9), CostSent, 0},
		"sent by one call, computed for another": {[]Span{
			agent(Span{}),
			call(2, Span{InputTokens: &tokens, CostUSD: usd(0.25), CostSource: CostSent}),
			call(3, Span{InputTokens: &tokens, CostUSD: usd(0.5), CostSource: CostComputed}),
		}, usd(0.75), CostComputed, 0},
		"nothing is known": {[]Span{agent(Span{}), call(2, Span{InputTokens: &tokens})}, nil, "", 1},
		"a call that is free": {[]Span{
			agent(Span{}), call(2, Span{InputTokens: &tokens, CostUSD: usd(0), CostSource: CostComputed}),
		}, usd(0), CostComputed, 0},
		"the price of one of two calls is unknown": {[]Span{
			agent(Span{InputTokens: &tokens}),
			call(2, Span{InputTokens: &tokens, CostUSD: usd(0.25), CostSource: CostComputed}),
			call(3, Span{InputTokens: &tokens}),
		}, usd(0.25), CostComputed, 1},
		"a call that failed before any token has no price to know": {[]Span{
			agent(Span{}),
			call(2, Span{InputTokens: &tokens, CostUSD: usd(0.25), CostSource: CostComputed}),
			call(3, Span{}),
		}, usd(0.25), CostComputed, 0},
	} {
		run := Totals(test.spans)
		assert.Equal(t, test.want, run.CostUSD, name)
		assert.Equal(t, test.source, run.CostSource, name)
		assert.Equal(t, test.left, run.UnpricedCallCount, name)
	}
}
