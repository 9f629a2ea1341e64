package samples

import (
	"encoding/json"
	"fmt"
	"strings"
)

// scenario is a run without ids and times.
type scenario struct {
	Name, Kind string
	// Prompt is whether a version of the prompt made its first call.
	Prompt bool
	// NewestDays is how many days ago runs like it began; 0 is all days.
	NewestDays float64 `json:"newest_days"`
	Tags       []string
	Status     string
	Inputs     json.RawMessage
	Outputs    json.RawMessage
	Error      *failure
	Scores     []score
	Steps      []step

	// id names the case for the dataset.
	id string
	// thread and turn are from 1 for the runs of a conversation.
	thread, turn int
}

type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
}

// score has a value, a number or true or false, or a label.
type score struct {
	Name, Label string
	Value       any
	// Share is how many of the runs have it.
	Share float64
}

// step is a step of a run. Steps follow each other, unless those of the step around them are parallel.
type step struct {
	Kind, Name, Status string
	// Seconds is how long it takes besides its steps; steady is whether it always takes as long.
	Seconds  float64
	Steady   bool
	Provider string
	Model    string
	// Tokens are input, output, and read from the cache.
	Tokens *[3]float64
	System string
	// Says is what the model says, and task what an agent is asked.
	Says, Task        string
	Arguments, Result json.RawMessage
	Inputs, Outputs   json.RawMessage
	Error             *failure
	Parallel          bool
	Steps             []step
}

// expand returns a scenario for each of its cases, with their values in place of ${name}.
func expand(text json.RawMessage) ([]scenario, error) {
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	var cases struct {
		Cases   []map[string]any
		Threads [][]map[string]any
		Times   int
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	for _, name := range []string{"cases", "threads", "times"} {
		delete(whole, name)
	}
	var all []scenario
	for range max(1, cases.Times) {
		for _, values := range cases.Cases {
			one, err := fill(whole, values)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	for i, turns := range cases.Threads {
		for j, values := range turns {
			one, err := fill(whole, values)
			if err != nil {
				return nil, err
			}
			one.thread, one.turn = i+1, j+1
			all = append(all, one)
		}
	}
	return all, nil
}

func fill(whole, values map[string]any) (scenario, error) {
	var one scenario
	filled, err := json.Marshal(substitute(whole, values))
	if err != nil {
		return one, fmt.Errorf("fill in a case: %w", err)
	}
	if i := strings.Index(string(filled), "${"); i >= 0 {
		return one, fmt.Errorf("a case lacks a value: %.30s", filled[i:])
	}
	if err := strict(filled, &one); err != nil {
		return one, err
	}
	one.id, _ = values["id"].(string)
	return one, nil
}

// substitute replaces ${name}. A string of nothing else becomes the value, such as a number.
func substitute(in any, values map[string]any) any {
	switch x := in.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, member := range x {
			out[name] = substitute(member, values)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, element := range x {
			out[i] = substitute(element, values)
		}
		return out
	case string:
		for name, value := range values {
			if x == "${"+name+"}" {
				return value
			}
			x = strings.ReplaceAll(x, "${"+name+"}", fmt.Sprint(value))
		}
		return x
	default:
		return in
	}
}
