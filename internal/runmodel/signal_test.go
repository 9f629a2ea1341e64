package runmodel

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// signalRun builds a run of one agent, step by step, a second each.
type signalRun struct{ spans []Span }

func newSignalRun() *signalRun {
	r := &signalRun{}
	return r.add(Span{SpanID: 1, Kind: KindAgent, Name: "shop", AgentName: "shop", Status: StatusOK, Operation: "invoke_agent"})
}

func (r *signalRun) add(s Span) *signalRun {
	at := time.Unix(int64(len(r.spans)), 0)
	s.SpanID, s.Version, s.StartTime, s.EndTime = uint64(len(r.spans)+1), 1, at, at.Add(time.Second)
	if len(r.spans) > 0 {
		s.ParentSpanID = max(s.ParentSpanID, 1)
		r.spans[0].EndTime = s.EndTime
	}
	r.spans = append(r.spans, s)
	return r
}

func (r *signalRun) tool(name, arguments, result string) *signalRun {
	s := Span{Kind: KindTool, Name: name, ToolName: name, ToolArguments: arguments, ToolResult: result, Status: StatusOK}
	s.Summarize("")
	return r.add(s)
}

func (r *signalRun) answer(parts string, reasons ...string) *signalRun {
	s := Span{Kind: KindLLM, Name: "chat", Status: StatusOK, RequestModel: "m", FinishReasons: reasons}
	if parts != "" {
		s.Summarize(`[{"role":"assistant","parts":[` + parts + `]}]`)
	}
	return r.add(s)
}

func (r *signalRun) last(change func(*Span)) *signalRun {
	change(&r.spans[len(r.spans)-1])
	return r
}

func text(said string) string { return `{"type":"text","content":` + strconv.Quote(said) + `}` }

func TestSignals(t *testing.T) {
	t.Parallel()
	const call = `{"type":"tool_call","name":"f","arguments":{}}`
	done := text("The order is on its way to you.")
	for name, test := range map[string]struct {
		run     *signalRun
		signals []string
		unknown []string
		step    uint64
	}{
		"nothing":                    {newSignalRun().answer(call, "tool_calls").tool("f", `{"a":1}`, `{"b":2}`).answer(done, "stop"), nil, nil, 0},
		"the same call three times":  {newSignalRun().tool("f", `{"a":1,"b":2}`, "x").tool("f", `{"b":2, "a":1}`, "x").tool("f", `{"a":1,"b":2}`, "x").answer(done, "stop"), []string{SignalRepeatedCall}, nil, 4},
		"twice":                      {newSignalRun().tool("f", `{"a":1}`, "x").tool("f", `{"a":1}`, "x").answer(done, "stop"), nil, nil, 0},
		"a poll":                     {newSignalRun().tool("f", `{"a":1}`, "10%").tool("f", `{"a":1}`, "20%").tool("f", `{"a":1}`, "30%").answer(done, "stop"), nil, nil, 0},
		"something new between":      {newSignalRun().tool("f", `{}`, "x").tool("g", `{}`, "y").tool("f", `{}`, "x").tool("h", `{}`, "z").tool("f", `{}`, "x").answer(done, "stop"), nil, nil, 0},
		"two in turn":                {newSignalRun().tool("f", `{}`, "x").tool("g", `{}`, "y").tool("f", `{}`, "x").tool("g", `{}`, "y").tool("f", `{}`, "x").tool("g", `{}`, "y").answer(done, "stop"), []string{SignalRepeatedCall}, nil, 7},
		"fails three times":          {newSignalRun().tool("f", `{}`, "Error: full").tool("g", `{}`, "y").tool("f", `{}`, "Error: late").tool("h", `{}`, "z").tool("f", `{}`, "Error: full").tool("i", `{}`, "y").answer(text("I am sorry, f failed."), "stop"), []string{SignalRepeatedCall}, nil, 6},
		"a retry that succeeds":      {newSignalRun().tool("f", `{}`, "Error: full").tool("f", `{}`, "Error: full").tool("f", `{}`, "x").answer(done, "stop"), nil, nil, 0},
		"two agents":                 {newSignalRun().add(Span{Kind: KindAgent, Name: "sub", Status: StatusOK}).tool("f", `{}`, "x").tool("f", `{}`, "x").tool("f", `{}`, "x").last(func(s *Span) { s.ParentSpanID = 2 }).answer(done, "stop"), nil, nil, 0},
		"no arguments recorded":      {newSignalRun().tool("f", "", "").tool("f", "", "").tool("f", "", "").answer(done, "stop"), nil, []string{SignalRepeatedCall, SignalUnusedError}, 0},
		"an empty answer":            {newSignalRun().answer(text(" \n"), "stop"), []string{SignalEmptyAnswer}, nil, 2},
		"only reasoning":             {newSignalRun().answer(`{"type":"reasoning","content":"hm"}`, "stop"), []string{SignalEmptyAnswer}, nil, 2},
		"no part":                    {newSignalRun().answer(" ", "stop"), []string{SignalEmptyAnswer}, nil, 2},
		"an image":                   {newSignalRun().answer(`{"type":"blob","content":""}`, "stop"), nil, nil, 0},
		"a text that was left out":   {newSignalRun().answer(`{"type":"text"}`, "stop"), nil, []string{SignalEmptyAnswer}, 0},
		"nothing recorded":           {newSignalRun().answer("", "stop"), nil, []string{SignalEmptyAnswer}, 0},
		"the program answers":        {newSignalRun().last(func(s *Span) { s.OutputPreview = "42" }).answer(text(""), "stop"), nil, nil, 0},
		"cut":                        {newSignalRun().answer(done, "length"), []string{SignalCutAnswer}, nil, 2},
		"cut, and empty":             {newSignalRun().answer(text(""), "max_tokens"), []string{SignalCutAnswer, SignalEmptyAnswer}, nil, 2},
		"cut before the last":        {newSignalRun().answer(done, "length").answer(done, "stop"), nil, nil, 0},
		"no reason":                  {newSignalRun().answer(done), nil, []string{SignalCutAnswer}, 0},
		"an error passed over":       {newSignalRun().tool("pay", `{}`, `{"error":"card declined"}`).answer(text("Your order has been placed and paid."), "stop"), []string{SignalUnusedError}, nil, 2},
		"an error in a text":         {newSignalRun().tool("pay", `{}`, "Error: card declined").answer(done, "stop"), []string{SignalUnusedError}, nil, 2},
		"an error that is told":      {newSignalRun().tool("pay", `{}`, `{"error":"card declined"}`).answer(text("I am sorry, the payment did not go through."), "stop"), nil, nil, 0},
		"another way":                {newSignalRun().tool("pay", `{}`, `{"error":"card declined"}`).answer(call, "tool_calls").tool("invoice", `{}`, "sent").answer(done, "stop"), nil, nil, 0},
		"in another language":        {newSignalRun().tool("pay", `{}`, `{"error":"card declined"}`).answer(text("Leider wurde die Karte abgelehnt."), "stop"), nil, []string{SignalUnusedError}, 0},
		"a result with error: null":  {newSignalRun().tool("pay", `{}`, `{"error":null,"paid":true}`).answer(done, "stop"), nil, nil, 0},
		"MCP's isError":              {newSignalRun().tool("pay", `{}`, `{"isError":true,"content":[]}`).answer(done, "stop"), []string{SignalUnusedError}, nil, 2},
		"a result that is no error":  {newSignalRun().tool("read", `{}`, "Errors and exceptions: a guide").answer(done, "stop"), nil, nil, 0},
		"not of a run that has none": {&signalRun{[]Span{{SpanID: 1, Version: 1, Status: StatusRunning, Kind: KindAgent}}}, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Totals(slices.Clone(test.run.spans))
			assert.Equal(t, test.signals, got.Signals)
			assert.Equal(t, test.unknown, got.SignalsUnknown)
			if test.step != 0 {
				assert.Equal(t, test.step, got.SignalSpanIDs[0])
				assert.Len(t, got.SignalFingerprints, len(test.signals))
			}
			assert.Equal(t, OutcomeSucceeded == got.Outcome(), got.Fingerprint == "" && got.Status == StatusOK && got.ErrorCount == 0)
		})
	}
}

func TestSignalsChangeNothingElse(t *testing.T) {
	t.Parallel()
	spans := newSignalRun().answer(text(""), "length").spans
	run := Totals(spans)
	assert.Equal(t, []string{SignalCutAnswer, SignalEmptyAnswer}, run.Signals)
	assert.Equal(t, OutcomeSucceeded, run.Outcome())
	assert.NotEqual(t, run.SignalFingerprints[0], run.SignalFingerprints[1])
	run.DropSignals([]string{SignalCutAnswer})
	assert.Equal(t, []string{SignalEmptyAnswer}, run.Signals)
	run.FailAs(run.SignalFingerprints[0])
	assert.Equal(t, SignalEmptyAnswer, run.Class)
	assert.Equal(t, uint64(2), run.FailingSpanID)
}
