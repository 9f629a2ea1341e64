package genaispans

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestUsageOf reads usages as clients and providers send them. -1 is unknown.
func TestUsageOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sent  string
		apart bool
		want  string // input output total, cached read and written, an hour, reasoning
	}{
		"OpenAI":                             {`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60,"audio_tokens":3},"completion_tokens_details":{"reasoning_tokens":20,"accepted_prediction_tokens":9}}`, false, "100 50 150 60 -1 -1 20"},
		"OpenAI's Responses":                 {`{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":150}`, true, "100 50 150 60 -1 -1 20"},
		"Anthropic":                          {`{"input_tokens":5,"cache_creation_input_tokens":40,"cache_read_input_tokens":50,"output_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":30},"server_tool_use":{"web_search_requests":2}}`, true, "95 7 -1 50 40 30 -1"},
		"Bedrock":                            {`{"inputTokens":5,"outputTokens":7,"totalTokens":62,"cacheReadInputTokens":50,"cacheWriteInputTokens":0}`, false, "55 7 62 50 0 -1 -1"},
		"Gemini":                             {`{"promptTokenCount":200,"candidatesTokenCount":40,"thoughtsTokenCount":60,"toolUsePromptTokenCount":900,"cachedContentTokenCount":100,"totalTokenCount":1200,"promptTokensDetails":[{"modality":"TEXT","tokenCount":200}]}`, false, "1100 100 1200 100 -1 -1 60"},
		"Gemini without its tools' results":  {`{"prompt_token_count":200,"candidates_token_count":40,"thoughts_token_count":60,"total_token_count":300}`, false, "200 100 300 -1 -1 -1 60"},
		"LangChain":                          {`{"input_tokens":100,"output_tokens":50,"total_tokens":150,"input_token_details":{"cache_read":60,"cache_creation":10,"ephemeral_1h_input_tokens":10},"output_token_details":{"reasoning":20,"audio":1}}`, false, "100 50 150 60 10 10 20"},
		"Langfuse's buckets":                 {`{"input":30,"input_cached_tokens":60,"input_audio":10,"output":20,"output_reasoning":30,"total":150}`, true, "100 50 150 60 -1 -1 30"},
		"Langfuse's buckets, no total":       {`{"input":30,"input_cached_tokens":10,"output":20}`, true, "40 20 -1 10 -1 -1 -1"},
		"Langfuse with OpenAI's names":       {`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"input_cached_tokens":60}`, true, "100 50 150 60 -1 -1 -1"},
		"the same by modality":               {`{"input":100,"input_modality_TEXT":90,"input_modality_AUDIO":10,"output":5}`, true, "100 5 -1 -1 -1 -1 -1"},
		"DeepSeek":                           {`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_cache_hit_tokens":60,"prompt_cache_miss_tokens":40}`, false, "100 50 150 60 -1 -1 -1"},
		"only what was not cached":           {`{"noCacheTokens":40,"cacheReadTokens":60,"outputTokens":5}`, false, "100 5 -1 60 -1 -1 -1"},
		"Ollama":                             {`{"prompt_eval_count":26,"eval_count":298,"eval_duration":4799921000,"total_duration":5043500667}`, false, "26 298 -1 -1 -1 -1 -1"},
		"details as text":                    {`{"input_tokens":100,"output_tokens":5,"input_tokens_details":"{\"cached_tokens\":60}"}`, false, "100 5 -1 60 -1 -1 -1"},
		"details as Python prints them":      {`{"input_tokens":100,"output_tokens":5,"input_tokens_details":"{'cached_tokens': 60}"}`, false, "100 5 -1 60 -1 -1 -1"},
		"reasoning above the output":         {`{"input_tokens":100,"output_tokens":5,"reasoning_tokens":60}`, false, "100 65 -1 -1 -1 -1 60"},
		"only the total":                     {`{"total":100}`, true, "-1 -1 100 -1 -1 -1 -1"},
		"an embedding":                       {`{"tokens":8}`, false, "-1 -1 8 -1 -1 -1 -1"},
		"parts alone are no sum":             {`{"cachedPromptTokens":8,"reasoningTokens":3}`, false, "-1 -1 -1 8 -1 -1 3"},
		"the same count twice":               {`{"cache_read_input_tokens":8,"cacheReadInputTokens":8,"input_tokens":10,"inputTokens":10}`, false, "10 -1 -1 8 -1 -1 -1"},
		"no tokens":                          {`{"input_cost":3,"requests":2,"input_characters":9,"duration_ms":3,"limit":8}`, true, "-1 -1 -1 -1 -1 -1 -1"},
		"negative, broken and absent counts": {`{"input":-4,"output":"many","total":null}`, true, "-1 -1 -1 -1 -1 -1 -1"},
	} {
		o, ok := parseObject(test.sent)
		assert.True(t, ok, name)
		u := usageOf(o, test.apart)
		assert.Equal(t, test.want, strings.Trim(fmt.Sprint([]int64{u.input, u.output, u.total, u.cacheRead, u.cacheWrite, u.cache1h, u.reasoning}), "[]"), name)
	}
}

// TestUsageOfUnknownBuckets adds up buckets of made-up names. Whatever they are called, no part exceeds its whole, and with
// a total of all of them nothing is lost.
func TestUsageOfUnknownBuckets(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	suffixes := []string{"", "_flex", "_priority", "Batch", "_modality_VIDEO", "_tier_3", "_zyx", "_über", "_eu-west-1"}
	kinds := []string{"", "_cache_read", "_cached", "_cache_creation_1h", "_cache_write_5m"}
	for range 5000 {
		var members []string
		input, output, cached, written, thought := int64(0), int64(0), int64(0), int64(0), int64(0)
		used := map[string]bool{}
		for range 1 + random.IntN(6) {
			n := random.Int64N(1000)
			suffix := suffixes[random.IntN(len(suffixes))]
			name := "input" + suffix + kinds[random.IntN(len(kinds))]
			isOutput := random.IntN(3) == 0
			if isOutput {
				name = "output" + suffix + []string{"", "_reasoning"}[random.IntN(2)]
			}
			if used[name] || strings.HasSuffix(name, "_cached") && used[strings.TrimSuffix(name, "_cached")+"_cache_read"] ||
				strings.HasSuffix(name, "_cache_read") && used[strings.TrimSuffix(name, "_cache_read")+"_cached"] {
				continue // another spelling of the same count
			}
			used[name] = true
			switch {
			case strings.Contains(name, "reasoning"):
				thought += n
			case strings.Contains(name, "cache_creation"), strings.Contains(name, "cache_write"):
				written += n
			case strings.Contains(name, "cache"):
				cached += n
			}
			if isOutput {
				output += n
			} else {
				input += n
			}
			members = append(members, fmt.Sprintf("%q:%d", name, n))
		}
		members = append(members, `"input":0`, `"output":0`, fmt.Sprintf(`"total":%d`, input+output))
		if used["input"] || used["output"] {
			continue
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		sent := "{" + strings.Join(members, ",") + "}"
		o, ok := parseObject(sent)
		assert.True(t, ok, sent)
		u := usageOf(o, true)
		if !assert.Equal(t, []int64{input, output, input + output}, []int64{u.input, u.output, u.total}, sent) {
			return
		}
		assert.LessOrEqual(t, max(u.cacheRead, 0)+max(u.cacheWrite, 0), u.input, sent)
		assert.LessOrEqual(t, u.reasoning, u.output, sent)
		assert.Equal(t, []int64{cached, written, thought}, []int64{max(u.cacheRead, 0), max(u.cacheWrite, 0), max(u.reasoning, 0)}, sent)
	}
}

// FuzzUsageOf feeds any object. A part that exceeds its whole means that the whole excludes it.
func FuzzUsageOf(f *testing.F) {
	f.Add(`{"input":1,"input_cached":5,"output":2,"thoughts_token_count":9,"total":3}`)
	f.Add(`{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, ok := parseObject(text)
		if !ok {
			return
		}
		for _, apart := range []bool{false, true} {
			u := usageOf(o, apart)
			if u.input >= 0 && max(u.cacheRead, 0)+max(u.cacheWrite, 0) > u.input || u.output >= 0 && u.reasoning > u.output || u.cache1h > max(u.cacheWrite, 0) {
				t.Errorf("%s: %+v", text, u)
			}
		}
	})
}
