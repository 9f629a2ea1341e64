package runmodel

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// agentSpan is a span of a run whose root is span 1 and begins at second 0.
func agentSpan(id, parent uint64, second int, change func(*Span)) Span {
	start := time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC)
	s := Span{SpanID: id, ParentSpanID: parent, Version: 1000 + id, StartTime: start, EndTime: start.Add(time.Second), Kind: KindLLM}
	change(&s)
	return s
}

func agentRun() []Span {
	call := func(s *Span) {
		s.RequestModel, s.InputMessageIDs, s.SystemMessageTextID = "gpt-5", []uint64{1, 2}, 7
		s.AgentParts = map[string]string{PartInstructions: "aa", PartTool + "search": "bb", PartParameter + "temperature": "0"}
	}
	return []Span{
		agentSpan(1, 0, 0, func(s *Span) { s.Kind, s.AgentName = KindAgent, "clerk" }),
		agentSpan(2, 1, 1, call),
		agentSpan(3, 1, 2, func(s *Span) { s.Kind, s.ToolName = KindTool, "search" }),
		agentSpan(5, 1, 4, call),
	}
}

func TestAgentReleaseDoesNotDependOnThePath(t *testing.T) {
	t.Parallel()
	want := Totals(agentRun())
	assert.Len(t, want.AgentRelease, 12)
	assert.Equal(t, map[string]string{PartModel: "gpt-5", PartInstructions: "aa", PartTool + "search": "bb", PartParameter + "temperature": "0"}, want.AgentParts)
	assert.Empty(t, want.AgentReleaseMissing())

	for name, change := range map[string]func([]Span) []Span{
		"no tool": func(spans []Span) []Span { return spans[:2] },
		"another one": func(spans []Span) []Span {
			return append(spans, agentSpan(6, 1, 5, func(s *Span) { s.RequestModel = "other" }))
		},
		"a subagent below a tool, in its first call": func(spans []Span) []Span {
			return append(spans, agentSpan(6, 3, 0, func(s *Span) { s.RequestModel, s.InputMessageIDs = "mini", []uint64{9} }))
		},
		"a check that is faster": func(spans []Span) []Span {
			return append(spans, agentSpan(6, 1, 0, func(s *Span) { s.Kind = KindGuardrail }),
				agentSpan(7, 6, 0, func(s *Span) { s.RequestModel, s.InputMessageIDs = "mini", []uint64{9} }))
		},
		"another agent that is faster": func(spans []Span) []Span {
			return append(spans, agentSpan(6, 1, 0, func(s *Span) { s.Kind, s.AgentName = KindAgent, "helper" }),
				agentSpan(7, 6, 0, func(s *Span) { s.RequestModel, s.InputMessageIDs = "mini", []uint64{9} }))
		},
		"a first try that failed": func(spans []Span) []Span {
			return append(spans, agentSpan(6, 1, 0, func(s *Span) { s.RequestModel, s.Status = "gpt-5", StatusError }))
		},
		"received twice": func(spans []Span) []Span { return append(spans, spans...) },
		"parts from its agent": func(spans []Span) []Span {
			spans[0].AgentParts, spans[0].InstructionsTextID, spans[0].InstructionsID = spans[1].AgentParts, 7, 3
			spans[1].AgentParts, spans[1].SystemMessageTextID = nil, 0
			return spans
		},
	} {
		spans := change(agentRun())
		for range 5 {
			rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
			assert.Equal(t, want.AgentRelease, Totals(spans).AgentRelease, name)
		}
	}
	for name, change := range map[string]func([]Span){
		"model":        func(spans []Span) { spans[1].RequestModel = "gpt-5-mini" },
		"instructions": func(spans []Span) { spans[1].AgentParts[PartInstructions] = "ab" },
		"tool":         func(spans []Span) { spans[1].AgentParts[PartTool+"search"] = "bc" },
		"more tools":   func(spans []Span) { spans[1].AgentParts[PartTool+"buy"] = "bb" },
		"parameter":    func(spans []Span) { spans[1].AgentParts[PartParameter+"temperature"] = "1" },
		"prompt":       func(spans []Span) { spans[0].PromptName, spans[0].PromptVersion = "clerk", "3" },
	} {
		spans := agentRun()
		change(spans)
		assert.NotEqual(t, want.AgentRelease, Totals(spans).AgentRelease, name)
	}
}

func TestAgentReleaseMissing(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func([]Span){
		NoModelCall: func(spans []Span) { spans[1].Kind, spans[3].Kind = KindTask, KindTask },
		NoModel:     func(spans []Span) { spans[1].RequestModel = "" },
		// A span that was stored before there were parts.
		NoInstructions: func(spans []Span) { spans[1].AgentParts = nil },
	} {
		spans := agentRun()
		change(spans)
		run := Totals(spans)
		assert.Empty(t, run.AgentRelease)
		assert.Equal(t, want, run.AgentReleaseMissing())
	}
	spans := agentRun()
	spans[1].AgentParts = map[string]string{PartInstructions: WithoutInstructions}
	without := Totals(spans)
	assert.NotEmpty(t, without.AgentRelease, "an agent may have no instructions")
	spans[0].AgentParts = map[string]string{PartInstructions: "aa"}
	assert.NotEqual(t, without.AgentRelease, Totals(spans).AgentRelease, "its agent says them")

	prompt := agentRun()
	prompt[1].AgentParts, prompt[0].AgentParts = nil, map[string]string{PartInstructions: WithoutInstructions}
	assert.Equal(t, NoInstructions, new(Totals(prompt)).AgentReleaseMissing(), "a record of what the user said is no request to a model")

	later := agentRun()[1:2]
	later[0].Version, later[0].FromLog, later[0].AgentParts = 2000, true, map[string]string{PartInstructions: WithoutInstructions}
	want, more := Totals(agentRun()), Totals(append(agentRun(), later...))
	assert.Equal(t, want.AgentRelease, more.AgentRelease, "a record of the call has other messages")
}

func TestToolParts(t *testing.T) {
	t.Parallel()
	parts := ToolParts(`[{"type":"function","name":"a","description":"x"},{"type":"function","function":{"name":"b"}}]`)
	assert.Len(t, parts, 2)
	assert.Equal(t, parts, ToolParts(`[ {"function": {"name": "b"}, "type": "function"}, {"description": "x", "name": "a", "type": "function"} ]`))
	changed := ToolParts(`[{"type":"function","name":"a","description":"y"},{"type":"function","function":{"name":"b"}}]`)
	assert.NotEqual(t, parts[PartTool+"a"], changed[PartTool+"a"])
	assert.Equal(t, parts[PartTool+"b"], changed[PartTool+"b"])
	nameless := ToolParts(`[{"type":"code_interpreter"},{"type":"web_search"}]`)
	assert.Len(t, nameless, 1)
	assert.Equal(t, nameless, ToolParts(`[{"type":"web_search"},{"type":"code_interpreter"}]`))
	assert.Equal(t, ToolParts(`[{"name":"a","x":1},{"name":"a","x":2}]`), ToolParts(`[{"name":"a","x":2},{"name":"a","x":1}]`))
	for _, text := range []string{"", "{}", "[", `"a"`} {
		assert.Empty(t, ToolParts(text), text)
	}
}

func TestParameterParts(t *testing.T) {
	t.Parallel()
	span := Span{
		Attributes: map[string]string{"gen_ai.request.temperature": "0.70", "gen_ai.request.user": "u1", "gen_ai.request.reasoning.level": "high"},
		AttributesJSON: map[string]string{
			"gen_ai.request.max_tokens": "100", "gen_ai.request.seed": "7", "gen_ai.request.stream": "true", "gen_ai.request.stop_sequences": `["a"]`,
			"gen_ai.request.top_p": "null",
		},
	}
	assert.Equal(t, map[string]string{
		PartParameter + "temperature": "0.7", PartParameter + "max_tokens": "100", PartParameter + "stop": `["a"]`, PartParameter + "reasoning_effort": "high",
	}, span.ParameterParts())
	assert.Nil(t, (&Span{Attributes: map[string]string{"temperature": "1"}}).ParameterParts())
}

func TestWithoutOwnValues(t *testing.T) {
	t.Parallel()
	ann := Span{UserID: "ann", Metadata: map[string]string{"customer_name": "Ann Lee", "tier": "gold", "prompt_name": "clerk"}, InputPreview: "Where is my order of last week?"}
	bob := Span{UserID: "bob", Metadata: map[string]string{"customer_name": "Bob", "tier": "free", "prompt_name": "other"}, InputPreview: "hi"}
	assert.Equal(t, "You help <own> (<own>), a gold or free annual customer of the clerk. Asked: <own>",
		ann.WithoutOwnValues("You help Ann Lee (ann), a gold or free annual customer of the clerk. Asked: Where is my order of last week?"))
	assert.Equal(t, "You help <own> (<own>), a gold or free bobcat of the other. Say hi.",
		bob.WithoutOwnValues("You help Bob (bob), a gold or free bobcat of the other. Say hi."))
}
