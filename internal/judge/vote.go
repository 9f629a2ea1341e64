package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/internal/llm"
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
	text, refusal := contentOf(r.Message)
	if v.Raw = text; text == "" {
		v.Raw = refusal
	}
	if text == "" && refusal == "" {
		v.Raw = string(r.Structured)
	}
	switch {
	case refusal != "" || r.FinishReason == "refusal":
		v.Status, v.Reason = StatusRefused, "The model refused to judge: use another model, or a rubric that does not ask for what it refuses."
		if refusal != "" {
			v.Reason = "The model refused to judge: " + quote(refusal)
		}
		return v
	case r.FinishReason == "content_filter":
		v.Status, v.Reason = StatusRefused, "The provider's content filter stopped the answer: use another provider, or relax its filter."
		return v
	case r.FinishReason == "length":
		v.Status, v.Reason = StatusParseError, q.cutOff(r)
		return v
	}
	answer, err := q.answer(text, r.Structured)
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

// contentOf returns the text and the refusal of a message.
func contentOf(raw json.RawMessage) (text, refusal string) {
	var m struct {
		Content json.RawMessage `json:"content"`
		Refusal string          `json:"refusal"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return "", ""
	}
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(m.Content, &text) == nil || json.Unmarshal(m.Content, &parts) != nil {
		return text, m.Refusal
	}
	var texts, refusals strings.Builder
	refusals.WriteString(m.Refusal)
	for _, p := range parts {
		texts.WriteString(p.Text)
		refusals.WriteString(p.Refusal)
	}
	return texts.String(), refusals.String()
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
)

// answer finds the object of an answer. structured is what the provider says is the answer, if it does.
func (q *Question) answer(text string, structured json.RawMessage) (*answer, error) {
	whole := []byte(strings.TrimSpace(text))
	if !isNull(structured) {
		whole = structured
	}
	if len(whole) > maxAnswer {
		return nil, &unreadableError{fmt.Sprintf("The answer has more than %d KiB.", maxAnswer>>10)}
	}
	if !json.Valid(whole) {
		whole = []byte(withoutFence(withoutReasoning(string(whole))))
	}
	var found *answer
	var err error
	switch {
	case len(whole) == 0:
		return nil, &unreadableError{"The answer is empty."}
	case json.Valid(whole):
		found, err = readAnswer(whole, false)
	default:
		found, err = embedded(whole)
	}
	if err != nil {
		return nil, err
	}
	if q.quotes(found) {
		return nil, &unreadableError{"The answer repeats, word for word, an answer that stands in what is judged: " + quote(found.reason)}
	}
	return found, nil
}

// withoutReasoning removes the block of reasoning that some models write before their answer. The tag that begins it may be missing: some
// templates have it in the prompt. Text before a tag that is only closed is kept if it has an answer, too.
func withoutReasoning(text string) string {
	for _, tag := range []string{"think", "thinking"} {
		opened := strings.HasPrefix(text, "<"+tag+">")
		before, after, closed := strings.Cut(text, "</"+tag+">")
		if _, err := embedded([]byte(before)); closed && (opened || err != nil) {
			return strings.TrimSpace(after)
		}
		if opened && !closed {
			return "" // all of it is reasoning
		}
	}
	return text
}

// withoutFence removes a code fence around the whole of an answer.
func withoutFence(text string) string {
	rest, opened := strings.CutPrefix(text, "```")
	inside, closed := strings.CutSuffix(rest, "```")
	if !opened || !closed {
		return text
	}
	if language, body, found := strings.Cut(inside, "\n"); found && !strings.ContainsAny(language, "{}\" ") {
		inside = body
	}
	if inside = strings.TrimSpace(inside); json.Valid([]byte(inside)) {
		return inside
	}
	return text
}

// readAnswer reads an object. A strict one has reason and value and nothing else.
func readAnswer(raw []byte, strict bool) (*answer, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil, &unreadableError{"The answer " + quote(string(raw)) + " is JSON, but no object with reason and value."}
	}
	members := map[string]json.RawMessage{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, &unreadableError{"The answer is no JSON: " + err.Error() + "."}
		}
		key, _ := name.(string)
		if _, twice := members[key]; twice {
			return nil, &unreadableError{"The answer has " + quote(key) + " twice."}
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, &unreadableError{"The answer is no JSON: " + err.Error() + "."}
		}
		members[key] = value
	}
	a := &answer{value: members[memberValue]}
	if a.value == nil {
		return nil, &unreadableError{"The answer has no value."}
	}
	if reason := members[memberReason]; !isNull(reason) && json.Unmarshal(reason, &a.reason) != nil {
		return nil, &unreadableError{"The reason in the answer is not a text."}
	}
	if strict && (len(members) != 2 || isNull(members[memberReason])) {
		return nil, &unreadableError{"The answer has other members than reason and value."}
	}
	return a, nil
}

var errNone = &unreadableError{"The answer has no JSON object with reason and value."}

// embedded finds the one object with reason and value in other text.
func embedded(text []byte) (*answer, error) {
	var found *answer
	for tried := 0; ; tried++ {
		at := bytes.IndexByte(text, '{')
		switch {
		case at < 0 && found == nil:
			return nil, errNone
		case at < 0:
			return found, nil
		case tried == maxObjects:
			return nil, &unreadableError{fmt.Sprintf("The answer has more than %d braces.", maxObjects)}
		}
		text = text[at:]
		var object json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&object); err != nil {
			text = text[1:]
			continue
		}
		text = text[len(object):]
		a, err := readAnswer(object, true)
		switch {
		case err != nil: // another object
		case found == nil:
			found = a
		case found.reason != a.reason || !bytes.Equal(compact(found.value), compact(a.value)):
			return nil, &unreadableError{"The answer has two different objects with reason and value."}
		}
	}
}

// quotes reports whether the reason and the value of an answer stand together in what is judged: no judge comes to the same words by
// itself. Spaces, quotes and the escapes of JSON do not count.
func (q *Question) quotes(a *answer) bool {
	reason, value := squeeze(string(encode(a.reason))), squeeze(string(a.value))
	if reason == "" {
		return false
	}
	for i := range q.parts {
		text := squeeze(unescape(q.parts[i].text))
		if strings.Contains(text, "reason:"+reason+",value:"+value) || strings.Contains(text, "value:"+value+",reason:"+reason) {
			return true
		}
	}
	return false
}

// squeeze removes from a text what may differ between two ways to write the same JSON.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\\' || r == '"' {
			return -1
		}
		return r
	}, text)
}

// quote quotes the beginning of a text.
func quote(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}
