package providers

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/prices"
)

// hosts are addresses whose models have the prices of a provider, by the name that spans use for it.
var hosts = map[string]string{
	"api.openai.com":                    "openai",
	"api.anthropic.com":                 "anthropic",
	"api.mistral.ai":                    "mistral_ai",
	"api.groq.com":                      "groq",
	"api.deepseek.com":                  "deepseek",
	"api.x.ai":                          "x_ai",
	"api.together.xyz":                  "together_ai",
	"api.fireworks.ai":                  "fireworks_ai",
	"api.perplexity.ai":                 "perplexity",
	"api.cohere.ai":                     "cohere",
	"api.cerebras.ai":                   "cerebras",
	"openrouter.ai":                     "openrouter",
	"generativelanguage.googleapis.com": "gcp.gemini",
}

// hostSuffixes are ends of addresses that begin with a customer's name or a region.
var hostSuffixes = map[string]string{".azure.com": "azure.ai.openai", ".api.openai.com": "openai", ".aiplatform.googleapis.com": "gcp.vertex_ai"}

// selfHosted is the provider of other addresses. The price table does not have it, so that a model of one's own does not get the price
// of a famous one of its name. A project may have prices for it, or for every provider.
const selfHosted = "self_hosted"

// providerName returns the name that spans use for the provider at an address.
func providerName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return selfHosted
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if name, ok := hosts[host]; ok {
		return name
	}
	for suffix, name := range hostSuffixes {
		if strings.HasSuffix(host, suffix) {
			return name
		}
	}
	return selfHosted
}

const (
	// messageTokens is more than the tokens that any API adds to a message.
	messageTokens = 16
	// overheadTokens is more than what an API adds for tools and schemas.
	overheadTokens = 2000
	// imageTokens is more than the tokens of an image.
	imageTokens = 6000
)

// most returns the most that a call can cost: tokenizers of these models make no more tokens of a text than it has bytes, and the
// dearest rate of the price applies to all. It returns nil without a price.
func most(price *prices.Price, r *llm.Request) *Money {
	if price == nil || r.MaxOutputTokens == nil {
		return nil
	}
	input := int64(overheadTokens)
	for _, message := range r.Messages {
		input += messageTokens + inputBound(message)
	}
	for _, tool := range r.Tools {
		input += int64(len(tool))
	}
	input += int64(len(r.ResponseFormat) + len(r.Extra))
	in, out := dearest(price)
	bound := MoneyOf((float64(input)*in + float64(*r.MaxOutputTokens)*out) / 1e6)
	return &bound
}

// dearest returns the highest prices of a million tokens of input and of output.
func dearest(price *prices.Price) (input, output float64) {
	rates := []prices.Rates{price.Rates}
	for _, tier := range price.Tiers {
		rates = append(rates, tier.Rates)
	}
	for _, r := range rates {
		input = max(input, r.Input, orZero(r.CacheWrite), orZero(r.CacheWrite1h), orZero(r.CacheRead))
		output = max(output, r.Output, orZero(r.Reasoning))
	}
	return input, output
}

func orZero(rate *float64) float64 {
	if rate == nil {
		return 0
	}
	return *rate
}

// inputBound returns more than the tokens of a message. The bytes of an image in it are no tokens.
func inputBound(message json.RawMessage) int64 {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	var parts []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m.Content, &parts) != nil {
		return int64(len(message))
	}
	var raw []json.RawMessage
	if json.Unmarshal(m.Content, &raw) != nil {
		return int64(len(message))
	}
	bound := int64(len(message))
	for i, part := range parts {
		if part.Type == "image_url" {
			bound += imageTokens - int64(len(raw[i]))
		}
	}
	return bound
}

// cost returns what a call cost, or nil if that is unknown.
func cost(price *prices.Price, usage *llm.Usage) *Money {
	if price == nil || usage == nil || usage.Input == nil || usage.Output == nil {
		return nil
	}
	paid := MoneyOf(price.Cost(prices.Usage{
		Input: *usage.Input, Output: *usage.Output, CacheRead: orNone(usage.CacheRead), CacheWrite: orNone(usage.CacheWrite),
		CacheWrite1h: orNone(usage.CacheWrite1h), Reasoning: orNone(usage.Reasoning),
	}))
	return &paid
}

func orNone(tokens *int64) int64 {
	if tokens == nil {
		return 0
	}
	return *tokens
}

// SpanName returns the name that spans use for the provider.
func (p *Provider) SpanName() string { return providerName(p.BaseURL) }
