package runmodel

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// timed returns a span of a run that begins at noon. from and to are in seconds.
type timed struct {
	id, parent   uint64
	from, to     int
	status, name string
	message      string
}

func spansOf(list []timed) []Span {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	spans := make([]Span, len(list))
	for i, s := range list {
		spans[i] = Span{
			SpanID: s.id, ParentSpanID: s.parent, Version: 1, Status: s.status, Name: s.name, ErrorMessage: s.message,
			StartTime: noon.Add(time.Duration(s.from) * time.Second), EndTime: noon.Add(time.Duration(s.to) * time.Second),
		}
		if s.status == StatusRunning {
			spans[i].EndTime = Epoch
		}
	}
	return spans
}

func TestErrorChain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spans []timed
		want  []int
	}{
		"nothing failed":                             {[]timed{{id: 1, to: 9, status: "ok"}}, nil},
		"up to the root":                             {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 8, status: "error"}, {id: 3, parent: 2, from: 2, to: 3, status: "error"}}, []int{2, 1, 0}},
		"the first of two":                           {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "error", name: "b"}}, []int{1, 0}},
		"not the one made good":                      {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "ok", name: "a"}, {id: 4, parent: 1, from: 5, to: 6, status: "error", name: "b"}}, []int{3, 0}},
		"made good, and the only one":                {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "ok", name: "a"}}, []int{1, 0}},
		"not the one that was caught":                {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 3, status: "ok"}, {id: 3, parent: 2, from: 1, to: 2, status: "error", name: "a"}, {id: 4, parent: 1, from: 5, to: 6, status: "error", name: "b"}}, []int{3, 0}},
		"through one that did not fail":              {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", message: "429"}}, []int{2, 1, 0}},
		"through two that did not fail":              {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, to: 8, status: "ok"}, {id: 3, parent: 2, to: 8, status: "ok"}, {id: 4, parent: 3, from: 2, to: 3, status: "error"}, {id: 5, parent: 3, from: 3, to: 4, status: "error"}}, []int{3, 2, 1, 0}},
		"one of its own after one caught":            {[]timed{{id: 1, to: 9, status: "error", message: "too many turns"}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", message: "404"}}, []int{0}},
		"the same error below one that did not fail": {[]timed{{id: 1, to: 9, status: "error", message: "ValueError: no such city"}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", message: "no such city"}}, []int{2, 1, 0}},
		"the same error in the data of another one":  {[]timed{{id: 1, to: 9, status: "error", message: `Error in agent run: {'error': "Error code: 400 - Don't."}`}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", message: `Error getting response: {'error': "Error code: 400 - Don't."}`}}, []int{2, 1, 0}},
		"the same error quoted in one of the two":    {[]timed{{id: 1, to: 9, status: "error", message: `Agent run: {"error": "Error in book: no seat"}`}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", message: "Tool: {'tool': 'book', 'error': 'no seat left'}"}, {id: 4, parent: 2, from: 3, to: 4, status: "error", message: "Tool: {'tool': 'book', 'error': 'book: no seat'}"}}, []int{3, 1, 0}},
		"the error of the run after one handled":     {[]timed{{id: 1, to: 9, status: "error", message: "no such city"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a", message: "try again"}, {id: 3, parent: 1, from: 3, to: 4, status: "error", name: "b", message: "no such city"}}, []int{2, 0}},
		"not the one done again in another round":    {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 3, status: "ok"}, {id: 3, parent: 2, from: 1, to: 2, status: "error", name: "a"}, {id: 4, parent: 1, from: 3, to: 6, status: "ok"}, {id: 5, parent: 4, from: 4, to: 5, status: "ok", name: "a"}, {id: 6, parent: 1, from: 7, to: 8, status: "error", name: "b"}}, []int{5, 0}},
		"a circle": {[]timed{{id: 1, parent: 2, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "ok"}}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, ErrorChain(spansOf(test.spans), 0))
		})
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spans []timed
		class string
		span  uint64
	}{
		"none":                  {[]timed{{id: 1, to: 9, status: "ok"}}, "", 0},
		"running":               {[]timed{{id: 1, to: 9, status: "running"}, {id: 2, parent: 1, from: 1, to: 2, status: "error"}}, "", 0},
		"error":                 {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "error"}}, FailureError, 2},
		"timeout":               {[]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", message: "request timed out"}}, FailureTimeout, 2},
		"cancelled":             {[]timed{{id: 1, to: 9, status: "cancelled"}, {id: 2, parent: 1, from: 1, to: 2, status: "ok"}}, FailureCancelled, 1},
		"nobody cared":          {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 2, status: "ok"}, {id: 3, parent: 1, from: 3, to: 4, status: "error"}}, FailureUnrecovered, 3},
		"the agent went on":     {[]timed{{id: 1, to: 9, status: "ok"}, {id: 3, parent: 1, from: 3, to: 4, status: "error"}, {id: 2, parent: 1, from: 5, to: 6, status: "ok"}}, "", 0},
		"went on above":         {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 4, status: "error"}, {id: 3, parent: 2, from: 3, to: 4, status: "error"}, {id: 4, parent: 1, from: 5, to: 6, status: "ok"}}, "", 0},
		"the second one":        {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "ok", name: "chat"}, {id: 4, parent: 1, from: 5, to: 6, status: "error", name: "b"}}, FailureUnrecovered, 4},
		"below one made good":   {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 4, status: "error", name: "a"}, {id: 3, parent: 2, from: 1, to: 2, status: "error", name: "b"}, {id: 4, parent: 2, from: 2, to: 3, status: "ok", name: "b"}, {id: 5, parent: 1, from: 5, to: 6, status: "ok", name: "a"}}, "", 0},
		"another round went on": {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 3, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", name: "a"}, {id: 4, parent: 1, from: 4, to: 6, status: "ok"}}, "", 0},
		"the only branch":       {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", name: "a"}}, FailureUnrecovered, 3},
		"retried and went on":   {[]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "ok", name: "a"}}, "", 0},
	} {
		run := Totals(spansOf(test.spans))
		assert.Equal(t, test.class, run.Class, name)
		assert.Equal(t, test.span, run.FailingSpanID, name)
		assert.Equal(t, test.class != "", run.Fingerprint != "", name)
	}
}

// TestRequestBelowCall: a request is how a call of a model or a tool failed, and never the failing step.
func TestRequestBelowCall(t *testing.T) {
	t.Parallel()
	run := func(callKind, callStatus, requestName string) Run {
		spans := spansOf([]timed{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 8, status: callStatus}, {id: 3, parent: 2, from: 2, to: 3, status: "error", name: requestName}})
		spans[1].Kind, spans[2].ErrorType = callKind, "429"
		return Totals(spans)
	}
	for name, test := range map[string]struct {
		kind, status, request string
		span                  uint64
	}{
		"model":                  {KindLLM, StatusError, "POST", 2},
		"model, any plain span":  {KindLLM, StatusError, "send", 2},
		"tool":                   {KindTool, StatusError, "GET /orders", 2},
		"tool that says nothing": {KindTool, StatusOK, "GET /orders", 2},
		"agent":                  {KindAgent, StatusError, "GET /orders", 3},
	} {
		assert.Equal(t, test.span, run(test.kind, test.status, test.request).FailingSpanID, name)
	}
	well := spansOf([]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 8, status: "ok"}, {id: 3, parent: 2, from: 2, to: 3, status: "error", name: "POST"}})
	well[1].Kind = KindLLM
	assert.Empty(t, Totals(well).Class, "the client tried again")
	twoAgents := spansOf([]timed{
		{id: 1, to: 9, status: "ok"},
		{id: 2, parent: 1, from: 1, to: 3, status: "ok", name: "one"},
		{id: 3, parent: 2, from: 2, to: 3, status: "error", name: "look up"},
		{id: 4, parent: 1, from: 4, to: 6, status: "ok", name: "two"},
		{id: 5, parent: 4, from: 5, to: 6, status: "ok", name: "look up"},
	})
	twoAgents[1].Kind, twoAgents[3].Kind = KindAgent, KindAgent
	assert.Equal(t, uint64(3), Totals(twoAgents).FailingSpanID, "a tool of another agent is no second try")
	twoAgents[3].Name = "one"
	assert.Empty(t, Totals(twoAgents).Class, "the agent's second turn")
}

func TestSettleError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message, exceptionType, exception string
		wantType, want                    string
	}{
		{"ValueError: no such city", "ValueError", "no such city", "ValueError", "no such city"},
		{"TimeoutError: TimeoutError: late", "TimeoutError", "late", "TimeoutError", "late"},
		{"ValueError('no such city')Traceback (most recent call last):\n\n  File", "ValueError", "no such city", "ValueError", "no such city"},
		{"cannot plan: no such city", "ValueError", "no such city", "ValueError", "cannot plan: no such city"},
		{"", "Exception", "KeyError(\"no 'id'\")Traceback (most recent call last):\n  File", "KeyError", "no 'id'"},
		{"", "Exception", "something", "Exception", "something"},
		{"f(x)", "", "", "", "f(x)"},
		{`ValueError('can\'t read C:\\dir\nagain')`, "", "", "ValueError", "can't read C:\\dir\nagain"},
		{"E('" + strings.Repeat("x", maxSettled) + "')", "", "", "", "E('" + strings.Repeat("x", maxSettled) + "')"},
	} {
		s := Span{Status: StatusError, ErrorMessage: test.message}
		s.SetException(test.exceptionType, test.exception, "")
		s.SettleError()
		assert.Equal(t, test.wantType, s.ErrorType, test.message)
		assert.Equal(t, test.want, s.ErrorMessage, test.message)
		assert.Equal(t, StatusError, s.Status)
	}
	for _, test := range []struct{ message, exceptionType, exception string }{
		{"GraphInterrupt((Interrupt(value='ok?'),))", "Exception", "GraphInterrupt((Interrupt(value='ok?'),))"},
		{"WaitingForEvent: Waiting for event <class 'HumanResponseEvent'>", "workflows.runtime.types.results.WaitingForEvent", "Waiting for event"},
	} {
		interrupted := Span{Status: StatusError, ErrorMessage: test.message}
		interrupted.SetException(test.exceptionType, test.exception, "")
		interrupted.SettleError()
		assert.Equal(t, StatusOK, interrupted.EffectiveStatus())
		assert.Empty(t, interrupted.ErrorType)
	}
}

func TestErrorInToolResult(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ status, message, result, want string }{
		{StatusError, "TOOL_ERROR", `{"error": "no such city"}`, "no such city"},
		{StatusError, "", `{"error": {"message": "no such city"}}`, "no such city"},
		{StatusError, "too late", `{"error": "no such city"}`, "too late"},
		{StatusError, "TOOL_ERROR", `{"error": `, "TOOL_ERROR"},
		{StatusError, "TOOL_ERROR", `{"result": "no such city"}`, "TOOL_ERROR"},
		{StatusError, "TOOL_ERROR", "no such city", "TOOL_ERROR"},
		{StatusError, "TOOL_ERROR", `{"error": 4}`, "TOOL_ERROR"},
		{StatusOK, "", `{"error": "no such city"}`, ""},
	} {
		s := Span{Status: test.status, ErrorMessage: test.message, ToolResult: test.result}
		if test.status == StatusError {
			s.ErrorType = "TOOL_ERROR"
		}
		s.SettleError()
		assert.Equal(t, test.want, s.ErrorMessage, test.result)
	}
}

// TestRecoveredByRoundedTimes: the next step began a millisecond before the failed one ended, which clocks may round
// to 0.
func TestRecoveredByRoundedTimes(t *testing.T) {
	t.Parallel()
	spans := spansOf([]timed{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 2, to: 3, status: "ok", name: "b"}})
	for early, class := range map[time.Duration]string{time.Millisecond: "", 100 * time.Millisecond: FailureUnrecovered} {
		spans[2].StartTime = spans[1].EndTime.Add(-early)
		assert.Equal(t, class, Totals(spans).Class, early)
	}
}

// TestFingerprintStands: groups are identified by these values. A change of a fingerprint's input needs a new
// version if a release has the old one, and never changes existing values.
func TestFingerprintStands(t *testing.T) {
	t.Parallel()
	spans := failing(1, "connect to 10.0.0.7:5432: no route to host after 31ms (request 8841)")
	assert.Equal(t, "fp:v3:aa08244565ef19fd", Totals(spans).Fingerprint)
	spans[2].Attributes = map[string]string{KeyFingerprint: "ours"}
	assert.Equal(t, "fp:v3:e1ac3a1115563349", Totals(spans).Fingerprint)
}

// failing returns a run in which the tool of a model call fails, with its own ids and times.
func failing(seed int, message string) []Span {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seed) * time.Hour)
	id := func(n int) uint64 { return uint64(seed*1000 + n) }
	run := uuid.NewSHA1(uuid.Nil, []byte{byte(seed)})
	span := func(n, parent int, kind, name, status string) Span {
		s := Span{RunID: run, SpanID: id(n), Version: 1, Kind: kind, Name: name, Status: status, StartTime: start.Add(time.Duration(n) * time.Second), EndTime: start.Add(time.Minute)}
		if parent > 0 {
			s.ParentSpanID = id(parent)
		}
		return s
	}
	spans := []Span{span(1, 0, KindAgent, "helper", StatusError), span(2, 1, KindTask, "step "+start.Format("15"), StatusError), span(3, 2, KindTool, "lookup", StatusError)}
	spans[0].AgentName = "helper"
	spans[2].ErrorType, spans[2].ErrorMessage = "ConnectionError", message
	return spans
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	want := Totals(failing(1, "connect to 10.0.0.7:5432: no route to host after 31ms (request 8841)")).Fingerprint
	assert.Regexp(t, `^fp:v3:[0-9a-f]{16}$`, want)
	for seed, message := range map[int]string{
		2: "connect to 10.9.0.1:5433: no route to host after 5.2s (request 12)",
		3: "connect to 192.168.1.1:80: no route to host after 12 seconds, and all that comes later does not matter",
	} {
		assert.Equal(t, want, Totals(failing(seed, message)).Fingerprint, message)
	}
	others := map[string]func([]Span){
		"project":   func(s []Span) { s[0].ProjectID, s[1].ProjectID, s[2].ProjectID = uuid.Max, uuid.Max, uuid.Max },
		"agent":     func(s []Span) { s[0].AgentName = "other" },
		"tool":      func(s []Span) { s[2].Name = "search" },
		"kind":      func(s []Span) { s[2].Kind = KindRetriever },
		"type":      func(s []Span) { s[2].ErrorType = "OSError" },
		"message":   func(s []Span) { s[2].ErrorMessage = "connection refused" },
		"class":     func(s []Span) { s[0].Status = StatusCancelled },
		"path":      func(s []Span) { s[1].Name = "elsewhere" },
		"by client": func(s []Span) { s[0].Attributes = map[string]string{KeyFingerprint: "own"} },
	}
	seen := map[string]string{want: "the first"}
	for name, change := range others {
		spans := failing(1, "connect to 10.0.0.7:5432: no route to host after 31ms (request 8841)")
		change(spans)
		got := Totals(spans).Fingerprint
		assert.Empty(t, seen[got], name)
		seen[got] = name
	}
}

// TestErrorChainOfDeepRun: the time is linear in the number of spans, for any depth and any number of failures.
func TestErrorChainOfDeepRun(t *testing.T) {
	t.Parallel()
	const spine, leaves = 50_000, 50_000
	for _, rootStatus := range []string{StatusError, StatusOK} {
		list := make([]timed, 0, spine+leaves+1)
		for i := range spine {
			list = append(list, timed{id: uint64(i + 1), parent: uint64(i), to: 9, status: StatusError})
		}
		list[0].status = rootStatus
		for i := range leaves {
			list = append(list, timed{id: uint64(spine + i + 1), parent: spine, from: 1, to: 2, status: StatusError})
		}
		list = append(list, timed{id: spine + leaves + 1, parent: 1, from: 10, to: 11, status: StatusOK})
		spans := spansOf(list)
		began := time.Now()
		chain := ErrorChain(spans, 0)
		assert.Equal(t, spine, chain[0])
		run := &Run{Status: rootStatus, ErrorCount: 1}
		assert.Equal(t, map[string]string{StatusError: FailureError, StatusOK: ""}[rootStatus], failureOf(run, spans).Class)
		assert.Less(t, time.Since(began), 20*time.Second, "not the square of their number")
	}
}

// TestManyFailuresWithoutEnd: the time that it takes grows with the number of spans, also if none of the failed steps has an end and no
// step beside them came later.
func TestManyFailuresWithoutEnd(t *testing.T) {
	t.Parallel()
	const n = 30_000
	list := []timed{{id: 1, to: 9, status: StatusOK}}
	for i := range n {
		list = append(list, timed{id: uint64(i + 2), parent: 1, to: 1, status: StatusOK, name: "done"})
	}
	for i := range n { // steps without an end, below each a look-up that failed
		list = append(list, timed{id: uint64(n + i + 2), parent: 1, from: 2, to: 3, status: StatusError, name: "step " + string(rune('a'+i%26)) + strings.Repeat("x", i%7)})
		list = append(list, timed{id: uint64(2*n + i + 2), parent: uint64(n + i + 2), from: 2, to: 3, status: StatusError, name: "look up"})
	}
	list = append(list, timed{id: 3*n + 2, parent: 2, from: 4, to: 5, status: StatusOK, name: "look up"}) // in another branch
	spans := spansOf(list)
	for i := range spans {
		if spans[i].ParentSpanID == 1 && spans[i].Status == StatusError {
			spans[i].EndTime = Epoch
		}
	}
	began := time.Now()
	assert.Empty(t, failureOf(&Run{Status: StatusOK, ErrorCount: 2 * n}, Fold(spans)).Class)
	assert.Less(t, time.Since(began), 20*time.Second, "not the square of their number")
}

func BenchmarkFailure(b *testing.B) {
	spans := failing(1, "connect to 10.0.0.7:5432: no route to host after 31ms (request 8841)")
	b.Run("failed", func(b *testing.B) {
		for b.Loop() {
			Totals(spans)
		}
	})
	b.Run("well", func(b *testing.B) {
		for i := range spans {
			spans[i].Status, spans[i].ErrorType, spans[i].ErrorMessage = StatusOK, "", ""
		}
		for b.Loop() {
			Totals(spans)
		}
	})
}
