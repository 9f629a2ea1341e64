package completions

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestToolAnswers(t *testing.T) {
	t.Parallel()
	answers := toolAnswers{answer: ToolAnswer{Recorded: []RecordedResult{{Content: "1"}, {Arguments: new(`{"city": "Rome"}`), Content: "2"}}}}
	for _, test := range []struct{ arguments, result string }{{`{ "city":"Rome" }`, "2"}, {`{"city":"Paris"}`, "1"}} {
		result, ok := answers.next(test.arguments)
		assert.True(t, ok)
		assert.Equal(t, test.result, result)
	}
	_, ok := answers.next(`{"city":"Oslo"}`)
	assert.False(t, ok, "none is left")
}

func TestParallelToolCalls(t *testing.T) {
	t.Parallel()
	request := Request{Config: Config{Model: "m", Extra: json.RawMessage(`{"parallel_tool_calls":false,"top_k":1}`)}}
	model, err := request.ModelRequest()
	require.NoError(t, err)
	require.NotNil(t, model.ParallelToolCalls)
	assert.False(t, *model.ParallelToolCalls)
	assert.JSONEq(t, `{"top_k":1}`, string(model.Extra))
	request.Config.Extra = json.RawMessage(`{"parallel_tool_calls":"no"}`)
	model, err = request.ModelRequest()
	require.NoError(t, err)
	assert.Nil(t, model.ParallelToolCalls)
	assert.JSONEq(t, `{"parallel_tool_calls":"no"}`, string(model.Extra), "the provider refuses it")
}
