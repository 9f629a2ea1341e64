package genaispans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestNativeMessages checks that inputs and outputs of native runs in the shapes of OpenAI's and Anthropic's APIs become messages, and
// that others do not.
func TestNativeMessages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ inputs, outputs, wantInput, wantOutput string }{
		"OpenAI": {
			inputs:     `{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]}`,
			outputs:    `{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A cat."}}]}`,
			wantInput:  `[{"role":"system","parts":[{"type":"text","content":"Be brief."}]},{"role":"user","parts":[{"type":"text","content":"What is it?"},{"type":"uri","modality":"image","uri":"https://example.com/a.png"}]}]`,
			wantOutput: `[{"role":"assistant","parts":[{"type":"text","content":"A cat."}],"finish_reason":"stop"}]`,
		},
		"a list, and one message": {
			inputs:     `[{"role": "user", "content": "Hi"}]`,
			outputs:    `{"role": "assistant", "content": "Hello"}`,
			wantInput:  `[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`,
			wantOutput: `[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]`,
		},
		"Anthropic": {
			inputs:     `{"model": "claude", "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, {"type": "text", "text": "Read it"}]}]}`,
			outputs:    `{"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Seven"}], "stop_reason": "end_turn"}`,
			wantInput:  `[{"role":"user","parts":[{"type":"blob","modality":"image","mime_type":"image/png","content":"AAAA"},{"type":"text","content":"Read it"}]}]`,
			wantOutput: `[{"role":"assistant","parts":[{"type":"text","content":"Seven"}],"finish_reason":"end_turn"}]`,
		},
		"others": {inputs: `{"city": "Paris", "role": "guide"}`, outputs: `[{"content": "no role"}]`},
		"texts":  {inputs: "Hi", outputs: "Hello"},
	} {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.Attributes().PutStr(runmodel.KeyKind, runmodel.KindAgent)
		s.Attributes().PutStr(runmodel.KeyInputs, test.inputs)
		s.Attributes().PutStr(runmodel.KeyOutputs, test.outputs)
		NewMapper(nil).Map(td)
		for key, want := range map[string]string{runmodel.KeyInputMessages: test.wantInput, runmodel.KeyOutputMessages: test.wantOutput} {
			got, ok := s.Attributes().Get(key)
			if assert.Equal(t, want != "", ok, "%s: %s", name, key) && ok {
				assert.JSONEq(t, want, got.AsString(), "%s: %s", name, key)
			}
		}
		inputs, _ := s.Attributes().Get(runmodel.KeyInputs)
		assert.Equal(t, test.inputs, inputs.Str(), "kept as sent")
	}
}
