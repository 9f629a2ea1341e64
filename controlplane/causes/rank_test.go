package causes_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/causes"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// program is what an agent is made of. Its run calls a model, looks something up, and books it.
type program struct {
	instructions, model, temperature string
	definition                       string // of lookup, "" for none
	result                           string // of lookup
	timeout                          string // of book
	took                             time.Duration
	lookups                          int
	attributes                       map[string]string
	fails                            string // the error of book
	again                            bool   // book is called again after it failed
}

func usual() program {
	return program{instructions: "Be kind.", model: "large", temperature: "0.2", definition: "Finds it.", result: `{"id": 1}`, took: time.Second, lookups: 1}
}

// record makes the nth run of a program.
func record(t *testing.T, n int, p program) *causes.Recorded {
	t.Helper()
	r := &causes.Recorded{ID: uuid.New(), Start: time.Date(2026, 11, 2, 8, n, 0, 0, time.UTC)}
	for name, value := range p.attributes {
		r.Names, r.Values = append(r.Names, name), append(r.Values, value)
	}
	at := r.Start
	add := func(kind, name string, took time.Duration) *recorded.Span {
		r.Spans = append(r.Spans, recorded.Span{Span: runmodel.Span{
			SpanID: uint64(len(r.Spans) + 1), ParentSpanID: 1, StartTime: at, EndTime: at.Add(took), Name: name, Kind: kind, Status: "ok", ToolName: map[bool]string{true: name}[kind == "tool"],
		}})
		at = at.Add(took + time.Millisecond)
		return &r.Spans[len(r.Spans)-1]
	}
	root := add("agent", "helper", 0)
	root.ParentSpanID, root.AgentName, root.EndTime = 0, "helper", at.Add(time.Minute)
	call := add("llm", "chat", time.Second)
	call.RequestModel = p.model
	if p.temperature != "" {
		call.AttributesJSON = map[string]string{"gen_ai.request.temperature": p.temperature}
	}
	text := fmt.Sprintf("%s Today is %s.", p.instructions, r.Start.Add(time.Duration(n)*24*time.Hour).Format(time.DateOnly))
	call.SystemInstructions = []json.RawMessage{raw(t, map[string]string{"type": "text", "content": text})}
	call.InputMessages = []json.RawMessage{json.RawMessage(`{"role":"user","parts":[{"type":"text","content":"Book it."}]}`)}
	call.ToolDefinitions = []json.RawMessage{json.RawMessage(`{"type":"function","name":"book","description":"Books it.","parameters":{"type":"object"}}`)}
	if p.definition != "" {
		call.ToolDefinitions = append(call.ToolDefinitions, raw(t, map[string]any{
			"type": "function", "name": "lookup", "description": p.definition, "parameters": map[string]any{"type": "object"},
		}))
	}
	for range p.lookups {
		add("tool", "lookup", time.Second).ToolResult = p.result
	}
	book := add("tool", "book", p.took)
	if p.timeout != "" {
		book.AttributesJSON = map[string]string{"looptrace.timeout_ms": p.timeout}
	}
	if p.fails != "" {
		book.Status, book.ErrorType, book.ErrorMessage = "error", "ToolError", p.fails
		if r.FailingSpanID = book.SpanID; p.again {
			r.FailingSpanID = 0
			add("tool", "book", p.took)
		}
	}
	return r
}

func raw(t *testing.T, value any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

// TestEdits finds one change each, says it in words, and undoes it.
func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		good, bad  func(p *program)
		title      string
		edits, why string
	}{
		{
			name: "model", bad: func(p *program) { p.model = "small" }, title: "The model is small instead of large",
			edits: `[{"target":"all","set":{"model":"large"}}]`,
		},
		{
			name: "parameter", bad: func(p *program) { p.temperature = "1.2" }, title: "The parameter temperature is 1.2 instead of 0.2",
			edits: `[{"target":"all","set":{"params":{"temperature":0.2}}}]`,
		},
		{
			name: "parameter that good runs lack", good: func(p *program) { p.temperature = "" }, title: "The parameter temperature is 0.2 instead of absent",
			edits: `[{"target":"all","set":{"params":{"temperature":null}}}]`,
		},
		{
			name: "parameter that failed runs lack", bad: func(p *program) { p.temperature = "" }, title: "The parameter temperature is absent instead of 0.2",
			edits: `[{"target":"all","set":{"params":{"temperature":0.2}}}]`,
		},
		{
			name: "instructions, not their dates", bad: func(p *program) { p.instructions = "Be rude." }, title: "The instructions say rude. instead of kind.",
			edits: `[{"target":"all","set":{"system_prompt":"Be kind. Today is 2026-11-02."}}]`,
		},
		{
			name: "tool definition", bad: func(p *program) { p.definition = "Finds all." }, title: "The tool lookup has the description all. instead of it.",
			edits: `[{"target":"all","set":{"tool_schema":{"type":"function","function":{"name":"lookup","description":"Finds it.","parameters":{"type":"object"}}}}}]`,
		},
		{
			name: "tool that is not offered", bad: func(p *program) { p.definition, p.lookups = "", 0 }, title: "The tool lookup is not offered",
			edits: `[{"target":"all","set":{"tool_schema":{"type":"function","function":{"name":"lookup","description":"Finds it.","parameters":{"type":"object"}}}}}]`,
		},
		{
			name: "tool that good runs are not offered", good: func(p *program) { p.definition, p.lookups = "", 0 }, title: "The tool lookup is offered",
			why: "An edit changes or adds a tool, but takes none away.",
		},
		{
			name: "tool result that is empty", bad: func(p *program) { p.result = "[]" }, title: "The tool lookup returns nothing",
			edits: `[{"target":{"kind":"tool","name":"lookup"},"set":{"tool_result":"{\"id\": 1}"}}]`,
		},
		{
			name: "tool result of another shape", bad: func(p *program) { p.result = `{"key": "a"}` }, title: "The tool lookup returns {key: string} instead of {id: number}",
			edits: `[{"target":{"kind":"tool","name":"lookup"},"set":{"tool_result":"{\"id\": 1}"}}]`,
		},
		{
			name: "tool result of several calls", good: func(p *program) { p.lookups = 2 }, bad: func(p *program) { p.result, p.lookups = `{"error": "busy"}`, 2 },
			title: "The tool lookup returns an error", why: "Most failed runs call the tool several times, and an edit sets the result of one call.",
		},
		{
			name: "timeout that is recorded", good: func(p *program) { p.timeout = "5000" }, bad: func(p *program) { p.timeout = "500" },
			title: "The tool book has a timeout of 500ms instead of 5s", edits: `[{"target":{"kind":"tool","name":"book"},"set":{"timeout_ms":5000}}]`,
		},
		{
			name: "timeout that is not recorded", good: func(p *program) { p.took = 3210 * time.Millisecond }, bad: func(p *program) { p.took, p.fails = time.Second, "timed out" },
			title: "The tool book is cut off before the 3.21s that good calls take", edits: `[{"target":{"kind":"tool","name":"book"},"set":{"timeout_ms":3300}}]`,
		},
		{
			name: "retry", good: func(p *program) { p.fails, p.again = "busy", true }, title: "The tool book is not called again after it failed",
			edits: `[{"target":{"kind":"tool","name":"book"},"set":{"retries":1}}]`,
		},
		{
			name: "order", bad: func(p *program) { p.lookups = 0 }, title: "The tool book is called without lookup before it",
			why: "The model or the program decides the order of calls. Change the instructions or the tool's description, or the program.",
		},
		{
			name: "release", good: func(p *program) { p.attributes = map[string]string{"release": "1"} }, bad: func(p *program) { p.attributes = map[string]string{"release": "2"} },
			title: "The release is 2 instead of 1", why: "A release stands for all that changed with it. Code that changed is not run by a replay.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			place := causes.Place{Tool: "book"}
			var failed, good []causes.Run
			for n := range 8 {
				bad, well := usual(), usual()
				if bad.fails = "busy"; c.bad != nil {
					c.bad(&bad)
				}
				if c.good != nil {
					c.good(&well)
				}
				failed = append(failed, causes.Describe(record(t, n, bad), place))
				good = append(good, causes.Describe(record(t, n, well), place))
			}
			ranking := causes.Rank(failed, good, place)
			require.NotEmpty(t, ranking.Candidates)
			first := ranking.Candidates[0]
			assert.Equal(t, c.title, first.Title)
			assert.True(t, first.Separates())
			assert.Equal(t, c.why, first.WhyNoEdit)
			if c.why != "" {
				assert.Empty(t, first.Edits)
				return
			}
			assert.JSONEq(t, c.edits, string(raw(t, first.Edits)))
		})
	}
}

// TestMovesTogether names what the same runs have: the cause that an edit can change comes before the label.
func TestMovesTogether(t *testing.T) {
	t.Parallel()
	place := causes.Place{Tool: "book"}
	var failed, good []causes.Run
	for n := range 8 {
		bad, well := usual(), usual()
		bad.fails, bad.model, bad.attributes = "busy", "small", map[string]string{"release": "2", "tag": fmt.Sprint(n)}
		well.attributes = map[string]string{"release": "1", "tag": fmt.Sprint(n)}
		failed, good = append(failed, causes.Describe(record(t, n, bad), place)), append(good, causes.Describe(record(t, n, well), place))
	}
	ranking := causes.Rank(failed, good, place)
	require.Len(t, ranking.Candidates, 2)
	assert.Equal(t, 1, ranking.Tested, "the same runs have both, and no tag is had by two runs")
	assert.Equal(t, causes.Model, ranking.Candidates[0].Kind)
	assert.Equal(t, []string{"The release is 2 instead of 1"}, ranking.Candidates[0].MovesWith)
	assert.Equal(t, causes.Release, ranking.Candidates[1].Kind)
}

// TestNothingSeparates has no candidates for runs that are alike, few or none.
func TestNothingSeparates(t *testing.T) {
	t.Parallel()
	place := causes.Place{Tool: "book"}
	bad := usual()
	bad.fails = "busy"
	one, other := causes.Describe(record(t, 1, bad), place), causes.Describe(record(t, 2, usual()), place)
	for _, good := range [][]causes.Run{nil, {other}, {other, other, other, other, other, other}} {
		assert.Empty(t, causes.Rank([]causes.Run{one, one, one, one, one, one}, good, place).Candidates)
	}
	assert.Empty(t, causes.Rank(nil, nil, place).Candidates)
}
