package judge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Status is what became of a vote. Only a vote that is ok has a value.
type Status string

// The statuses. The last two are of calls that gave no answer: the caller sets them.
const (
	StatusOK Status = "ok"
	// StatusParseError is an answer without a value that could be read, also one that was cut at the limit of tokens.
	StatusParseError Status = "parse_error"
	// StatusRefused is an answer that the model or the provider's filter refused.
	StatusRefused Status = "refused"
	// StatusOffScale is a value that is not on the scale.
	StatusOffScale      Status = "off_scale"
	StatusTimeout       Status = "timeout"
	StatusProviderError Status = "provider_error"
)

// The labels of preferences.
const (
	LabelA   = "a"
	LabelB   = "b"
	LabelTie = "tie"
)

// Vote is the judgement of one answer.
type Vote struct {
	Status Status `json:"status"`
	// Value is nil unless the status is ok. Of a label it is the number ([Scale.Number]), of a preference -1 for a, 0 for a tie and 1
	// for b, whatever the order.
	Value *float64 `json:"value"`
	// Label is empty for a scale of numbers. Of a preference it is a, b or tie.
	Label string `json:"label,omitempty"`
	// Reason is the judge's own. Unless the status is ok, it says what is wrong with the answer, and what to do.
	Reason string `json:"reason"`
	// Raw is the answer as the model wrote it.
	Raw string `json:"raw"`
	// Order is empty for a score.
	Order Order `json:"order,omitempty"`
	// Cut are the parts of which the judge did not see everything.
	Cut []Cut `json:"cut,omitempty"`
}

const (
	memberReason = "reason"
	memberValue  = "value"
)

// unreadableError says why an answer has no value.
type unreadableError struct{ reason string }

func (e *unreadableError) Error() string { return e.reason }

// offScaleError says which value is not on the scale.
type offScaleError struct{ reason string }

func (e *offScaleError) Error() string { return e.reason }

// Read reads an answer. It takes a JSON object with reason and value that is the whole answer, alone or in a code fence, or one such
// object inside other text. Blocks of reasoning are skipped. It never takes a value from anything else, and none if there are two.
func (q *Question) Read(r *llm.Result) Vote {
	v := Vote{Order: q.Order, Cut: q.Cut}
	m := readReply(r)
	v.Raw = cmp.Or(m.text, m.refusal, string(r.Structured))
	switch {
	case m.refusal != "" || r.FinishReason == "refusal":
		v.Status, v.Reason = StatusRefused, "The model refused to judge: use another model, or a rubric that does not ask for what it refuses."
		if m.refusal != "" {
			v.Reason = "The model refused to judge: " + quote(m.refusal)
		}
		return v
	case strings.HasPrefix(r.FinishReason, "content_filter"): // Google says which one after a colon
		v.Status, v.Reason = StatusRefused, "The provider's content filter stopped the answer: use another provider, or relax its filter."
		return v
	case slices.Contains(cutReasons, strings.ToLower(r.FinishReason)):
		v.Status, v.Reason = StatusParseError, q.cutOff(r)
		return v
	}
	answer, err := q.answer(m, r)
	if err == nil {
		v.Reason = answer.reason
		err = q.value(answer, &v)
	}
	var off *offScaleError
	switch {
	case errors.As(err, &off):
		v.Status, v.Reason = StatusOffScale, strings.TrimSpace(off.reason+" "+v.Reason)
	case err != nil:
		v.Status, v.Reason = StatusParseError, err.Error()
	default:
		v.Status = StatusOK
	}
	return v
}

// value reads the value of an answer into a vote.
func (q *Question) value(a *answer, v *Vote) error {
	value, label, err := q.judge.scale().read(a.value)
	if err != nil {
		return err
	}
	if q.Order != "" {
		value, label = preferred(label, q.Order)
	}
	v.Value, v.Label = &value, label
	return nil
}

// preferred maps a choice by place to the outputs.
func preferred(choice string, order Order) (value float64, label string) {
	switch {
	case choice == choiceTie:
		return 0, LabelTie
	case (choice == choiceFirst) == (order == OrderAB):
		return -1, LabelA
	}
	return 1, LabelB
}

// cutOff says why an answer was cut.
func (q *Question) cutOff(r *llm.Result) string {
	var config struct {
		Max *int64 `json:"max_output_tokens"`
	}
	limit := "its limit of output tokens"
	if json.Unmarshal(q.judge.definition.ModelConfig, &config) == nil && config.Max != nil {
		limit = fmt.Sprintf("the limit of %d output tokens", *config.Max)
	} else if r.Usage != nil && r.Usage.Output != nil {
		limit = fmt.Sprintf("a limit of output tokens, after %d", *r.Usage.Output)
	}
	spent := ""
	if r.Usage != nil && r.Usage.Reasoning != nil && *r.Usage.Reasoning > 0 {
		spent = fmt.Sprintf(", %d of which it spent on reasoning", *r.Usage.Reasoning)
	}
	return "The answer was cut at " + limit + spent + ": raise max_output_tokens in the judge's model_config, or lower reasoning_effort."
}

// cutReasons are the finish reasons of an answer that was cut at a limit of tokens. Compatible servers have words of their own:
// Gemini's, Mistral's.
var cutReasons = []string{"length", "max_tokens", "model_length"}

// reply is what a model's message has.
type reply struct {
	text, refusal string
	// calls are the names of the tools that it calls.
	calls []string
	// reasons is whether it has reasoning beside the text, or reasoning that the provider hides.
	reasons bool
}

func readReply(r *llm.Result) *reply {
	type block struct{ Type, Text, Refusal string }
	type function struct{ Name string }
	var m struct {
		Content          json.RawMessage               `json:"content"`
		Refusal          string                        `json:"refusal"`
		ToolCalls        []struct{ Function function } `json:"tool_calls"`
		FunctionCall     function                      `json:"function_call"`
		ReasoningContent string                        `json:"reasoning_content"`
		Reasoning        string                        `json:"reasoning"`
		ReasoningDetails []json.RawMessage             `json:"reasoning_details"`
		AnthropicContent []block                       `json:"anthropic_content"`
	}
	s := &reply{}
	if json.Unmarshal(r.Message, &m) != nil {
		return s
	}
	s.refusal = m.Refusal
	var parts []block
	if json.Unmarshal(m.Content, &s.text) != nil && json.Unmarshal(m.Content, &parts) == nil {
		for _, p := range parts {
			s.text += p.Text
			s.refusal += p.Refusal
		}
	}
	for _, call := range m.ToolCalls {
		s.calls = append(s.calls, call.Function.Name)
	}
	if m.FunctionCall.Name != "" {
		s.calls = append(s.calls, m.FunctionCall.Name)
	}
	s.reasons = m.ReasoningContent+m.Reasoning != "" || len(m.ReasoningDetails) > 0 || r.Usage != nil && r.Usage.Reasoning != nil && *r.Usage.Reasoning > 0 ||
		slices.ContainsFunc(append(parts, m.AnthropicContent...), func(b block) bool { return strings.Contains(b.Type, "thinking") || b.Type == "reasoning" })
	return s
}

// answer is the object that a judge answered with.
type answer struct {
	reason string
	value  json.RawMessage
}

// Limits of answers. Judges write short ones.
const (
	maxAnswer  = 256 << 10
	maxObjects = 200
	// maxEscaped limits objects with line breaks in their texts.
	maxEscaped = 32 << 10
)

// answer finds the object of an answer. If the provider says what the answer is, nothing else is searched.
func (q *Question) answer(m *reply, r *llm.Result) (*answer, error) {
	whole := strings.TrimSpace(m.text)
	if !jsontext.IsNull(r.Structured) {
		whole = string(r.Structured)
	}
	if len(whole) > maxAnswer {
		return nil, &unreadableError{fmt.Sprintf("The answer has more than %d KiB.", maxAnswer>>10)}
	}
	object := asJSON(whole)
	if object == nil && whole != "" {
		rest, err := withoutReasoning(whole)
		if err != nil {
			return nil, err
		}
		m.reasons = m.reasons || rest == ""
		whole = withoutFence(rest)
		object = asJSON(whole)
	}
	var found *answer
	var err error
	switch {
	case whole == "":
		return nil, m.nothing(r)
	case object != nil:
		found, err = readAnswer(object, false)
	default:
		found, err = embedded([]byte(whole))
	}
	switch {
	case errors.Is(err, errNone) && len(m.calls) > 0:
		return nil, &unreadableError{fmt.Sprintf("%s It calls the tool %s: a judge answers in its text.", errNone, quote(m.calls[0]))}
	case err != nil:
		return nil, err
	case q.quotes(found):
		return nil, &unreadableError{"The answer repeats, word for word, an answer that stands in what is judged: " + quote(found.reason)}
	}
	return found, nil
}

// nothing says what an answer has instead of a text.
func (m *reply) nothing(r *llm.Result) error {
	what := "The answer is empty."
	switch {
	case len(m.calls) > 0:
		what = "The answer is a call of the tool " + quote(m.calls[0]) + ", without a text: a judge answers in its text. Leave tools out of the judge's prompt."
	case m.reasons:
		what = "The answer has only reasoning, and nothing after it: raise max_output_tokens in the judge's model_config, or lower reasoning_effort."
	case r.FinishReason != "" && r.FinishReason != "stop":
		what += " The provider ended it with " + quote(r.FinishReason) + "."
	}
	return &unreadableError{what}
}
