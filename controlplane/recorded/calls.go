package recorded

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Call is a tool call that the recording can answer.
type Call struct {
	Name, Arguments string
	Key             CallKey
	// Step is that of the span of the call, -1 if there is none. asker is the model call that asked for it, -1 for the program.
	Step, Asker int
	// Content is what the model was told: the content of a chat message. It is nil if nobody recorded it.
	Content json.RawMessage
}

// CallKey names a tool call: the tool and its canonical arguments.
type CallKey struct{ Name, Arguments string }

// KeyOf names a call.
func KeyOf(name, arguments string) CallKey { return CallKey{name, CanonicalArguments(arguments)} }

// text is what the model was told.
func (c *Call) text() (string, bool) {
	if c.Content == nil {
		return "", false
	}
	if jsontext.IsString(c.Content) {
		return jsontext.String(c.Content), true
	}
	return string(c.Content), true
}

// spanQueue has the tool steps that no call has yet.
type spanQueue struct {
	byID   map[string][]int
	byKey  map[CallKey][]int
	byName map[string][]int
	taken  map[int]bool
}

// take returns the first step of a list that is not taken and does not start before a time, -1 for none.
func (q *spanQueue) take(r *Recording, list []int, from time.Duration) int {
	for _, i := range list {
		if !q.taken[i] && r.Steps[i].Offset >= from {
			q.taken[i] = true
			return i
		}
	}
	return -1
}

// readCalls finds what the recording has of tool calls: what models asked for and were told, and the spans of tools.
func (r *Recording) readCalls() {
	queue := spanQueue{byID: map[string][]int{}, byKey: map[CallKey][]int{}, byName: map[string][]int{}, taken: map[int]bool{}}
	for i := range r.Steps {
		tool := r.Steps[i].Tool
		if tool == nil {
			continue
		}
		if tool.CallID != "" {
			queue.byID[tool.CallID] = append(queue.byID[tool.CallID], i)
		}
		key := KeyOf(tool.Name, tool.Arguments)
		queue.byKey[key] = append(queue.byKey[key], i)
		queue.byName[tool.Name] = append(queue.byName[tool.Name], i)
	}
	// In the order of the model calls, so that equal calls of several loops have the spans that follow them. Each pass looks for a better
	// match than the next one.
	var asked []*Call
	var ids []string
	for i := range r.Steps {
		if r.Steps[i].Loop < 0 || r.Steps[i].Kind != KindModel {
			continue
		}
		loop := &r.Loops[r.Steps[i].Loop]
		k, _ := slices.BinarySearch(loop.Calls, i)
		for n, call := range loop.Turns[k].Calls {
			one := &Call{Name: call.Name, Arguments: call.Arguments, Key: KeyOf(call.Name, call.Arguments), Step: -1, Asker: i}
			if k+1 < len(loop.Turns) {
				if result := jsontext.Members(loop.Turns[k+1].Results[n]); result != nil {
					one.Content = result["content"]
					if jsontext.IsNull(one.Content) {
						one.Content = json.RawMessage(`""`)
					}
				}
			}
			asked, ids = append(asked, one), append(ids, call.ID)
		}
	}
	match := func(list func(int) []int) {
		for n, one := range asked {
			if one.Step < 0 {
				one.Step = queue.take(r, list(n), r.Steps[one.Asker].Offset)
			}
		}
	}
	match(func(n int) []int {
		if ids[n] == "" {
			return nil
		}
		return queue.byID[ids[n]]
	})
	match(func(n int) []int { return queue.byKey[asked[n].Key] })
	match(func(n int) []int { return r.unnamed(queue.byName[asked[n].Name], ids[n]) })
	for _, one := range asked {
		r.bind(one)
		r.Calls = append(r.Calls, *one)
	}
	for i := range r.Steps {
		if tool := r.Steps[i].Tool; tool != nil && !queue.taken[i] {
			one := Call{Name: tool.Name, Arguments: tool.Arguments, Key: KeyOf(tool.Name, tool.Arguments), Step: i, Asker: -1}
			if tool.Result != nil {
				one.Content = jsontext.MustEncode(*tool.Result)
			}
			r.Calls = append(r.Calls, one)
		}
	}
	r.readSideEffects()
}

// unnamed returns the steps that have no id of a call, if the call has one: an id that differs is that of another call.
func (r *Recording) unnamed(steps []int, id string) []int {
	if id == "" {
		return steps
	}
	var out []int
	for _, i := range steps {
		if r.Steps[i].Tool.CallID == "" {
			out = append(out, i)
		}
	}
	return out
}

// bind completes a call and its span with what the other one has.
func (r *Recording) bind(one *Call) {
	if one.Step < 0 {
		return
	}
	step := &r.Steps[one.Step]
	step.Asker, step.Loop = one.Asker, r.Steps[one.Asker].Loop
	step.Tool.Arguments = cmp.Or(one.Arguments, step.Tool.Arguments)
	if text, ok := one.text(); ok {
		step.Tool.Result = &text
	} else if step.Tool.Result != nil {
		one.Content = jsontext.MustEncode(*step.Tool.Result)
	} else if step.Failed() && (step.ErrorMessage != "" || step.ErrorType != "") {
		one.Content = jsontext.MustEncode(ErrorText(step.ErrorType, step.ErrorMessage))
	}
}

// ErrorText is what a model is told of a call that failed, where the recording does not say it.
func ErrorText(kind, message string) string {
	switch {
	case kind == "":
		return "Error: " + message
	case message == "":
		return "Error: " + kind
	}
	return "Error: " + kind + ": " + message
}

// readSideEffects gives tool calls the annotations of their definitions.
func (r *Recording) readSideEffects() {
	known := map[string]SideEffects{}
	for i := range r.Spans {
		for _, raw := range r.Spans[i].ToolDefinitions {
			definition := jsontext.Members(raw)
			if function := jsontext.Members(definition["function"]); function != nil {
				if definition["annotations"] != nil {
					function["annotations"] = definition["annotations"]
				}
				definition = function
			}
			if effects := SideEffects(runmodel.EffectsOf(definition["annotations"])); effects != "" {
				known[jsontext.String(definition["name"])] = effects
			}
		}
	}
	for i := range r.Steps {
		if tool := r.Steps[i].Tool; tool != nil && tool.SideEffects == "" {
			tool.SideEffects = known[tool.Name]
		}
	}
	r.Effects = known
	for i := range r.Steps {
		if tool := r.Steps[i].Tool; tool != nil && tool.SideEffects != "" && r.Effects[tool.Name] == "" {
			r.Effects[tool.Name] = tool.SideEffects
		}
	}
}

// EndingTools returns the tools whose calls ended a loop or a turn, and never did not: the program stops at them.
func (r *Recording) EndingTools() map[string]bool {
	ends, goes := map[string]bool{}, map[string]bool{}
	for l := range r.Loops {
		calls := r.Loops[l].Turns
		for k := range calls {
			for _, call := range calls[k].Calls {
				if k == len(calls)-1 || calls[k+1].Turn {
					ends[call.Name] = true
				} else {
					goes[call.Name] = true
				}
			}
		}
	}
	for name := range goes {
		delete(ends, name)
	}
	return ends
}
