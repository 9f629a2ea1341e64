package runmodel

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// turn returns a turn of an agent with two calls of a model that overlap nothing, and a call of a tool.
func turn() []Span {
	at := func(ms int64) time.Time { return time.UnixMilli(1_700_000_000_000 + ms) }
	call := func(id uint64, from, to, input int64) Span {
		return Span{
			SpanID: id, Version: id, ParentSpanID: 1, Operation: "chat", StartTime: at(from), EndTime: at(to),
			InputTokens: &input, OutputTokens: new(int64(5)), CostUSD: new(0.5), CostSource: CostComputed,
		}
	}
	return []Span{
		{SpanID: 1, Version: 1, Kind: KindAgent, StartTime: at(0), EndTime: at(900)},
		call(2, 10, 100, 100), call(3, 200, 300, 200),
		{SpanID: 4, Version: 4, ParentSpanID: 1, Kind: KindTool, ToolName: "Bash", ToolCallID: "t1", StartTime: at(110), EndTime: at(150)},
	}
}

// record returns a version of a record below the turn.
func record(id uint64, ms int64, s Span) Span {
	s.SpanID, s.Version, s.ParentSpanID, s.FromLog = id, id, 1, true
	s.StartTime = time.UnixMilli(1_700_000_000_000 + ms)
	s.EndTime = s.StartTime
	return s
}

func TestRecordsJoinTheirCalls(t *testing.T) {
	t.Parallel()
	sent := func(usd float64, input int64) Span {
		return Span{Kind: KindLLM, InputTokens: &input, OutputTokens: new(int64(5)), CostUSD: &usd, CostSource: CostSent}
	}
	for name, test := range map[string]struct {
		record Span
		owner  uint64 // 0 for none
	}{
		"a tool's, by its id":                          {record(50, 400, Span{Kind: KindTool, ToolCallID: "t1", ToolArguments: "{}"}), 4},
		"of a tool that no span tells":                 {record(50, 400, Span{Kind: KindTool, ToolCallID: "t2"}), 0},
		"a cost, by the tokens":                        {record(50, 301, sent(2, 100)), 2},
		"a cost of a call whose span has other tokens": {record(50, 301, sent(2, 7)), 0},
		"a body while a call was under way":            {record(50, 250, Span{Kind: KindLLM, OutputMessageIDs: []uint64{9}}), 3},
		"a body just after a call":                     {record(50, 105, Span{Kind: KindLLM, OutputMessageIDs: []uint64{9}}), 2},
		"a body before any call":                       {record(50, 5, Span{Kind: KindLLM, OutputMessageIDs: []uint64{9}}), 0},
		"records of the turn itself are no call's":     {record(1, 5, Span{OutputMessageIDs: []uint64{9}}), 1},
		"of the call that the record has the id of":    {func() Span { r := record(50, 5, Span{Kind: KindLLM}); r.ParentSpanID = 3; return r }(), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			versions := append(turn(), test.record)
			for range 2 {
				spans := Fold(versions)
				find := func(id uint64) *Span {
					at := slices.IndexFunc(spans, func(s Span) bool { return s.SpanID == id })
					if at < 0 {
						return nil
					}
					return &spans[at]
				}
				if test.owner == 0 {
					require.Len(t, spans, 5)
					require.NotNil(t, find(test.record.SpanID))
				} else {
					require.Len(t, spans, 4)
					owner := find(test.owner)
					require.NotNil(t, owner)
					if test.record.SpanID != test.owner {
						assert.Equal(t, []uint64{test.record.SpanID}, owner.Records)
					}
					if test.record.CostUSD != nil {
						assert.Equal(t, test.record.CostUSD, owner.CostUSD, "what the client was charged wins over our price")
					}
					assert.Equal(t, test.record.ToolArguments, owner.ToolArguments)
				}
				slices.Reverse(versions)
			}
		})
	}
}

// TestManyRecords folds a turn with as many calls and records as a hostile client may send: each record finds its call.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	const calls = 20_000
	start := time.UnixMilli(1_700_000_000_000)
	versions := []Span{{SpanID: 1, Version: 1, Kind: KindAgent, StartTime: start}}
	for i := range uint64(calls) {
		at := start.Add(time.Duration(i) * time.Millisecond)
		versions = append(versions,
			Span{SpanID: 10 + i, Version: 1, ParentSpanID: 1, Kind: KindLLM, StartTime: at, EndTime: at.Add(500 * time.Microsecond), InputTokens: new(int64(1)), OutputTokens: new(int64(1))},
			Span{
				SpanID: 1_000_000 + i, Version: 1, ParentSpanID: 1, Kind: KindLLM, FromLog: true, StartTime: at, EndTime: at.Add(600 * time.Microsecond),
				InputTokens: new(int64(1)), OutputTokens: new(int64(1)),
			})
	}
	spans := Fold(versions)
	require.Len(t, spans, calls+1)
	for i := range spans[1:] {
		require.Equal(t, []uint64{spans[i+1].SpanID - 10 + 1_000_000}, spans[i+1].Records)
	}
}

func TestToolsEndAsTheirPartsDid(t *testing.T) {
	t.Parallel()
	part := func(s Span) []Span {
		s.SpanID, s.Version, s.ParentSpanID, s.StartTime, s.EndTime = 5, 5, 4, turn()[3].StartTime, turn()[3].EndTime
		return append(turn(), s)
	}
	for name, test := range map[string]struct {
		spans []Span
		want  string
	}{
		"the execution failed":            {part(Span{Status: StatusError, ErrorMessage: "exit 1", ToolCallID: "t1"}), StatusError},
		"another span failed":             {part(Span{Status: StatusError, ErrorMessage: "exit 1"}), StatusOK},
		"the execution of another":        {part(Span{Status: StatusError, ToolCallID: "t2"}), StatusOK},
		"refused":                         {part(Span{Status: StatusCancelled}), StatusCancelled},
		"a nested agent that was stopped": {part(Span{Status: StatusCancelled, Kind: KindAgent}), StatusOK},
	} {
		spans := Fold(test.spans)
		at := slices.IndexFunc(spans, func(s Span) bool { return s.SpanID == 4 })
		assert.Equal(t, test.want, spans[at].EffectiveStatus(), name)
	}
}

func TestWholesOfIncompleteParts(t *testing.T) {
	t.Parallel()
	agent := func(id, parent uint64, input, output int64) Span {
		return Span{SpanID: id, Version: id, ParentSpanID: parent, Kind: KindAgent, StartTime: time.Unix(int64(id), 0), InputTokens: &input, OutputTokens: &output}
	}
	call := func(id, parent uint64, input, output, cached, reasoning int64) Span {
		s := agent(id, parent, input, output)
		s.Kind, s.CacheReadTokens, s.ReasoningTokens = KindLLM, &cached, &reasoning
		return s
	}
	for name, test := range map[string]struct {
		spans []Span
		want  []uint64 // the spans that count
	}{
		"complete parts":                 {[]Span{agent(1, 0, 30, 3), call(2, 1, 10, 1, 0, 0), call(3, 1, 20, 2, 0, 0)}, []uint64{2, 3}},
		"a step is missing":              {[]Span{agent(1, 0, 40, 4), call(2, 1, 10, 1, 0, 0), call(3, 1, 20, 2, 0, 0)}, []uint64{1}},
		"only the last step":             {[]Span{agent(1, 0, 40, 4), call(2, 1, 10, 1, 0, 0)}, []uint64{1}},
		"a sum that leaves out calls":    {[]Span{agent(1, 0, 10, 1), call(2, 1, 10, 1, 0, 0), call(3, 1, 20, 2, 0, 0)}, []uint64{2, 3}},
		"a sum that counts cached twice": {[]Span{agent(1, 0, 17, 1), call(2, 1, 10, 1, 7, 0)}, []uint64{2}},
		"a sum that adds reasoning":      {[]Span{agent(1, 0, 10, 4), call(2, 1, 10, 1, 0, 3)}, []uint64{2}},
		"two levels":                     {[]Span{agent(1, 0, 40, 4), agent(2, 1, 40, 4), call(3, 2, 10, 1, 0, 0)}, []uint64{2}},
		"the outer knows more":           {[]Span{agent(1, 0, 50, 5), agent(2, 1, 40, 4), call(3, 2, 10, 1, 0, 0)}, []uint64{1}},
		"a cycle":                        {[]Span{agent(1, 2, 40, 4), agent(2, 1, 40, 4)}, []uint64{1}},
	} {
		spans := Fold(test.spans)
		var counted []uint64
		for i, counts := range CountsUsage(spans) {
			if counts {
				counted = append(counted, spans[i].SpanID)
			}
		}
		assert.Equal(t, test.want, counted, name)
	}
}

func TestWrongClock(t *testing.T) {
	t.Parallel()
	now := uint64(1_795_860_000_000_000_000)
	for _, test := range []struct {
		start, end uint64
		want       string
	}{
		{now, now + 1, ""},
		{now, 0, ""},
		{0, 0, ""},
		{0, now, ""},
		{now, now, ""},
		{now, now - 1, ClockEndBeforeStart},
		{now / 1e6, now/1e6 + 5, ClockMilliseconds},
		{now / 1e3, 0, ClockMicroseconds},
		{now / 1e9, 0, ClockBefore2000},
		{1, 2, ClockBefore2000},
	} {
		assert.Equal(t, test.want, WrongClock(test.start, test.end), test)
	}
}
