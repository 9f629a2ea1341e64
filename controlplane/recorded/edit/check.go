package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Limits of edits.
const (
	// MaxEdits limits a list of edits.
	MaxEdits = 100
	// maxRetries and maxMS limit numbers.
	maxRetries = 100
	maxMS      = 7 * 24 * 3_600_000
	// listed is how many candidates an error names.
	listed = 5
)

// checker collects what is wrong with edits.
type checker struct {
	recording *recorded.Recording
	path      string
	fields    []problem.Field
	checked   *Checked
}

func (c *checker) wrong(location, format string, args ...any) {
	c.fields = append(c.fields, problem.Field{Location: c.path + location, Message: fmt.Sprintf(format, args...)})
}

// Check validates edits of a run. Its error is a problem.Error of kind Invalid that names each wrong value below path, such as
// body.edits[0].target.span_id, with what to do. An empty list is the null edit.
func Check(r *recorded.Recording, edits []Edit, path string) (*Checked, error) {
	c := checker{recording: r, path: path, checked: &Checked{Edits: edits, Fork: -1, Structural: len(edits) > 0, ByStep: map[int][]int{}}}
	if len(edits) > MaxEdits {
		c.wrong("", "has %d edits: at most %d are possible.", len(edits), MaxEdits)
		return nil, problem.InvalidFields(c.fields...)
	}
	set := map[int]map[string]int{} // by step and field, the edit that sets it
	for i := range edits {
		edit := &edits[i]
		targets := c.edit(i, edit)
		c.checked.Targets = append(c.checked.Targets, targets)
		field, _ := edit.Set.field()
		for _, step := range targets {
			if set[step] == nil {
				set[step] = map[string]int{}
			}
			if first, twice := set[step][field]; twice && field != "params" {
				c.wrong(fmt.Sprintf("[%d].set.%s", i, field), "is also set by edit %d, for %s: leave one of them out.", first+1, c.step(step))
				break
			}
			set[step][field] = i
			c.checked.ByStep[step] = append(c.checked.ByStep[step], i)
			if c.checked.Fork < 0 || step < c.checked.Fork {
				c.checked.Fork = step
			}
		}
		c.checked.Structural = c.checked.Structural && edit.Set.Structural()
	}
	if len(c.fields) > 0 {
		return nil, problem.InvalidFields(c.fields...)
	}
	var err error
	if c.checked.Hash, err = Hash(edits); err != nil {
		return nil, problem.InvalidField(strings.TrimSuffix(path, "."), "is not JSON: "+err.Error())
	}
	return c.checked, nil
}

// edit checks an edit and returns the steps that it changes.
func (c *checker) edit(i int, edit *Edit) []int {
	at := fmt.Sprintf("[%d]", i)
	field, more := edit.Set.field()
	switch {
	case field == "":
		c.wrong(at+".set", "sets nothing: give one of model, params, system_prompt, prompt, messages, response, tool_schema, tool_result, "+
			"tool_error, timeout_ms, retries and input.")
		return nil
	case more:
		c.wrong(at+".set", "sets several things: make an edit of each.")
		return nil
	}
	need := recorded.LevelLLM
	if edit.Set.Structural() {
		need = recorded.LevelStructure
	}
	if refusal := c.recording.Replayability.Refusal(need); refusal != "" {
		c.wrong(at+".set."+field, "cannot be replayed in this run. %s", refusal)
		return nil
	}
	before := len(c.fields)
	targets := c.targets(at+".target", edit, field)
	c.value(at+".set."+field, &edit.Set)
	if len(c.fields) > before {
		return nil
	}
	return targets
}

// targets returns the steps that an edit changes.
func (c *checker) targets(at string, edit *Edit, field string) []int {
	t, r := &edit.Target, c.recording
	named := t.Kind != "" || t.Name != ""
	switch {
	case !t.All && t.SpanID == "" && !named:
		c.wrong(at, `is empty: give "all", a span_id, or a kind and a name.`)
		return nil
	case t.SpanID != "" && (named || t.All):
		c.wrong(at, "has a span_id and other members: leave one of them out.")
		return nil
	case t.All && !slices.Contains(edit.Set.kinds(), recorded.KindModel):
		c.wrong(at, `is all model calls, and %s is set of tool calls: give {"kind": "tool"}, with the name of one tool or without.`, field)
		return nil
	case edit.Set.Input != nil && !t.All:
		c.wrong(at, `must be "all": the input is that of the run. To change one request, edit its messages.`)
		return nil
	}
	var found []int
	switch {
	case edit.Set.Input != nil:
		found = c.inputSteps()
	case t.SpanID != "":
		i := slices.IndexFunc(r.Steps, func(s recorded.Step) bool { return s.SpanID == strings.ToLower(t.SpanID) })
		if i < 0 {
			c.wrong(at+".span_id", "names no step of the run: it has none with the id %.40q.", t.SpanID)
			return nil
		}
		if !slices.Contains(edit.Set.kinds(), r.Steps[i].Kind) {
			c.wrong(at+".span_id", "is a step of the kind %s: %s is set of a %s.", r.Steps[i].SpanKind, inWords[field], kindNames(edit.Set.kinds()))
			return nil
		}
		found = []int{i}
	default:
		for i := range r.Steps {
			if slices.Contains(edit.kinds(), r.Steps[i].Kind) && c.matches(i, t) {
				found = append(found, i)
			}
		}
	}
	switch {
	case len(found) == 0:
		c.wrong(at, "fits no step: the run has no %s that it names.%s", kindNames(edit.kinds()), c.candidates(edit.Set.kinds()))
	case len(found) > 1 && edit.Set.single():
		c.wrong(at, "is ambiguous: it names %d steps, and %s is set of one. Give the span_id of one of %s.", len(found), inWords[field], c.ids(found))
		return nil
	}
	return found
}

// inWords are what edits set, as people say it.
var inWords = map[string]string{
	"model": "another model", "params": "parameters", "system_prompt": "a system prompt", "prompt": "a prompt", "messages": "all messages",
	"response": "an answer", "tool_schema": "a tool definition", "tool_result": "a result", "tool_error": "an error", "timeout_ms": "a timeout",
	"retries": "a number of retries", "input": "an input",
}

// step names a step as people see it.
func (c *checker) step(i int) string {
	return fmt.Sprintf("step %d, %q", i+1, c.recording.Steps[i].Name)
}

func kindNames(kinds []recorded.Kind) string {
	names := map[recorded.Kind]string{recorded.KindModel: "call of a model", recorded.KindTool: "call of a tool"}
	texts := make([]string, len(kinds))
	for i, kind := range kinds {
		texts[i] = names[kind]
	}
	return strings.Join(texts, " or ")
}

func (c *checker) ids(steps []int) string {
	var ids []string
	for _, i := range steps[:min(len(steps), listed)] {
		ids = append(ids, fmt.Sprintf("%s (%q)", c.recording.Steps[i].SpanID, c.recording.Steps[i].Name))
	}
	if len(steps) > listed {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
}

// candidates names what the run has of some kinds.
func (c *checker) candidates(kinds []recorded.Kind) string {
	names := map[string]bool{}
	for i := range c.recording.Steps {
		s := &c.recording.Steps[i]
		if !slices.Contains(kinds, s.Kind) {
			continue
		}
		if s.Kind == recorded.KindModel && s.Agent != "" {
			names[strconv.Quote(s.Agent)] = true
		} else {
			names[strconv.Quote(s.Name)] = true
		}
	}
	if len(names) == 0 {
		return ""
	}
	list := slices.Sorted(maps.Keys(names))
	if len(list) > listed {
		list = append(list[:listed], "…")
	}
	return " It has " + strings.Join(list, ", ") + "."
}

// matches reports whether a target that is no span names a step, or a step above it.
func (c *checker) matches(i int, t *Target) bool {
	r := c.recording
	if t.All {
		return true
	}
	s := &r.Steps[i]
	kind := strings.ToLower(t.Kind)
	switch kind {
	case "", string(s.Kind), s.SpanKind:
		if t.Name == "" || t.Name == s.Name || t.Name == r.Spans[i].Name || s.Kind == recorded.KindModel && t.Name == s.Agent {
			return true
		}
	}
	if kind != runmodel.KindAgent && kind != runmodel.KindWorkflow && kind != runmodel.KindTask {
		return false
	}
	for at := s.Parent; at >= 0; at = r.Steps[at].Parent {
		if r.Steps[at].SpanKind == kind && (t.Name == "" || t.Name == r.Steps[at].Name || t.Name == r.Spans[at].AgentName) {
			return true
		}
	}
	return false
}

// inputSteps returns the first calls of the loops that begin with the input of the run: the first user message of its first loop.
func (c *checker) inputSteps() []int {
	r := c.recording
	var steps []int
	var input string
	for l := range r.Loops {
		first := r.Loops[l].Calls[0]
		at := c.firstUser(r.Steps[first].Model.Request.Messages)
		if at < 0 {
			continue
		}
		text := r.Cache[string(r.Steps[first].Model.Request.Messages[at])].Content
		if steps == nil {
			input = text
		}
		if text == input {
			steps = append(steps, first)
		}
	}
	return steps
}

// firstUser returns the index of the first message of a user, -1 for none.
func (c *checker) firstUser(messages []json.RawMessage) int {
	return slices.IndexFunc(messages, func(raw json.RawMessage) bool {
		m := c.recording.Cache[string(raw)]
		return m != nil && m.Role == recorded.RoleUser
	})
}
