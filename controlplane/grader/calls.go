package grader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// call is a tool call that is compared.
type call struct {
	name string
	// args are the parsed arguments; a text that is not JSON stays a text. An absent value is an empty object.
	args any
	// key is the name with the canonical arguments.
	key string
	// recorded is the call of the sample, nil for one of a reference.
	recorded *ToolCall
}

// maxCalls limits the calls that are compared with each other.
const maxCalls = 500

func newCall(name string, arguments json.RawMessage) (call, error) {
	c := call{name: name, args: map[string]any{}}
	if !jsontext.IsNull(arguments) {
		value, err := decode(bytes.TrimSpace(arguments))
		if err != nil {
			return call{}, fmt.Errorf("the arguments of %s are not JSON: %w", jsonvalue.Quote(name), err)
		}
		if text, ok := value.(string); ok { // as in chat completions
			if value, err = decode(json.RawMessage(text)); err != nil {
				value = any(text)
			}
			if strings.TrimSpace(text) == "" {
				value = map[string]any{}
			}
		}
		if tooDeep(value, 0) {
			return call{}, fmt.Errorf("the arguments of %s: %w", jsonvalue.Quote(name), errDepth)
		}
		c.args = value
	}
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte(' ')
	jsonvalue.Canonical(&b, c.args)
	c.key = b.String()
	return c, nil
}

// compared returns the calls of the sample, or the verdict if they are not known or cannot be read.
func (s *subject) compared() ([]call, *verdict) {
	recorded, known := s.calls()
	if !known {
		v := notApplicable("the tool calls are not known")
		return nil, &v
	}
	list := make([]call, len(recorded))
	for i := range recorded {
		var err error
		if list[i], err = newCall(recorded[i].Name, recorded[i].Arguments); err != nil {
			v := failed(err)
			return nil, &v
		}
		list[i].recorded = &recorded[i]
	}
	return list, nil
}

var errReferenceCalls = errors.New(`the reference must be a list of tool calls: {"name", "arguments"}, or as in OpenAI's chat completions`)

// wantedCalls reads the calls of a reference.
func wantedCalls(t *template, s *subject) ([]call, *verdict) {
	raw, err := t.value(s)
	if err != nil {
		v := unresolved(err)
		return nil, &v
	}
	calls, err := readCalls(raw)
	if err != nil {
		v := failed(err)
		return nil, &v
	}
	return calls, nil
}

func readCalls(raw json.RawMessage) ([]call, error) {
	var wanted []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Function  *struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &wanted) != nil {
		return nil, errReferenceCalls
	}
	list := make([]call, len(wanted))
	for i, w := range wanted {
		if w.Function != nil {
			w.Name, w.Arguments = w.Function.Name, w.Function.Arguments
		}
		if w.Name == "" {
			return nil, fmt.Errorf("%w: element %d has no name", errReferenceCalls, i)
		}
		var err error
		if list[i], err = newCall(w.Name, w.Arguments); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// argumentRule says how the arguments of two calls are compared.
type argumentRule struct {
	mode string
	// fields are the only members that are compared. nil: all, by the mode.
	fields []string
}

var argumentModes = []string{"exact", "ignore", "subset", "superset"}

// same reports whether a call of the sample is the wanted one.
func (r *argumentRule) same(actual, wanted *call) bool {
	if actual.name != wanted.name {
		return false
	}
	if r.fields != nil {
		a, isObject := actual.args.(map[string]any)
		b, ok := wanted.args.(map[string]any)
		return isObject && ok && !slices.ContainsFunc(r.fields, func(name string) bool {
			x, inA := a[name]
			y, inB := b[name]
			return inA != inB || !jsonvalue.Equal(x, y)
		})
	}
	switch r.mode {
	case "ignore":
		return true
	case "subset":
		return jsonvalue.Includes(wanted.args, actual.args)
	case "superset":
		return jsonvalue.Includes(actual.args, wanted.args)
	}
	return actual.key == wanted.key
}

// matching pairs calls of the sample with wanted ones, as many as possible, each at most once. It returns the index of the wanted call
// for each of the sample, -1 for none (Kuhn's algorithm, which prefers pairs in order).
func matching(ctx context.Context, same [][]bool, wanted int) ([]int, error) {
	of := make([]int, len(same))  // wanted by actual
	holder := make([]int, wanted) // actual by wanted
	for i := range of {
		of[i] = -1
	}
	for j := range holder {
		holder[j] = -1
	}
	var seen []bool
	var augment func(i int) bool
	augment = func(i int) bool {
		for j := range wanted {
			if !same[i][j] || seen[j] {
				continue
			}
			seen[j] = true
			if holder[j] < 0 || augment(holder[j]) {
				of[i], holder[j] = j, i
				return true
			}
		}
		return false
	}
	for i := range same {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		seen = make([]bool, wanted)
		augment(i)
	}
	return of, nil
}

// order is the longest sequence of pairs in the order of both sides.
func order(same [][]bool, wanted int) int {
	lengths := make([]int, wanted+1)
	for i := range same {
		diagonal := 0
		for j := 1; j <= wanted; j++ {
			above := lengths[j]
			if same[i][j-1] {
				lengths[j] = diagonal + 1
			} else {
				lengths[j] = max(lengths[j], lengths[j-1])
			}
			diagonal = above
		}
	}
	return lengths[wanted]
}
