package mapping

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const spans = `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"acme.llm"},"spans":[
	{"traceId":"0199e0a1000070008000000000000001","spanId":"00000000000000a1","name":"call \u001b[31mred","attributes":[
		{"key":"acme.model","value":{"stringValue":"gpt-5"}},{"key":"gen_ai.usage.input_tokens","value":{"stringValue":"12"}},
		{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]},
	{"traceId":"0199e0a1000070008000000000000001","spanId":"00000000000000a2","name":"GET /"}]}]}]}`

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := New()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(append([]string{"test"}, args...))
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSpansAreExplained(t *testing.T) {
	t.Parallel()
	config := write(t, "config.yaml", `
processors:
  memory_limiter: {check_interval: 1s}
  genaisemconv:
    rules:
      - to: gen_ai.request.model
        from: [acme.model]
        when: {scope: "acme.*"}
`)
	want := `span 00000000000000a1 call \x1b[31mred
  scope   acme.llm
  dialect otel-genai
  gen_ai.operation.name = chat  (unchanged)
  gen_ai.provider.name = openai  ← model
  gen_ai.request.model = gpt-5  ← acme.model (rule of the configuration)
  gen_ai.usage.input_tokens = 12  (unchanged)
  looptrace.dialect = otel-genai

span 00000000000000a2 GET /
  scope   acme.llm
  dialect none: it is not GenAI and stays unchanged
`
	got, err := run(t, write(t, "spans.json", spans), "--config", config)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(spans))
	require.NoError(t, err)
	proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	fromProto, err := run(t, write(t, "spans.pb", string(proto)), "--config", config)
	require.NoError(t, err)
	assert.Equal(t, got, fromProto)
}

func TestLogsAreExplained(t *testing.T) {
	t.Parallel()
	got, err := run(t, write(t, "logs.json", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"gen_ai.user.message",
		"traceId":"0199e0a1000070008000000000000001","spanId":"00000000000000a1","body":{"kvlistValue":{"values":[{"key":"content","value":{"stringValue":"Hi"}}]}}}]}]}]}`))
	require.NoError(t, err)
	assert.Contains(t, got, `gen_ai.input.messages = [{"role":"user","parts":[{"type":"text","content":"Hi"}]}]  ← events`)
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	good := write(t, "spans.json", spans)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no file":      {[]string{"nowhere.json"}, "nowhere.json"},
		"no spans":     {[]string{write(t, "empty.json", `{}`)}, "has no spans"},
		"not OTLP":     {[]string{write(t, "text", "hello")}, "read "},
		"no processor": {[]string{good, "--config", write(t, "c.yaml", "processors: {batch: {}}")}, "has no processor genaisemconv"},
		"two":          {[]string{good, "--config", write(t, "c.yaml", "processors: {genaisemconv/a: {}, genaisemconv/b: {}}")}, "has several: genaisemconv/a, genaisemconv/b"},
		"wrong rule":   {[]string{good, "--config", write(t, "c.yaml", "processors: {genaisemconv: {rules: [{to: x}]}}")}, "processors.genaisemconv: rules[0].from is empty"},
		"unknown":      {[]string{good, "--config", write(t, "c.yaml", "processors: {genaisemconv: {rule: []}}")}, "rule"},
	} {
		_, err := run(t, c.args...)
		require.ErrorContains(t, err, c.want, name)
	}
}
