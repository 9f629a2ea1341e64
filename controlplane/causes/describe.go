package causes

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// maxText is how many bytes a text has that an edit sets.
const maxText = 256 << 10

// Describe returns what is compared of a run. place is that of the failed runs that it is compared with.
func Describe(r *Recorded, place Place) Run {
	run := Run{ID: r.ID, Start: r.Start, traits: map[trait]string{}, told: map[subject]bool{}, calls: map[string]callTimes{}}
	run.addAttributes(r.Names, r.Values)
	recording := recorded.Read(r.Spans)
	before := beforeFailure(recording, r.FailingSpanID, place)
	agents := map[string]bool{}
	for _, i := range before {
		if step := &recording.Steps[i]; step.Kind == recorded.KindModel {
			agents[step.Agent] = true
		}
	}
	for _, i := range before {
		step := &recording.Steps[i]
		switch step.Kind {
		case recorded.KindModel:
			agent := step.Agent
			if len(agents) < 2 {
				agent = ""
			}
			run.addCall(step.Model, agent)
		case recorded.KindTool:
			if !slices.Contains(run.called, step.Tool.Name) {
				run.called = append(run.called, step.Tool.Name)
			}
			if step.Tool.Name != place.Tool && step.SpanID != runmodel.FormatSpanID(r.FailingSpanID) {
				run.addResult(step)
			}
		default:
		}
	}
	run.addPrompts(r.Spans, before, recording)
	run.addTimes(recording, r.FailingSpanID)
	return run
}

// beforeFailure returns the steps up to the failing one. What comes later, or beside it, may follow from the failure. A good run is read up
// to its last call of the tool that fails in the others, so that both are compared as far as they went.
func beforeFailure(recording *recorded.Recording, failingSpan uint64, place Place) []int {
	last := -1
	for i := range recording.Steps {
		step := &recording.Steps[i]
		if failingSpan != 0 && step.SpanID == runmodel.FormatSpanID(failingSpan) && step.Kind != recorded.KindFrame ||
			failingSpan == 0 && place.Tool != "" && step.Kind == recorded.KindTool && step.Tool.Name == place.Tool {
			last = i
		}
	}
	steps := []int{}
	for i := range recording.Steps {
		if last >= 0 && recording.Steps[i].Offset > recording.Steps[last].Offset || i == last {
			continue
		}
		steps = append(steps, i)
	}
	if last >= 0 {
		steps = append(steps, last)
	}
	return steps
}

func (r *Run) addAttributes(names, values []string) {
	for i, name := range names {
		switch name {
		case "model", "tool", "prompt_version": // steps tell them in more detail
		case "release", "environment", "agent_release":
			r.add(trait{subject{kind: Kind(name)}, strings.Clone(values[i])}, "")
		default:
			r.add(trait{subject{kind: Attribute, name: strings.Clone(name)}, strings.Clone(values[i])}, "")
		}
	}
}

// addCall adds what a call of a model was asked with.
func (r *Run) addCall(call *recorded.ModelCall, agent string) {
	request := &call.Request
	if request.Model != "" {
		r.add(trait{subject{Model, "", agent}, strings.Clone(request.Model)}, "")
	}
	r.told[subject{Parameter, "", agent}] = true
	for _, name := range slices.Sorted(maps.Keys(request.Params)) {
		if name == "stream" || name == "stream_options" || name == "seed" || name == "user" || name == "metadata" {
			continue
		}
		text := compact(request.Params[name])
		r.add(trait{subject{Parameter, name, agent}, short(text)}, kept(text))
	}
	if len(request.Tools) > 0 {
		r.told[subject{ToolDefinition, "", agent}] = true
	}
	for _, tool := range request.Tools {
		var named struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if json.Unmarshal(tool, &named) == nil && named.Function.Name != "" {
			text := compact(tool)
			r.add(trait{subject{ToolDefinition, named.Function.Name, agent}, hashOf(text)}, kept(text))
		}
	}
	if text := systemText(request.Messages); text != "" {
		r.add(trait{subject{Instructions, "", agent}, hashOf(runmodel.ConstantText(text))}, kept(text))
	}
}

// systemText is the text of the leading system messages.
func systemText(messages []json.RawMessage) string {
	var found []string
	for _, raw := range messages {
		var message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(raw, &message) != nil || message.Role != "system" && message.Role != "developer" {
			break
		}
		var text string
		if json.Unmarshal(message.Content, &text) != nil {
			var parts []struct {
				Text string `json:"text"`
			}
			if json.Unmarshal(message.Content, &parts) != nil {
				return ""
			}
			var joined strings.Builder
			for _, part := range parts {
				joined.WriteString(part.Text)
			}
			text = joined.String()
		}
		found = append(found, text)
	}
	return strings.Join(found, "\n\n")
}

func (r *Run) addPrompts(spans []recorded.Span, before []int, recording *recorded.Recording) {
	read := make(map[string]bool, len(before))
	for _, i := range before {
		read[recording.Steps[i].SpanID] = true
	}
	for i := range spans {
		span := &spans[i]
		if span.PromptVersion != "" && read[runmodel.FormatSpanID(span.SpanID)] {
			r.add(trait{subject{kind: PromptVersion, name: strings.Clone(cmp.Or(span.PromptName, span.PromptID))}, strings.Clone(span.PromptVersion)}, "")
		}
	}
}

// addResult adds what a tool returned.
func (r *Run) addResult(step *recorded.Step) {
	of := subject{kind: ToolResult, name: step.Tool.Name}
	switch {
	case step.Status == runmodel.StatusError:
		r.add(trait{of, failing}, "")
	case step.Tool.Result != nil:
		r.add(trait{of, shapeOf(*step.Tool.Result)}, kept(*step.Tool.Result))
	}
}

// addTimes adds the timeouts and retries of tool calls. Whether a failed call is made again shows after it.
func (r *Run) addTimes(recording *recorded.Recording, failingSpan uint64) {
	failedAt := map[string]int{}
	again := map[string]bool{}
	for i := range recording.Steps {
		step := &recording.Steps[i]
		if step.Kind != recorded.KindTool {
			continue
		}
		name := step.Tool.Name
		if step.TimeoutMS != nil {
			r.add(trait{subject{kind: Timeout, name: name}, strconv.FormatInt(*step.TimeoutMS, 10)}, "")
		}
		times := r.calls[name]
		times.number++
		_, failedBefore := failedAt[name]
		switch {
		case failedBefore:
			again[name] = true
		case step.Status == runmodel.StatusError || step.Status == runmodel.StatusCancelled:
			failedAt[name] = i
			again[name] = step.Attempts != nil && *step.Attempts > 1
		}
		if step.Duration != nil && step.Status != runmodel.StatusError {
			times.longest = max(times.longest, *step.Duration)
		}
		if step.Duration != nil && failingSpan != 0 && step.SpanID == runmodel.FormatSpanID(failingSpan) && runmodel.IsTimeout(step.ErrorType, step.ErrorMessage) {
			times.timedOut = *step.Duration
		}
		r.calls[name] = times
		if step.Retries != nil {
			r.add(trait{subject{kind: Retry, name: name}, strconv.FormatInt(*step.Retries, 10)}, "")
		}
	}
	for name := range failedAt {
		if of := (subject{kind: Retry, name: name}); !r.told[of] {
			value := "1"
			if !again[name] {
				value = never
			}
			r.add(trait{of, value}, "")
		}
	}
}

// shapeOf says of what shape a result is: empty, an error, or a JSON value with its members and their types.
func shapeOf(text string) string {
	text = strings.TrimSpace(text)
	switch text {
	case "", "null", "[]", "{}", `""`, "None":
		return empty
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		if first, _, _ := strings.Cut(strings.ToLower(text[:min(len(text), 20)]), ":"); strings.HasSuffix(strings.TrimSpace(first), "error") {
			return failing
		}
		return "text"
	}
	if object, ok := value.(map[string]any); ok && object["error"] != nil && object["error"] != false && object["error"] != "" {
		return failing
	}
	const depth = 3
	return short(typeOf(value, depth))
}

// typeOf writes the type of a JSON value, with those of members to a depth.
func typeOf(value any, depth int) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		if v == "" {
			return `""`
		}
		return "string"
	case []any:
		switch {
		case len(v) == 0:
			return "[]"
		case depth == 0:
			return "[…]"
		}
		return "[" + typeOf(v[0], depth-1) + "]"
	case map[string]any:
		if depth == 0 {
			return "{…}"
		}
		members := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, name+": "+typeOf(v[name], depth-1))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	return ""
}

// compact is JSON with sorted members and without spaces, so that equal values are equal texts.
func compact(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// maxValue is how many bytes of a value a key shows. A longer one ends in a hash.
const maxValue = 60

func short(text string) string {
	if len(text) <= maxValue {
		return strings.Clone(text)
	}
	return utf8text.Bytes(text, maxValue) + "… " + hashOf(text)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// kept is a text that an edit could set.
func kept(text string) string {
	if len(text) > maxText {
		return ""
	}
	return strings.Clone(text)
}

// above rounds a duration up to two digits, in milliseconds.
func above(d time.Duration) int64 {
	ms := d.Milliseconds() + 1
	unit := int64(1)
	for ms/unit >= 100 {
		unit *= 10
	}
	return (ms + unit - 1) / unit * unit
}
