package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// Item is what a judge gets to see besides outputs: the item of a dataset. Its members are JSON, nil or null for none.
type Item struct {
	Input, ReferenceOutput json.RawMessage
	// Metadata is seen by judges with a prompt only.
	Metadata json.RawMessage
}

// Output is what a model or an agent made of an item.
type Output struct {
	// Text is a JSON string for a text, or the value of a structured answer. It is nil if there is none.
	Text json.RawMessage
	// ToolCalls are those that were made, in order. nil means that they are not known, an empty list that there were none.
	ToolCalls []ToolCall
	// Trajectory has the messages of an agent, in the shape of chat completions. It is nil if they are not known. A judge with a rubric
	// sees it instead of ToolCalls.
	Trajectory []json.RawMessage
}

// ToolCall is a call of a tool, as a judge sees it.
type ToolCall struct {
	Name string
	// Arguments is the JSON of the arguments, or a JSON string that has it. It is nil for none.
	Arguments json.RawMessage
	// Result is the JSON of the result, nil if it is not known.
	Result json.RawMessage
	// Error is what went wrong, nil for a call that succeeded or whose end is not known.
	Error *string
}

// MaxPartTokens is how many tokens of a part are shown to a judge, about. More are cut out of its middle, which the vote records.
const MaxPartTokens = 16_000

// The names of the parts. Those of outputs have first_ or second_ before them in a preference.
const (
	partInput      = "input"
	partReference  = "reference_output"
	partMetadata   = "metadata"
	partOutput     = "output"
	partToolCalls  = "tool_calls"
	partTrajectory = "trajectory"
)

var (
	itemParts   = []string{partInput, partReference, partMetadata}
	outputParts = []string{partOutput, partToolCalls, partTrajectory}
	places      = []string{"first_", "second_"}
)

// judged are the names of the parts of each output that is judged.
func judged(t Type) [][]string {
	if t == TypeScore {
		return [][]string{outputParts}
	}
	both := make([][]string, len(places))
	for i, place := range places {
		for _, name := range outputParts {
			both[i] = append(both[i], place+name)
		}
	}
	return both
}

// variables are those that a prompt gets.
func variables(t Type) []string {
	names := append([]string{}, itemParts...)
	for _, of := range judged(t) {
		names = append(names, of...)
	}
	return names
}

// given collects the parts that there are, in the order in which they are shown.
type given struct {
	parts []part
	limit int
	// shown are the names of those that the judge sees.
	shown []string
	// either is whether a trajectory is shown instead of tool calls, which it has, too.
	either bool
	err    error
}

func (g *given) add(name, text string) {
	if g.err != nil || !slices.Contains(g.shown, name) {
		return
	}
	p, err := newPart(name, text, g.limit)
	g.parts, g.err = append(g.parts, p), err
}

func (g *given) addItem(item *Item) {
	for i, raw := range []json.RawMessage{item.Input, item.ReferenceOutput, item.Metadata} {
		if !jsontext.IsNull(raw) {
			g.add(itemParts[i], jsontext.Text(raw))
		}
	}
}

// addOutput adds an output. An agent that ended without a text has an empty one.
func (g *given) addOutput(place string, o *Output) {
	if jsontext.IsNull(o.Text) && o.ToolCalls == nil && o.Trajectory == nil {
		if g.err == nil {
			g.err = problem.InvalidField(place+partOutput, "is missing: there is nothing to judge")
		}
		return
	}
	text := ""
	if !jsontext.IsNull(o.Text) {
		text = jsontext.Text(o.Text)
	}
	g.add(place+partOutput, text)
	if o.ToolCalls != nil && (o.Trajectory == nil || !g.either) {
		g.add(place+partToolCalls, lines(o.ToolCalls, callLine))
	}
	if o.Trajectory != nil {
		g.add(place+partTrajectory, lines(o.Trajectory, messageLine))
	}
}

// lines writes each as one line of JSON, so that a text in one cannot pass for another.
func lines[T any](list []T, line func(T) any) string {
	written := make([]string, len(list))
	for i := range list {
		written[i] = string(jsontext.MustEncode(line(list[i])))
	}
	return strings.Join(written, "\n")
}

func callLine(c ToolCall) any {
	arguments := c.Arguments
	if text := []byte(jsontext.Text(arguments)); json.Valid(text) {
		arguments = text
	}
	return struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Result    json.RawMessage `json:"result,omitempty"`
		Error     *string         `json:"error,omitempty"`
	}{c.Name, validJSON(arguments), validJSON(c.Result), c.Error}
}

func messageLine(raw json.RawMessage) any { return validJSON(raw) }

// validJSON returns JSON as it is, and another text as a JSON string.
func validJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	return jsontext.MustEncode(string(raw))
}
