package client

import (
	"regexp"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
)

// wireNames are the parameters of the APIs by the names that Looptrace gives them. In a text, the first that occurs
// counts: longer names precede their parts.
var wireNames = []struct{ wire, parameter string }{
	{"max_completion_tokens", "max_output_tokens"},
	{"thinking.enabled.budget_tokens", "reasoning_effort"},
	{"output_config.format", "response_format"},
	{"output_config.effort", "reasoning_effort"},
	{"output_format", "response_format"},
	{"response_format", "response_format"},
	{"json_schema", "response_format"},
	{"structured output", "response_format"},
	{"parallel_tool_calls", "parallel_tool_calls"},
	{"disable_parallel_tool_use", "parallel_tool_calls"},
	{"tool_choice", "tool_choice"},
	{"stream_options", "stream_options"},
	{"reasoning_effort", "reasoning_effort"},
	{"temperature", "temperature"},
	{"top_p", "top_p"},
	{"stop_sequences", "stop"},
	{"max_tokens", "max_output_tokens"},
	{"thinking", "reasoning_effort"},
	{"effort", "reasoning_effort"},
	{"seed", "seed"},
	{"tools", "tools"},
	{"tool use", "tools"},
	{"tool calling", "tools"},
	{"system", "messages"},
	{"messages", "messages"},
	{"streaming", "stream"},
}

// exactNames are parameters whose names are too common to be looked for in a text.
var exactNames = map[string]string{"stop": "stop", "model": "model", "stream": "stream", "output_config": "reasoning_effort"}

// unsupported are the words by which servers say that they do not take a parameter at all.
var unsupported = regexp.MustCompile(`(?i)unsupported|not support|unrecognized|unknown|unexpected keyword|extra inputs|not permitted|not allowed|not available|deprecated|not implemented|no longer`)

// outOfRange are the words about a value of a parameter that is taken.
var outOfRange = regexp.MustCompile(`(?i)range|too (large|small|high|low)|(greater|less) than|at (most|least)|(maximum|minimum) value`)

// quotedName is how texts name a parameter: 'temperature', "seed" or `max_tokens`.
var quotedName = regexp.MustCompile("['\"`]([a-z][a-z0-9_]*)(?:[.\\[][a-z0-9_.\\[\\]]*)?['\"`]")

// pathName is how Anthropic names a parameter: "output_config.format: …".
var pathName = regexp.MustCompile(`^([a-z][a-z0-9_]*(?:\.[a-zA-Z0-9_]+)*): `)

// explain names the parameter at fault, and says what to change.
func explain(e *llm.Error, c *call, r wire.Refusal) {
	e.Parameter = parameterOf(c, r)
	e.Unsupported = unsupported.MatchString(r.Message) && !outOfRange.MatchString(r.Message) || r.Code == "unsupported_parameter" || r.Code == "unknown_parameter"
	e.Suggestion = suggestion(e, c, r)
}

func parameterOf(c *call, r wire.Refusal) string {
	candidates := []string{r.Param}
	if path := pathName.FindStringSubmatch(r.Message); path != nil {
		candidates = append(candidates, path[1])
	}
	for _, quoted := range quotedName.FindAllStringSubmatch(r.Message, -1) {
		candidates = append(candidates, quoted[1])
	}
	for _, name := range candidates {
		if found := ourName(c, name); found != "" {
			return found
		}
	}
	lower := strings.ToLower(r.Message)
	for _, known := range wireNames {
		if strings.Contains(lower, known.wire) {
			return known.parameter
		}
	}
	return ""
}

// ourName returns our name of a parameter of an API, or "".
func ourName(c *call, name string) string {
	if name == "" {
		return ""
	}
	root, _, _ := strings.Cut(strings.ReplaceAll(name, "[", "."), ".")
	if c.request != nil && wire.HasExtra(c.request, root) {
		return "extra." + root
	}
	for _, known := range wireNames {
		if name == known.wire || strings.HasPrefix(name, known.wire+".") || strings.HasPrefix(name, known.wire+"[") {
			return known.parameter
		}
	}
	return exactNames[root]
}

// suggestion says what to change for a parameter that was refused, or is empty.
func suggestion(e *llm.Error, c *call, r wire.Refusal) string {
	lower := strings.ToLower(r.Message)
	switch e.Parameter {
	case "max_output_tokens":
		return tokenSuggestion(c, lower)
	case "response_format":
		return formatSuggestion(e, c)
	case "temperature", "top_p":
		if strings.Contains(lower, "thinking") {
			return "Leave out " + e.Parameter + " or reasoning_effort: with thinking, only the default is taken."
		}
		if outOfRange.MatchString(lower) {
			return "Set " + e.Parameter + " within the range that the model takes."
		}
		return "Leave out " + e.Parameter + ": this model takes only its default."
	case "reasoning_effort":
		if strings.Contains(lower, "adaptive") {
			return `This model does not decide itself how much it thinks. Leave out reasoning_effort, or set extra.thinking to {"type": "enabled", "budget_tokens": 2048}.`
		}
		if strings.Contains(lower, "tool_choice") {
			return "Leave out reasoning_effort, or the tool choice: thinking and a forced tool exclude each other."
		}
		return "Leave out reasoning_effort, or choose a model that reasons and takes this effort."
	case "tool_choice":
		if strings.Contains(lower, "thinking") && c.structure != nil && c.structure.Tool != "" {
			return "This model thinks, and thinking and a forced tool exclude each other: ask by another strategy, or set reasoning_effort to none."
		}
		if strings.Contains(lower, "thinking") {
			return "Leave out reasoning_effort, or the tool choice: thinking and a forced tool exclude each other."
		}
	case "tools":
		if e.Unsupported {
			return "This model cannot call tools: leave out tools, or choose another model."
		}
	case "seed", "stop", "parallel_tool_calls":
		if e.Unsupported {
			return "Leave out " + e.Parameter + "."
		}
	case "stream_options":
		return "This server does not take stream_options: without it, its streams tell no usage."
	}
	if name, extra := strings.CutPrefix(e.Parameter, "extra."); extra && e.Unsupported {
		return "Leave out " + name + " in extra."
	}
	return ""
}

func tokenSuggestion(c *call, lower string) string {
	other := llm.MaxCompletionTokens
	if c.request != nil && c.request.TokenParameter != llm.MaxTokens {
		other = llm.MaxTokens
	}
	named := strings.Contains(lower, string(llm.MaxCompletionTokens)) && strings.Contains(lower, string(llm.MaxTokens)+"'")
	switch {
	case named && other == llm.MaxCompletionTokens:
		return "This model takes max_completion_tokens, not max_tokens."
	case unsupported.MatchString(lower) && other == llm.MaxTokens && !outOfRange.MatchString(lower) && strings.Contains(lower, string(llm.MaxCompletionTokens)):
		return "This server takes max_tokens, not max_completion_tokens."
	case strings.Contains(lower, "budget_tokens"):
		return "Raise max_output_tokens above the budget of thinking."
	}
	return "Set max_output_tokens within the range that the model takes."
}

func formatSuggestion(e *llm.Error, c *call) string {
	if !e.Unsupported || c.structure == nil {
		return "Correct the response format as the message says."
	}
	switch c.structure.Strategy {
	case llm.Native:
		if c.structure.Any {
			return "This model has no JSON mode: ask for a JSON schema, or for JSON in the messages."
		}
		return "This model does not follow JSON schemas by itself: ask by the strategy tool, json_mode or text."
	case llm.JSONMode:
		return "This model has no JSON mode: ask by the strategy tool or text."
	case llm.Tool, llm.Text:
	}
	return ""
}
