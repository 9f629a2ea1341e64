package edit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	r := b.Read()
	model, tool := `{"span_id":"`+b.ID(models[1])+`"}`, `{"span_id":"`+b.ID(tools[1])+`"}`
	for _, test := range []struct{ edits, location, message string }{
		{`[{"target":` + model + `,"set":{}}]`, "[0].set", "sets nothing"},
		{`[{"target":` + model + `,"set":{"model":"a","system_prompt":"b"}}]`, "[0].set", "several"},
		{`[{"target":{},"set":{"model":"a"}}]`, "[0].target", "empty"},
		{`[{"target":{"span_id":"1","kind":"llm"},"set":{"model":"a"}}]`, "[0].target", "other members"},
		{`[{"target":{"span_id":"ffffffffffffffff"},"set":{"model":"a"}}]`, "[0].target.span_id", "no step"},
		{`[{"target":` + tool + `,"set":{"model":"a"}}]`, "[0].target.span_id", "call of a model"},
		{`[{"target":` + model + `,"set":{"tool_result":1}}]`, "[0].target.span_id", "call of a tool"},
		{`[{"target":{"kind":"tool","name":"wether"},"set":{"tool_error":{"message":"x"}}}]`, "[0].target", "It has \"weather\"."},
		{`[{"target":{"kind":"tool","name":"weather"},"set":{"tool_result":1}}]`, "[0].target", "ambiguous: it names 2 steps"},
		{`[{"target":"all","set":{"response":{"role":"assistant","content":"x"}}}]`, "[0].target", b.ID(models[0])},
		{`[{"target":` + model + `,"set":{"input":"x"}}]`, "[0].target", "all"},
		{`[{"target":` + model + `,"set":{"model":""}}]`, "[0].set.model", "empty"},
		{`[{"target":` + model + `,"set":{"params":{"temperature":"hot"}}}]`, "[0].set.params.temperature", "cannot be sent"},
		{`[{"target":` + model + `,"set":{"params":{"tools":[]}}}]`, "[0].set.params.tools", "tool definition"},
		{`[{"target":` + model + `,"set":{"system_prompt":""}}]`, "[0].set.system_prompt", "edit the messages"},
		{`[{"target":` + model + `,"set":{"messages":[]}}]`, "[0].set.messages", "at least one"},
		{`[{"target":` + model + `,"set":{"messages":[{"role":"user","parts":[]}]}}]`, "[0].set.messages[0]", "content instead of parts"},
		{`[{"target":` + model + `,"set":{"messages":[{"role":"boss","content":"x"}]}}]`, "[0].set.messages[0].role", "boss"},
		{`[{"target":` + model + `,"set":{"messages":[{"role":"tool","content":"x"}]}}]`, "[0].set.messages[0].tool_call_id", "missing"},
		{`[{"target":` + model + `,"set":{"messages":[{"role":"user"}]}}]`, "[0].set.messages[0].content", "missing"},
		{`[{"target":` + model + `,"set":{"response":{"role":"user","content":"x"}}}]`, "[0].set.response.role", "assistant"},
		{`[{"target":` + model + `,"set":{"response":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":"Paris"}}]}}}]`, "[0].set.response.tool_calls[0].function.arguments", "JSON object"},
		{`[{"target":` + model + `,"set":{"tool_schema":{"name":"x"}}}]`, "[0].set.tool_schema", "function"},
		{`[{"target":` + model + `,"set":{"prompt":{"id":"p","version":1,"messages":[]}}}]`, "[0].set.prompt.messages", "at least one"},
		{`[{"target":` + tool + `,"set":{"tool_error":{}}}]`, "[0].set.tool_error", "empty"},
		{`[{"target":` + tool + `,"set":{"tool_error":{"remove":true}}}]`, "[0].set.tool_error", "empty"}, // of an earlier version
		{`[{"target":` + tool + `,"set":{"timeout_ms":0}}]`, "[0].set.timeout_ms", "from 1"},
		{`[{"target":` + tool + `,"set":{"retries":101}}]`, "[0].set.retries", "to 100"},
		{`[{"target":"all","set":{"tool_error":{"type":"Down"}}}]`, "[0].target", `{"kind": "tool"}`},
		{`[{"target":"all","set":{"tool_result":1}}]`, "[0].target", `{"kind": "tool"}`},
		{`[{"target":"all","set":{"input":""}}]`, "[0].set.input", "empty"},
		{`[{"target":"all","set":{"model":"a"}},{"target":` + model + `,"set":{"model":"b"}}]`, "[1].set.model", "edit 1"},
	} {
		_, err := edit.Check(r, recordedtest.Parse(t, test.edits), "body.edits")
		require.Error(t, err, test.edits)
		p := problem.Of(err)
		require.NotNil(t, p)
		assert.Equal(t, problem.Invalid, p.Kind)
		assert.Equal(t, "body.edits"+test.location, p.Fields[0].Location, test.edits)
		assert.Contains(t, p.Fields[0].Message, test.message, test.edits)
	}
	_, err := edit.Check(r, make([]edit.Edit, edit.MaxEdits+1), "body.edits")
	require.ErrorContains(t, err, "at most 100")
}

func TestHash(t *testing.T) {
	t.Parallel()
	hashOf := func(edits string) string {
		out, err := edit.Hash(recordedtest.Parse(t, edits))
		require.NoError(t, err)
		return out
	}
	a := hashOf(`[{"target":"all","set":{"params":{"temperature":0.50,"top_p":1}}}]`)
	assert.Len(t, a, 64)
	assert.Equal(t, a, hashOf(`[ {"set": {"params": {"top_p": 1.0, "temperature": 5e-1}}, "target": "all"} ]`))
	assert.NotEqual(t, a, hashOf(`[{"target":"all","set":{"params":{"temperature":0.5}}}]`))
	assert.NotEqual(t, a, hashOf(`[{"target":{"kind":"llm"},"set":{"params":{"temperature":0.5,"top_p":1}}}]`))
	null, err := edit.Hash(nil)
	require.NoError(t, err)
	assert.Equal(t, null, hashOf(`[]`))
	assert.NotEqual(t, hashOf(`[{"target":"all","set":{"retries":0}}]`), hashOf(`[{"target":"all","set":{"timeout_ms":1}}]`))
	for _, edits := range []string{`[{"target":"all","set":{"model":"m"}}]`, `[{"target":{"kind":"tool","name":"x"},"set":{"tool_result":{"a":1}}}]`} {
		assert.JSONEq(t, edits, string(recordedtest.Raw(t, recordedtest.Parse(t, edits))))
	}
}

func TestCheckNeedsRecording(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	b.Spans[models[0]].InputMessages = nil
	r := b.Read()
	require.Equal(t, recorded.LevelStructure, r.Replayability.Level)
	_, err := edit.Check(r, recordedtest.Parse(t, `[{"target":"all","set":{"model":"m"}}]`), "edits")
	require.ErrorContains(t, err, "LOOPTRACE_CAPTURE_CONTENT")
	recordedtest.Checked(t, r, `[{"target":"all","set":{"timeout_ms":1000}}]`)
}
