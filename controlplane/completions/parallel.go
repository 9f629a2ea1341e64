package completions

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/llm"
)

// withParallel takes parallel_tool_calls out of the extra parameters: the APIs write it in different ways.
func withParallel(request llm.Request) (llm.Request, error) {
	var extra map[string]json.RawMessage
	if err := json.Unmarshal(request.Extra, &extra); err != nil {
		return request, nil //nolint:nilerr // the provider's client refuses what is no object
	}
	switch string(extra["parallel_tool_calls"]) {
	case "true":
		request.ParallelToolCalls = new(true)
	case "false":
		request.ParallelToolCalls = new(false)
	default:
		return request, nil
	}
	delete(extra, "parallel_tool_calls")
	text, err := json.Marshal(extra)
	if err != nil {
		return llm.Request{}, fmt.Errorf("encode parameters: %w", err)
	}
	request.Extra = text
	return request, nil
}
