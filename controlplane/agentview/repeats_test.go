package agentview

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// runOf is a run of spans that follow one another, a second each, below the first, which ends last.
func runOf(spans ...runs.Span) *recorded {
	id, start := uuid.UUID{1}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &recorded{spans: map[uint64]runs.Span{}}
	for i := range spans {
		s := &spans[i]
		s.RunID, s.SpanID = id, uint64(i+1)
		s.StartTime, s.EndTime = start.Add(time.Duration(i)*time.Second), start.Add(time.Duration(i+1)*time.Second)
		if i == 0 {
			s.EndTime = start.Add(time.Duration(len(spans)+1) * time.Second)
		} else {
			s.ParentSpanID = 1
		}
		r.spans[s.SpanID] = *s
		r.outline.Spans = append(r.outline.Spans, s.Span)
	}
	r.outline.Run = runmodel.Run{RunID: id, RootSpanID: 1, Name: "run", Status: "ok", StartTime: start, EndTime: spans[0].EndTime}
	return r
}

func message(t *testing.T, role string, parts ...map[string]any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"role": role, "parts": parts})
	require.NoError(t, err)
	return raw
}

// recordedIn returns what a view shows of each step, without marks.
func recordedIn(t *testing.T, r *recorded, options Options) []string {
	t.Helper()
	options.Format = FormatJSON
	var document Document
	require.NoError(t, json.Unmarshal(build(t, r, options).Body, &document))
	require.Len(t, document.Steps, len(r.outline.Spans))
	texts := make([]string, len(document.Steps))
	for i, step := range document.Steps {
		if step.Recorded != "" {
			texts[i] = strings.ReplaceAll(step.Recorded, step.Recorded[1:7], "N")
		}
	}
	return texts
}

// TestEachTextOnce: a tool's result is not shown again in the next prompt, nor what a step around calls repeats of them.
func TestEachTextOnce(t *testing.T) {
	t.Parallel()
	question := "How warm will it be in Reykjavik at the end of next week?"
	page := strings.Repeat("Reykjavik has 9 degrees on Friday, and rain. ", 4)
	forecast, err := json.Marshal(map[string]any{"documents": []any{map[string]any{"id": 7, "text": page}}})
	require.NoError(t, err)
	arguments := `{"place":"Reykjavik","days":14,"units":"metric","source":"met office"}`
	answer := "It will have 9 degrees on Friday in Reykjavik, and rain is likely."
	said := map[string]any{"type": "text", "content": question}
	called := map[string]any{"type": "tool_call", "name": "forecast", "arguments": json.RawMessage(arguments)}
	state, err := json.Marshal(map[string]any{"messages": []any{question + strings.Repeat(" Please.", 10), string(forecast), page}, "turn": 2})
	require.NoError(t, err)
	states := string(state)
	root := runs.Span{Span: runmodel.Span{Name: "graph", Kind: runmodel.KindWorkflow}, Inputs: &question, Outputs: &states}
	first := runs.Span{
		Span: runmodel.Span{Name: "chat", Kind: runmodel.KindLLM}, InputMessages: []json.RawMessage{message(t, "user", said)},
		OutputMessages: []json.RawMessage{message(t, "assistant", called)},
	}
	tool := runs.Span{Span: runmodel.Span{Name: "forecast", Kind: runmodel.KindTool, ToolArguments: arguments, ToolResult: string(forecast)}}
	second := runs.Span{
		Span: runmodel.Span{Name: "chat", Kind: runmodel.KindLLM}, InputMessages: []json.RawMessage{
			message(t, "user", said), message(t, "assistant", called), message(t, "tool", map[string]any{"type": "tool_call_response", "response": json.RawMessage(forecast)}),
		}, OutputMessages: []json.RawMessage{message(t, "assistant", map[string]any{"type": "text", "content": answer})},
	}
	third := runs.Span{
		Span: runmodel.Span{Name: "chat", Kind: runmodel.KindLLM}, InputMessages: []json.RawMessage{message(t, "user", map[string]any{"type": "text", "content": "Shorten this page:\n" + page})},
		OutputMessages: []json.RawMessage{message(t, "assistant", map[string]any{"type": "text", "content": answer})},
	}
	r := runOf(root, first, tool, second, third)
	texts := recordedIn(t, r, Options{Budget: 8000})
	assert.Equal(t, []string{
		`<N output>{"messages":["` + question + strings.Repeat(" Please.", 10) + `","<N = step 3 result>","<N = part of step 3 result>"],"turn":2}<N input = step 2 user></N>`,
		`<N output>forecast(` + arguments + `)<N user>` + question + `</N>`,
		`<N arguments = part of step 2 output><N result>` + string(forecast) + `</N>`,
		`<N output>` + answer + `<N input = step 3 result></N>`,
		`<N output = step 4 output><N user>Shorten this page:` + "\n" + `<N = part of step 3 result></N>`,
	}, texts)
	focused := recordedIn(t, r, Options{Budget: 8000, Focus: "4"})
	assert.Contains(t, focused[3], string(forecast), "the focused step has its texts")
	assert.Contains(t, focused[2], `<N result = step 4 input>`)
}

// TestShortTextsAreShownAgain, because a note is no shorter.
func TestShortTextsAreShownAgain(t *testing.T) {
	t.Parallel()
	short := "Yes."
	step := runs.Span{Span: runmodel.Span{Name: "a", Kind: runmodel.KindTool}, Outputs: &short}
	texts := recordedIn(t, runOf(step, step), Options{Budget: 8000})
	assert.Equal(t, []string{"<N output>Yes.</N>", "<N output>Yes.</N>"}, texts)
}

func TestStackWithoutFramesOfLibraries(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ stack, want string }{
		"Python": {`Traceback (most recent call last):
  File "/app/venv/lib/python3.12/site-packages/langgraph/pregel/main.py", line 2, in invoke
    for chunk in self.stream(
                 ~~~~~~~~~~~^
  File "/app/venv/lib/python3.12/site-packages/langgraph/pregel/loop.py", line 3, in tick
    run()
  File "/app/tools.py", line 12, in find_order
    return orders[order_id]
           ~~~~~~^^^^^^^^^^
  File "/usr/lib/python3.12/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s)
               ^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
KeyError: 'A17'`, `Traceback (most recent call last):
<N 2 frames left out>
  File "/app/tools.py", line 12, in find_order
    return orders[order_id]
<N 1 frame left out>
  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
KeyError: 'A17'`},
		"JavaScript": {`TypeError: no such order
    at lookUp (/app/node_modules/orders/index.js:4:9)
    at /app/node_modules/orders/index.js:9:1
    at findOrder (/app/src/tools.ts:12:3)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`, `TypeError: no such order
    at lookUp (/app/node_modules/orders/index.js:4:9)
<N 1 frame left out>
    at findOrder (/app/src/tools.ts:12:3)
<N 1 frame left out>`},
		"Java": {
			"java.lang.IllegalStateException: no such order\n\tat java.base/java.util.Map.get(Map.java:4)\n\tat com.acme.Tools.find(Tools.java:12)\n\tat org.springframework.web.Call.go(Call.java:1)\n\t... 12 more",
			"java.lang.IllegalStateException: no such order\n\tat java.base/java.util.Map.get(Map.java:4)\n\tat com.acme.Tools.find(Tools.java:12)\n<N 1 frame left out>\n\t... 12 more",
		},
		"Go": {
			"panic: no such order\n\ngoroutine 1 [running]:\nmain.find(...)\n\t/app/main.go:12\nnet/http.HandlerFunc.ServeHTTP(0x1)\n\t/usr/local/go/src/net/http/server.go:2220 +0x29\nmain.main()\n\t/app/main.go:4 +0x1",
			"panic: no such order\n\ngoroutine 1 [running]:\nmain.find(...)\n\t/app/main.go:12\n<N 1 frame left out>\nmain.main()\n\t/app/main.go:4 +0x1",
		},
		"no stack": {"it broke", "it broke"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts := recordedIn(t, runOf(runs.Span{Span: runmodel.Span{Name: "find", Kind: runmodel.KindTool, Status: "error", ErrorStack: one.stack}}), Options{Budget: 8000})
			assert.Equal(t, []string{"<N stack>" + one.want + "</N>"}, texts)
		})
	}
}

// TestAttributes: the header has what the program says of the run, and long metadata does not fill it.
func TestAttributes(t *testing.T) {
	t.Parallel()
	r := runOf(
		runs.Span{Span: runmodel.Span{Name: "root", Kind: runmodel.KindAgent, Status: "ok"}},
		runs.Span{Span: runmodel.Span{Name: "find", Kind: runmodel.KindTool, ToolName: "find", Status: "error", ErrorMessage: "busy"}},
		runs.Span{Span: runmodel.Span{Name: "find", Kind: runmodel.KindTool, ToolName: "find", Status: "ok"}},
	)
	run := &r.outline.Run
	run.SessionID, run.ConversationID, run.UserID, run.Release, run.Environment, run.ErrorCount = "s-1", "s-1", "ann@acme.test", "1.4", "prod", 1
	run.Tags, run.Metadata = []string{"beta", "eu"}, map[string]string{"worker": "w1", "tenant": "acme\nrelease: 9", "prompt": strings.Repeat("Be kind. ", 2000)}
	decode := func() (document Document) {
		require.NoError(t, json.Unmarshal(build(t, r, Options{Budget: 1000, Format: FormatJSON}).Body, &document))
		return document
	}
	document := decode()
	assert.Regexp(t, `(?s)^<(\d{6}) attributes>session_id: s-1
user_id: ann@acme.test
release: 1.4
environment: prod
tags: beta, eu
metadata.prompt: Be kind. .{40,90}… \(\d+ bytes left out\)
metadata.tenant: acme release: 9
metadata.worker: w1</\d{6}>$`, document.Attributes)
	assert.Equal(t, "recovered", document.Run.Outcome)
	assert.Equal(t, 1, document.About.Recovered)
	assert.True(t, document.Steps[1].Recovered)
	assert.False(t, document.Steps[2].Recovered)
	text := string(build(t, r, Options{Budget: 1000, Format: FormatText}).Body)
	assert.Contains(t, text, "\n| metadata.worker: w1</")
	assert.Contains(t, text, ", recovered failures: 1\n")
	assert.Contains(t, text, "\n2. tool find error recovered <")

	for i := range 100 {
		run.Metadata[strings.Repeat("k", i)] = strings.Repeat("v", 40)
	}
	document = decode()
	assert.Contains(t, document.Attributes, "metadata.worker: w1\n(")
	assert.Contains(t, document.Attributes, " more metadata left out)</")
	assert.LessOrEqual(t, Count(document.Attributes), 300)

	run.Fingerprint, run.FailingSpanID = "fp:v3:0123456789abcdef", 2
	document = decode()
	assert.Equal(t, "failed", document.Run.Outcome)
	assert.Equal(t, run.Fingerprint, document.About.Fingerprint)
	assert.Zero(t, document.About.Recovered)
}
