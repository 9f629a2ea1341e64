package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

// ReadResponse reads a body that was recorded: Result.RawResponse, of a stream or not. The result has what the body tells.
// A stream that breaks off is an error.
func ReadResponse(kind Kind, body []byte) (*Result, error) {
	a := &answer{structure: &structure{}, deliver: func(Delta) error { return nil }}
	var r reader = &openAIReader{answer: a}
	if kind == Anthropic {
		r = &anthropicReader{answer: a}
	}
	if json.Valid(body) {
		if reportsError(body) {
			return nil, &garbageError{what: "the response is an error"}
		}
		if err := r.whole(body); err != nil {
			return nil, fmt.Errorf("read a recorded response: %w", err)
		}
		return a.result(), nil
	}
	events := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{}})
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if len(data) == 0 {
			continue
		}
		if reportsError(data) {
			return nil, &garbageError{what: "the response is an error"}
		}
		last, err := r.event(data)
		if err != nil {
			return nil, fmt.Errorf("read a recorded stream: %w", err)
		}
		if last {
			break
		}
	}
	if err := events.Err(); err != nil {
		return nil, fmt.Errorf("read a recorded stream: %w", err)
	}
	if !r.complete() {
		return nil, &garbageError{what: "the recorded stream breaks off"}
	}
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("read a recorded stream: %w", err)
	}
	return a.result(), nil
}
