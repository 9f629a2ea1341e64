package engine

import (
	"encoding/json"
	"strings"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// differ notes that the output of a step differs from the recorded one. The step is -1 for the input of the run.
func (e *engine) differ(i int, was, now string) {
	was = strings.TrimSpace(was)
	if was == "" || was == strings.TrimSpace(now) {
		return
	}
	e.changed[was] = now
	e.repeated[was] = i >= 0 && e.WasTold(i, was)
}

// dependence is how a recorded text depends on outputs that differ.
type dependence int

const (
	independent dependence = iota
	// derived: it is such an output, or a JSON value that has it as a string.
	derived
	// contained: it has such an output among others, and only the program knows how.
	contained
	// awaited: it has the output of a call that a plan does not make.
	awaited
)

// renew returns a recorded text with the outputs that differ replaced.
func (e *engine) renew(text string) (string, dependence) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || len(e.changed)+len(e.open)+len(e.lost) == 0 {
		return text, independent
	}
	if now, ok := e.changed[trimmed]; ok {
		return now, derived
	}
	if e.open[trimmed] {
		return text, awaited
	}
	out, found := text, independent
	if trimmed[0] == '{' || trimmed[0] == '[' || trimmed[0] == '"' {
		var value any
		decoder := json.NewDecoder(strings.NewReader(trimmed))
		decoder.UseNumber()
		if decoder.Decode(&value) == nil && !decoder.More() {
			value, found = e.renewValue(value)
			if found == derived {
				if raw, err := jsontext.Encode(value); err == nil {
					out = string(raw)
				}
			}
		}
	}
	if found == independent && e.mentions(text) {
		found = contained
	}
	return out, found
}

// renewValue replaces strings of a JSON value.
func (e *engine) renewValue(value any) (any, dependence) {
	found := independent
	switch v := value.(type) {
	case string:
		if now, ok := e.changed[strings.TrimSpace(v)]; ok {
			return now, derived
		}
		if e.open[strings.TrimSpace(v)] {
			return v, awaited
		}
		if e.mentions(v) {
			return v, contained
		}
	case []any:
		for i := range v {
			var d dependence
			v[i], d = e.renewValue(v[i])
			found = max(found, d)
		}
	case map[string]any:
		for name := range v {
			var d dependence
			v[name], d = e.renewValue(v[name])
			found = max(found, d)
		}
	}
	return value, found
}

// mentions reports whether a text has an output that differs. Short ones are too common to tell.
func (e *engine) mentions(text string) bool {
	for was := range e.changed {
		if len(was) >= recorded.ShortestOutput && !e.repeated[was] && strings.Contains(text, was) {
			return true
		}
	}
	for _, texts := range []map[string]bool{e.open, e.lost} {
		for was := range texts {
			if len(was) >= recorded.ShortestOutput && strings.Contains(text, was) {
				return true
			}
		}
	}
	return false
}
