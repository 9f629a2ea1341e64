package prices

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	summer = time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	autumn = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

func TestTable(t *testing.T) {
	t.Parallel()
	table, err := parse(tableYAML)
	require.NoError(t, err)
	_, err = time.Parse(time.DateOnly, table.Version)
	require.NoError(t, err, "the version is a day")
	require.Greater(t, len(table.Prices), 500)
	seen := map[string]bool{}
	for _, p := range table.Prices {
		key := p.Provider + " " + p.Pattern + " " + p.From.String()
		assert.False(t, seen[key], "twice: %s", key)
		seen[key] = true
		if p.Provider != "openrouter" { // what is free elsewhere is not in the table, but may be a project's override
			assert.Positive(t, p.Input, key)
		}
		assert.True(t, strings.HasPrefix(p.Source, "https://"), key)
		if p.CacheRead != nil {
			assert.LessOrEqual(t, *p.CacheRead, p.Input, key)
		}
		for _, tier := range p.Tiers {
			assert.Greater(t, tier.Input, p.Input, key)
		}
	}
	for _, p := range table.providers {
		for _, other := range p.Also {
			assert.Contains(t, table.providers, other)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no version":             `{unit: 1000000, providers: []}`,
		"other unit":             `{version: a, unit: 1000, providers: []}`,
		"unknown key":            `{version: a, unit: 1000000, providers: [{id: a, models: [{models: [m], inptu: 1}]}]}`,
		"negative":               `{version: a, unit: 1000000, providers: [{id: a, models: [{models: [m], input: -1}]}]}`,
		"not a number":           `{version: a, unit: 1000000, providers: [{id: a, models: [{models: [m], input: .nan}]}]}`,
		"upper case":             `{version: a, unit: 1000000, providers: [{id: a, models: [{models: [M], input: 1}]}]}`,
		"one name two providers": `{version: a, unit: 1000000, providers: [{id: a, names: [x]}, {id: b, names: [x]}]}`,
		"tiers fall":             `{version: a, unit: 1000000, providers: [{id: a, models: [{models: [m], input: 1, tiers: [{above: 2, input: 1}, {above: 1, input: 1}]}]}]}`,
	} {
		_, err := parse([]byte(text))
		assert.Error(t, err, name)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider, model string
		at              time.Time
		want            string // provider pattern input, or empty
	}{
		{"openai", "gpt-4o", autumn, "openai gpt-4o 2.5"},
		{"OpenAI", " GPT-4o ", autumn, "openai gpt-4o 2.5"},
		{"openai", "gpt-4o-2024-08-06", autumn, "openai gpt-4o 2.5"},
		{"openai", "gpt-4o-2024-05-13", autumn, "openai gpt-4o-2024-05-13 5"}, // the exact name wins
		{"openai", "gpt-4o-mini-2024-07-18", autumn, "openai gpt-4o-mini 0.15"},
		{"openai", "gpt-5.9", autumn, ""}, // a new model does not have the old one's price
		{"openai", "gpt-4o-audio-preview", autumn, ""},
		{"openai", "ft:gpt-4o-mini-2024-07-18:acme:support:AbC123", autumn, "openai ft:gpt-4o-mini 0.3"},
		{"openai", "ft:gpt-3.5-turbo-0125:acme::x", autumn, "openai ft:gpt-3.5-turbo-* 3"},
		{"openai.responses", "gpt-5-2025-08-07", autumn, "openai gpt-5 1.25"},
		{"openai", "gpt-5-chat-latest", autumn, "openai gpt-5-chat 1.25"},
		{"", "gpt-4.1-mini", autumn, "openai gpt-4.1-mini 0.4"},
		{"openrouter", "openai/gpt-5-mini", autumn, "openai gpt-5-mini 0.25"},
		{"openrouter", "openai/gpt-4o-mini:nitro", autumn, "openai gpt-4o-mini 0.15"},
		{"openrouter", "anthropic/claude-sonnet-4.5:thinking", autumn, "anthropic claude-sonnet-4.5 3"},
		{"openrouter", "meta-llama/llama-3.3-70b-instruct:free", autumn, "openrouter *:free 0"},
		{"", "openrouter/deepseek/deepseek-chat:free", autumn, "openrouter *:free 0"},
		{"together_ai", "meta-llama/llama-3.3-70b-instruct:free", autumn, ""},        // its provider does not say so
		{"openrouter", "openai/gpt-4o-mini:online", autumn, ""},                      // its searches cost more
		{"openai", "google/gemini-2.5-flash", autumn, "google gemini-2.5-flash 0.3"}, // OpenAI's protocol, a different provider's model
		{"openai", "deepseek-chat", autumn, "deepseek deepseek-chat 0.28"},
		{"", "openai:gpt-4o", autumn, "openai gpt-4o 2.5"},

		{"azure.ai.openai", "gpt-4o-2024-11-20", autumn, "openai gpt-4o 2.5"},
		{"azure", "azure/gpt-35-turbo", autumn, "openai gpt-35-turbo 0.5"},
		{"", "azure/gpt-4o", autumn, "openai gpt-4o 2.5"},
		{"azure.ai.openai", "my-deployment", autumn, ""},

		{"anthropic", "claude-3-5-sonnet-20241022", autumn, "anthropic claude-3-5-sonnet 3"},
		{"anthropic", "claude-3-5-sonnet-latest", autumn, "anthropic claude-3-5-sonnet 3"},
		{"anthropic", "claude-opus-4-6[1m]", autumn, "anthropic claude-opus-4-6 5"},
		{"anthropic", "claude-sonnet-4-5-20250929[1m]", autumn, "anthropic claude-sonnet-4-5 3"},
		{"anthropic", "claude-opus-4-5-20251101", autumn, "anthropic claude-opus-4-5 5"},
		{"anthropic", "claude-opus-4-20250514", autumn, "anthropic claude-opus-4 15"},
		{"anthropic", "claude-sonnet-5", summer, "anthropic claude-sonnet-5 2"},
		{"anthropic", "claude-sonnet-5", autumn, "anthropic claude-sonnet-5 2"},
		{"openai", "gpt-5.6-sol", time.Date(2026, 8, 20, 23, 59, 59, 999999999, time.UTC), "openai gpt-5.6-sol 5"},
		{"openai", "gpt-5.6-sol", time.Date(2026, 8, 21, 0, 0, 0, 0, time.UTC), "openai gpt-5.6-sol 4"},
		{"openai", "gpt-6.2-sol", autumn, "openai gpt-6.2-sol 2"},
		{"anthropic", "claude-haiku-5-5-20261007", autumn, "anthropic claude-haiku-5-5 0.1"},

		{"aws.bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", autumn, "bedrock anthropic.claude-sonnet-4-5 3.3"},
		{"aws.bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", autumn, "bedrock global.anthropic.claude-sonnet-4-5 3"},
		{"aws.bedrock", "anthropic.claude-3-5-sonnet-20241022-v2:0", autumn, "bedrock anthropic.claude-3-5-sonnet 3"},
		{"aws.bedrock", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0", autumn, "bedrock anthropic.claude-haiku-4-5 1.1"},
		{"aws.bedrock", "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", autumn, "bedrock amazon.nova-pro 0.8"},
		{"aws.bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", autumn, ""},
		{"aws.bedrock", "amazon.titan-embed-text-v2:0", autumn, "bedrock amazon.titan-embed-text-v2 0.02"},
		{"aws.bedrock", "meta.llama3-3-70b-instruct-v1:0", autumn, "bedrock meta.llama3-3-70b-instruct 0.72"},
		{"", "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", autumn, "bedrock anthropic.claude-haiku-4-5 1.1"},
		{"anthropic", "us.anthropic.claude-haiku-4-5-20251001-v1:0", autumn, "bedrock anthropic.claude-haiku-4-5 1.1"},

		{"gcp.gemini", "models/gemini-2.0-flash-001", autumn, "google gemini-2.0-flash 0.1"},
		{"gcp.vertex_ai", "publishers/google/models/gemini-2.5-pro", autumn, "google gemini-2.5-pro 1.25"},
		{"", "projects/p-1/locations/europe-central2/publishers/google/models/gemini-2.5-flash", autumn, "google gemini-2.5-flash 0.3"},
		{"gcp.vertex_ai", "claude-3-5-sonnet-v2@20241022", autumn, "anthropic claude-3-5-sonnet 3"},
		{"google-gla", "gemini-2.5-pro-preview-05-06", autumn, "google gemini-2.5-pro-preview-* 1.25"},
		{"gcp.gemini", "gemini-2.5-flash-image", autumn, ""},

		{"groq", "openai/gpt-oss-120b", autumn, "groq openai/gpt-oss-120b 0.15"}, // not OpenAI's
		{"groq", "llama-3.1-8b-instant", autumn, "groq llama-3.1-8b-instant 0.05"},
		{"", "groq/llama-3.3-70b-versatile", autumn, "groq llama-3.3-70b-versatile 0.59"},
		{"together_ai", "meta-llama/Llama-3.3-70B-Instruct-Turbo", autumn, "together meta-llama/llama-3.3-70b-instruct-turbo 0.88"},
		{"fireworks", "accounts/fireworks/models/kimi-k2p6", autumn, "fireworks accounts/fireworks/models/kimi-k2p6 0.95"},
		{"mistral_ai", "mistral-large-latest", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), "mistral mistral-large-latest 2"},
		{"mistral_ai", "mistral-large-latest", autumn, "mistral mistral-large-latest 0.5"},
		{"x_ai", "grok-4-latest", autumn, "xai grok-4 3"},
		{"cohere", "command-r-plus-08-2024", autumn, "cohere command-r-plus-08-2024 2.5"},
		{"deepseek", "deepseek-chat", time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), "deepseek deepseek-chat 0.27"},
		{"perplexity", "sonar-pro", autumn, "perplexity sonar-pro 3"},
		{"dashscope", "qwen-max", autumn, "qwen qwen-max 1.6"},

		// Models that anybody may host have no provider's price.
		{"ollama", "deepseek-r1", autumn, ""},
		{"ollama", "gpt-4o", autumn, ""},
		{"", "mistral-nemo", autumn, ""},
		{"vllm", "mistralai/Mistral-7B-Instruct-v0.2", autumn, ""},
		{"openai", "llama3.2", autumn, ""},

		{"", "", autumn, ""},
		{"openai", "", autumn, ""},
		{"openai", strings.Repeat("a/", 127), autumn, ""},
		{"openai", strings.Repeat("x", 1<<20), autumn, ""},
		{"openai", "\xff\xfe", autumn, ""},
	} {
		got := Default().Matcher().Find(test.provider, test.model, test.at)
		if test.want == "" {
			assert.Nil(t, got, "%s %.80s", test.provider, test.model)
			continue
		}
		want := strings.Fields(test.want)
		if assert.NotNil(t, got, "%s %s", test.provider, test.model) {
			assert.Equal(t, want, []string{got.Provider, got.Pattern, trim(got.Input)}, "%s %s", test.provider, test.model)
		}
	}
}

func TestPriceTakesTheModelThatAnswered(t *testing.T) {
	t.Parallel()
	m := Default().Matcher()
	find := func(request, response string) *Price {
		return m.Price(&Call{Provider: "openai", RequestModel: request, ResponseModel: response, Start: autumn})
	}
	assert.Equal(t, "gpt-4o-mini", find("gpt-4o", "gpt-4o-mini-2024-07-18").Pattern)
	assert.Equal(t, "gpt-4o", find("gpt-4o", "").Pattern)
	assert.Equal(t, "gpt-4o", find("gpt-4o", "nobody-knows").Pattern)
	assert.Nil(t, find("nobody", "nobody"))
	assert.Nil(t, find("", ""))
}

// Costs of calls, computed by hand from the providers' lists.
func TestCost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, provider, model string
		usage                 Usage
		want                  float64
	}{
		{
			"plain", "openai", "gpt-4o",
			Usage{Input: 1000, Output: 500},
			1000*2.5e-6 + 500*10e-6, // 0.0075
		},
		{
			"cached input is part of the input", "openai", "gpt-4o",
			Usage{Input: 2006, CacheRead: 1920, Output: 300},
			86*2.5e-6 + 1920*1.25e-6 + 300*10e-6, // 0.005615
		},
		{
			"reasoning is part of the output", "openai", "o3-mini",
			Usage{Input: 100, Output: 1000, Reasoning: 800},
			100*1.1e-6 + 1000*4.4e-6, // 0.00451
		},
		{
			"both kinds of caching", "anthropic", "claude-sonnet-4-5",
			Usage{Input: 10394, CacheRead: 4482, CacheWrite: 5734, Output: 200},
			178*3e-6 + 4482*0.3e-6 + 5734*3.75e-6 + 200*15e-6, // 0.0263811
		},
		{
			"written for an hour", "anthropic", "claude-opus-4-5",
			Usage{Input: 3000, CacheWrite: 2000, CacheWrite1h: 500, Output: 10},
			1000*5e-6 + 1500*6.25e-6 + 500*10e-6 + 10*25e-6, // 0.019625
		},
		{
			"a cache that writes at the price of input", "openai", "gpt-4.1",
			Usage{Input: 1000, CacheWrite: 400, Output: 0},
			1000 * 2e-6,
		},
		{
			"at the edge of the tier", "google", "gemini-2.5-pro",
			Usage{Input: 200_000, Output: 100},
			200_000*1.25e-6 + 100*10e-6, // 0.251
		},
		{
			"beyond it the whole call", "google", "gemini-2.5-pro",
			Usage{Input: 200_001, CacheRead: 150_000, Output: 100},
			50_001*2.5e-6 + 150_000*0.25e-6 + 100*15e-6, // 0.1640025
		},
		{
			"the highest of several tiers", "qwen", "qwen3-max",
			Usage{Input: 130_000, Output: 1},
			130_000*3e-6 + 15e-6,
		},
		{"embedding", "openai", "text-embedding-3-small", Usage{Input: 8}, 8 * 0.02e-6},
		{"regional inference profile", "aws.bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Usage{Input: 1_000_000, Output: 1_000_000}, 3.3 + 16.5},
		{
			"a part larger than its whole was counted beside it", "anthropic", "claude-haiku-4-5",
			Usage{Input: 4, CacheRead: 29447, Output: 10},
			29447*0.1e-6 + 10*5e-6,
		},
		{"nothing", "openai", "gpt-4o", Usage{}, 0},
		{"negative counts are none", "openai", "gpt-4o", Usage{Input: -5, CacheRead: -1, CacheWrite: -1, CacheWrite1h: -3, Output: -7, Reasoning: -2}, 0},
	} {
		price := Default().Matcher().Find(test.provider, test.model, autumn)
		require.NotNil(t, price, test.name)
		assert.InEpsilon(t, test.want+1, price.Cost(test.usage)+1, 1e-12, test.name)
	}
}

func TestCostProperties(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	all := Default().Prices
	for range 20_000 {
		price := all[source.IntN(len(all))]
		u := Usage{Input: source.Int64N(1 << 20), Output: source.Int64N(1 << 16)}
		u.CacheRead = source.Int64N(u.Input + 1)
		u.CacheWrite = source.Int64N(u.Input - u.CacheRead + 1)
		u.CacheWrite1h = source.Int64N(u.CacheWrite + 1)
		u.Reasoning = source.Int64N(u.Output + 1)
		cost := price.Cost(u)

		// Every token is counted once, at a rate between the lowest and the highest of its tier.
		r := price.Rates
		for _, tier := range price.Tiers {
			if u.Input > tier.Above {
				r = tier.Rates
			}
		}
		writeRate := or(r.CacheWrite, r.Input)
		in := []float64{r.Input, or(r.CacheRead, r.Input), writeRate, or(r.CacheWrite1h, writeRate)}
		out := []float64{r.Output, or(r.Reasoning, r.Output)}
		low := (float64(u.Input)*minOf(in) + float64(u.Output)*minOf(out)) / perTokens
		high := (float64(u.Input)*maxOf(in) + float64(u.Output)*maxOf(out)) / perTokens
		require.GreaterOrEqual(t, cost, low-1e-9, "%+v %+v", price, u)
		require.LessOrEqual(t, cost, high+1e-9, "%+v %+v", price, u)
		require.GreaterOrEqual(t, cost, 0.0)

		// Reading from a cache makes no call more expensive, and one more token makes none cheaper.
		uncached := u
		uncached.CacheRead = 0
		if price.CacheRead != nil && len(price.Tiers) == 0 {
			require.LessOrEqual(t, cost, price.Cost(uncached)+1e-9)
		}
		more := u
		more.Output++
		require.GreaterOrEqual(t, price.Cost(more), cost)

		// Any numbers: never negative, never NaN.
		wild := Usage{wildInt(source), wildInt(source), wildInt(source), wildInt(source), wildInt(source), wildInt(source)}
		anything := price.Cost(wild)
		require.False(t, math.IsNaN(anything) || anything < 0, "%+v costs %v", wild, anything)
	}
}

func wildInt(source *rand.Rand) int64 { return source.Int64N(1<<40) - 1<<39 }

func minOf(values []float64) float64 {
	least := values[0]
	for _, v := range values {
		least = min(least, v)
	}
	return least
}

func maxOf(values []float64) float64 {
	most := values[0]
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	half := 0.5
	matcher := Default().WithOverrides([]Override{
		{Provider: "openai", Model: "gpt-4o", Rates: Rates{Input: 1, Output: 4, CacheRead: &half}, Revision: 7},
		{Provider: "openai", Model: "gpt-4o", From: autumn, Rates: Rates{Input: 2, Output: 8}, Revision: 8},
		{Provider: "ollama", Model: "*", Rates: Rates{}, Revision: 9},
		{Model: "acme-*", Rates: Rates{Input: 3}, Revision: 10},
		{Model: "acme-large-*", Rates: Rates{Input: 30}, Revision: 11},
		{Provider: "azure.ai.openai", Model: "my-deployment", Rates: Rates{Input: 5}, Revision: 12},
		{Model: "claude-*-haiku*", Rates: Rates{Input: 6}, Revision: 13},
	})
	for _, test := range []struct {
		provider, model string
		at              time.Time
		want            string // version input, or empty
	}{
		{"openai", "gpt-4o-2024-08-06", summer, "project:7 1"},
		{"openai", "gpt-4o", autumn, "project:8 2"},
		{"", "gpt-4o", summer, "project:7 1"},
		{"azure.ai.openai", "gpt-4o", summer, "project:7 1"}, // Azure sells OpenAI's models
		{"openai", "gpt-4o-mini", summer, Default().Version + " 0.15"},
		{"ollama", "llama3.2:latest", summer, "project:9 0"},
		{"ollama", "gpt-4o", summer, "project:9 0"},
		{"anybody", "acme-small", summer, "project:10 3"},
		{"anybody", "acme-large-2", summer, "project:11 30"},
		{"azure", "my-deployment", summer, "project:12 5"},
		{"openai", "azure/my-deployment", summer, "project:12 5"},
		{"openai", "my-deployment", summer, ""},
		{"anthropic", "claude-3-5-haiku-20241022", summer, "project:13 6"},
		{"anthropic", "claude-3-5-sonnet-20241022", summer, Default().Version + " 3"},
	} {
		got := matcher.Find(test.provider, test.model, test.at)
		if test.want == "" {
			assert.Nil(t, got, test.model)
			continue
		}
		require.NotNil(t, got, "%s %s", test.provider, test.model)
		assert.Equal(t, test.want, got.Version+" "+trim(got.Input), "%s %s", test.provider, test.model)
	}
	assert.Same(t, Default().Matcher(), Default().WithOverrides(nil))
}

func TestOverrideValidate(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	o := Override{Provider: "A", Model: "**x***", Rates: Rates{Input: -1, Output: math.Inf(1), CacheRead: &nan}}
	var fields []string
	for _, err := range o.Validate().(interface{ Unwrap() []error }).Unwrap() {
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
		fields = append(fields, invalid.Field)
	}
	assert.Equal(t, []string{"model", "provider", "input", "output", "cache_read"}, fields)
	require.Error(t, (&Override{Model: " "}).Validate())

	o = Override{Provider: " OpenAI ", Model: "GPT-4o*", Rates: Rates{Input: 1}}
	o.Normalize()
	require.NoError(t, o.Validate())
	assert.Equal(t, "openai gpt-4o*", o.Provider+" "+o.Model)
}

func TestFindAllocatesNothingForAKnownName(t *testing.T) {
	m := Default().Matcher()
	allocations := testing.AllocsPerRun(100, func() {
		if m.Find("openai", "gpt-4o-mini-2024-07-18", autumn) == nil || m.Find("openai", "nobody-knows", autumn) != nil {
			t.Fatal("wrong price")
		}
	})
	assert.Zero(t, allocations)
}

func TestMemoryOfNamesIsBounded(t *testing.T) {
	t.Parallel()
	m := newMatcher(Default(), nil)
	for i := range 3 * maxRemembered {
		m.Find("openai", "model-"+trim(float64(i)), autumn)
	}
	assert.LessOrEqual(t, len(m.found), maxRemembered)
}

func FuzzFind(f *testing.F) {
	f.Add("openai", "ft:gpt-4o-mini-2024-07-18:a:b:c")
	f.Add("", "arn:aws:bedrock:us-east-1::foundation-model/us.anthropic.claude-3-haiku-20240307-v1:0")
	f.Add("azure", "////::::@@--latest-latest-v1:0")
	matcher := Default().WithOverrides([]Override{{Model: "*a*b*c*"}, {Provider: "x", Model: "*"}})
	f.Fuzz(func(t *testing.T, provider, model string) {
		first := matcher.Find(provider, model, autumn)
		if again := matcher.Find(provider, model, autumn); again != first {
			t.Fatalf("found %v, then %v", first, again)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	m := Default().Matcher()
	b.ReportAllocs()
	for b.Loop() {
		m.Find("aws.bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", autumn)
	}
}

func trim(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
