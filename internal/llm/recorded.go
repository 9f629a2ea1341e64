package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ReadResponse reads a body that was recorded: Result.RawResponse, of a stream or not. The result has what the body tells.
// A stream that breaks off is an error.
func ReadResponse(kind Kind, body []byte) (*Result, error) {
	a := &answer{structure: &structure{}, deliver: func(Delta) error { return nil }}
	var r reader = &openAIReader{answer: a}
	if kind == Anthropic {
		r = &anthropicReader{answer: a}
	}
	if body = withoutMark(body); json.Valid(body) {
		if err := readWhole(r, body); err != nil {
			return nil, fmt.Errorf("read a recorded response: %w", err)
		}
		return a.result(), nil
	}
	for event, err := range events(bytes.NewReader(body)) {
		if err != nil {
			return nil, fmt.Errorf("read a recorded stream: %w", err)
		}
		last, err := readEvent(r, event)
		if err != nil {
			return nil, fmt.Errorf("read a recorded stream: %w", err)
		}
		if last {
			break
		}
	}
	if !r.complete() {
		return nil, &garbageError{what: "the recorded stream breaks off"}
	}
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("read a recorded stream: %w", err)
	}
	return a.result(), nil
}
