package client

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
)

// ReadResponse reads a body that was recorded: Result.RawResponse, of a stream or not. The result has what the body tells.
// A stream that breaks off is an error.
func ReadResponse(kind llm.Kind, body []byte) (*llm.Result, error) {
	a := &wire.Answer{Structure: &wire.Structure{}, Deliver: func(llm.Delta) error { return nil }}
	var r reader = &wire.OpenAIReader{Answer: a}
	if kind == llm.Anthropic {
		r = &wire.AnthropicReader{Answer: a}
	}
	if body = wire.WithoutMark(body); json.Valid(body) {
		if err := readWhole(r, body); err != nil {
			return nil, fmt.Errorf("read a recorded response: %w", err)
		}
		return a.Result(), nil
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
	if !r.Complete() {
		return nil, &llm.GarbageError{What: "the recorded stream breaks off"}
	}
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("read a recorded stream: %w", err)
	}
	return a.Result(), nil
}
