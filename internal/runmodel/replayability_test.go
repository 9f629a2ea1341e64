package runmodel

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is a run of spans in start order, of which the first is an agent.
type recorded []Span

func newRecorded() *recorded { return new(recorded).add(Span{Kind: KindAgent}, 0) }

func (r *recorded) add(s Span, parent uint64) *recorded {
	s.SpanID, s.ParentSpanID, s.Version = uint64(len(*r)+1), parent, 1
	s.StartTime = time.Unix(int64(len(*r)), 0).UTC()
	s.EndTime = s.StartTime.Add(time.Second)
	*r = append(*r, s)
	return r
}

func (r *recorded) call(parent uint64, ids ...uint64) *recorded {
	return r.add(Span{Kind: KindLLM, RequestModel: "m", InputMessageIDs: ids, OutputMessageIDs: []uint64{99}}, parent)
}

func (r *recorded) tool(parent uint64) *recorded {
	return r.add(Span{Kind: KindTool, ToolArguments: "{}", ToolResult: "1"}, parent)
}

// last changes the last span.
func (r *recorded) last(change func(*Span)) *recorded {
	change(&(*r)[len(*r)-1])
	return r
}

func ids(from, to uint64) []uint64 {
	var list []uint64
	for id := from; id <= to; id++ {
		list = append(list, id*0x9E3779B97F4A7C15)
	}
	return list
}

func replayabilities() map[string]struct {
	run  *recorded
	want string
} {
	failed := func(s *Span) { s.Status, s.OutputMessageIDs, s.ToolResult = StatusError, nil, "" }
	defined := func(s *Span) { s.ToolDefinitionsID = 7 }
	bySystem := func(s *Span) { s.SystemMessageTextID = 7 }
	long := func(s *Span) { s.EndTime = s.EndTime.Add(time.Minute) }
	return map[string]struct {
		run  *recorded
		want string
	}{
		"an agent alone":           {newRecorded(), ReplayNone},
		"a plain trace":            {new(recorded).add(Span{Name: "GET /"}, 0), ReplayNone},
		"a running root":           {newRecorded().call(1, 1).root(func(s *Span) { s.EndTime = Epoch }), ReplayNone},
		"a running step above":     {newRecorded().call(1, 1).add(Span{}, 99).last(func(s *Span) { s.EndTime = Epoch }), ReplayNone},
		"a step that never ended":  {newRecorded().call(1, 1).add(Span{}, 1).last(func(s *Span) { s.EndTime = Epoch }), ReplayFull},
		"a tool":                   {newRecorded().tool(1), ReplayStructure},
		"no texts at all":          {newRecorded().add(Span{Kind: KindLLM, RequestModel: "m"}, 1).tool(1), ReplayStructure},
		"a call without a request": {newRecorded().call(1, 1).call(1), ReplayStructure},
		"a call without an answer": {newRecorded().call(1, 1).last(func(s *Span) { s.OutputMessageIDs = nil }), ReplayStructure},
		"a call without a model":   {newRecorded().call(1, 1).last(func(s *Span) { s.RequestModel = "" }), ReplayStructure},
		"a call with the model that answered": {
			newRecorded().call(1, 1).last(func(s *Span) { s.RequestModel, s.ResponseModel = "", "m" }), ReplayFull,
		},
		"a call":                               {newRecorded().call(1, 1), ReplayFull},
		"a loop":                               {newRecorded().call(1, 1, 2).tool(1).call(1, 1, 2, 3, 4).call(1, 1, 2, 3, 4, 5, 6), ReplayFull},
		"a loop that nobody began":             {new(recorded).call(0, 1).call(0, 1, 2, 3), ReplayFull},
		"a failed call that is made again":     {newRecorded().call(1, 1).last(failed).call(1, 1), ReplayFull},
		"the same request again":               {newRecorded().call(1, 1, 2).call(1, 1, 2), ReplayFull},
		"a tool without arguments":             {newRecorded().call(1, 1).tool(1).last(func(s *Span) { s.ToolArguments = "" }).call(1, 1, 2, 3), ReplayFull},
		"a tool without a result":              {newRecorded().call(1, 1).last(defined).tool(1).last(func(s *Span) { s.ToolResult = "" }), ReplayLLM},
		"a tool that no model knows":           {newRecorded().call(1, 1).tool(1).last(func(s *Span) { s.ToolResult = "" }), ReplayFull},
		"a tool before models know it":         {newRecorded().tool(1).last(func(s *Span) { s.ToolResult = "" }).call(1, 1).last(defined), ReplayFull},
		"a tool whose result is in a request":  {newRecorded().call(1, 1).tool(1).last(func(s *Span) { s.ToolResult = "" }).call(1, 1, 2, 3), ReplayFull},
		"a failed tool":                        {newRecorded().call(1, 1).tool(1).last(failed), ReplayFull},
		"a call of tools without definitions":  {newRecorded().call(1, 1).last(func(s *Span) { s.OutputCalls, s.OutputPreview = true, "f()" }), ReplayLLM},
		"a reason to stop without definitions": {newRecorded().call(1, 1).last(func(s *Span) { s.FinishReasons = []string{"tool_calls"} }), ReplayLLM},
		"a call of tools with definitions": {
			newRecorded().call(1, 1).last(func(s *Span) { s.FinishReasons, s.ToolDefinitionsID = []string{"tool_calls"}, 7 }), ReplayFull,
		},
		"an answer that asks for tools, and no result": {
			newRecorded().call(1, 1).last(func(s *Span) { s.FinishReasons, s.ToolDefinitionsID = []string{"tool_calls"}, 7 }).call(1, 1, 2), ReplayLLM,
		},
		"a changed message": {newRecorded().call(1, 1, 2).call(1, 1, 3, 4), ReplayLLM},
		"a changed message after the system's": {
			newRecorded().call(1, 1, 2, 3).last(bySystem).call(1, 1, 2, 4).last(bySystem), ReplayLLM,
		},
		"another question to the same system": {newRecorded().call(1, 1, 2).last(bySystem).call(1, 1, 3).last(bySystem), ReplayFull},
		"fewer messages":                      {newRecorded().call(1, 1, 2, 3).call(1, 1, 2), ReplayLLM},
		"two ways on":                         {newRecorded().call(1, 1).call(1, 1, 2).call(1, 1, 3), ReplayLLM},
		"another beginning":                   {newRecorded().call(1, 1, 2, 3).call(1, 2, 1, 3, 4), ReplayFull},
		"an agent below":                      {newRecorded().call(1, 1).add(Span{Kind: KindAgent}, 1).call(3, 7).call(3, 7, 8).call(1, 1, 2, 3), ReplayFull},
		"an agent below that is asked the same anew": {
			newRecorded().call(1, 1).add(Span{Kind: KindAgent}, 1).call(3, 1, 5).call(1, 1, 2, 3), ReplayLLM, // the first goes on in the agent
		},
		"two chats at once": {
			newRecorded().add(Span{Kind: KindAgent}, 1).add(Span{Kind: KindAgent}, 1).call(2, 1).call(3, 7).call(2, 1, 2).call(3, 7, 8), ReplayFull,
		},
		"two of an agent's calls at once": {newRecorded().call(1, 1, 2).last(long).call(1, 1, 3), ReplayFull},
		"a call recorded twice": {
			newRecorded().call(1).last(func(s *Span) { s.OutputMessageIDs = nil }).call(2, 1).call(1, 1, 2), ReplayFull, // the outer one wraps
		},
		"many messages":                {newRecorded().call(1, ids(1, 500)...).call(1, ids(1, 500+lastIDs)...), ReplayFull},
		"an early change among many":   {newRecorded().call(1, ids(1, 500)...).call(1, append(append(ids(1, 5), 7), ids(7, 502)...)...), ReplayLLM},
		"an early swap among many":     {newRecorded().call(1, ids(1, 500)...).call(1, swapped(ids(1, 502))...), ReplayLLM},
		"more messages than are known": {newRecorded().call(1, ids(1, 500)...).call(1, ids(1, 501+lastIDs)...), ReplayLLM},
	}
}

func swapped(list []uint64) []uint64 {
	list[1], list[2] = list[2], list[1]
	return list
}

func (r *recorded) root(change func(*Span)) *recorded {
	change(&(*r)[0])
	return r
}

func TestReplayability(t *testing.T) {
	t.Parallel()
	for name, test := range replayabilities() {
		assert.Equal(t, test.want, Totals(*test.run).Replayability, name)
	}
}

// asStored returns a version as totals are derived from it once it is stored.
func asStored(s Span) Span {
	s.InputDigest = digestOf(s.InputMessageIDs)
	s.InputMessageIDs = s.InputMessageIDs[:min(len(s.InputMessageIDs), 1)]
	return s
}

// TestReplayabilityInAnyOrder divides the spans of runs into versions, some of them logs, and gives them in any order and more than once, as
// received or as stored.
func TestReplayabilityInAnyOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for name, test := range replayabilities() {
		for range 30 {
			var versions []Span
			for _, s := range *test.run {
				inLogs := random.IntN(3) == 0 && s.Kind == KindLLM
				begun, request, rest := s, Span{SpanID: s.SpanID, StartTime: s.StartTime, FromLog: inLogs}, Span{SpanID: s.SpanID, StartTime: s.StartTime, FromLog: inLogs}
				begun.InputMessageIDs, begun.OutputMessageIDs, begun.ToolArguments, begun.ToolResult = nil, nil, "", ""
				begun.SystemMessageTextID = 0
				request.InputMessageIDs, request.SystemMessageTextID, request.ToolArguments = s.InputMessageIDs, s.SystemMessageTextID, s.ToolArguments
				rest.OutputMessageIDs, rest.ToolResult = s.OutputMessageIDs, s.ToolResult
				begun.Version, request.Version, rest.Version = 1, 2, 4
				if inLogs && len(s.InputMessageIDs) > 1 {
					more := request
					at := 1 + random.IntN(len(s.InputMessageIDs)-1)
					request.InputMessageIDs, more.InputMessageIDs, more.Version = s.InputMessageIDs[:at], s.InputMessageIDs[at:], 3
					versions = append(versions, more)
				}
				versions = append(versions, begun, request, rest)
			}
			versions = append(versions, versions[:random.IntN(len(versions))]...)
			random.Shuffle(len(versions), func(i, j int) { versions[i], versions[j] = versions[j], versions[i] })
			require.Equal(t, test.want, Totals(versions).Replayability, name)
			for i := range versions {
				versions[i] = asStored(versions[i])
			}
			require.Equal(t, test.want, Totals(versions).Replayability, "%s, as stored", name)
		}
	}
}

// TestMessageDigest compares digests with the lists that they stand for.
func TestMessageDigest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	list := func(longest int) []uint64 {
		var list []uint64
		for range random.IntN(longest) {
			list = append(list, random.Uint64N(3)+1)
		}
		return list
	}
	begun := 0
	for range 20_000 {
		longest := []int{4, 100}[random.IntN(2)]
		a, more := list(longest), list(longest)
		b := slices.Concat(a, more)
		if len(b) > 0 && random.IntN(3) == 0 {
			b[random.IntN(len(b))] = random.Uint64()
		}
		want := len(a) > 0 && len(b)-len(a) <= lastIDs && slices.Equal(a, b[:len(a)])
		require.Equal(t, want, digestOf(a).begins(digestOf(b)), "%v %v", a, b)
		require.False(t, len(b) > len(a) && digestOf(b).begins(digestOf(a)))
		if want {
			begun++
		}
		both := slices.Concat(a, more)
		if len(a) <= lastIDs && len(more) <= lastIDs {
			both = appendNew(a, more)
		}
		require.Equal(t, digestOf(both), digestOf(a).joined(digestOf(more)), "%v %v", a, more)
	}
	assert.Greater(t, begun, 1000)
}

// TestReplayabilityOfManyLoops has many agents that ask the same, many calls of an agent at once, and a long chain of parents. It must not
// take quadratic time, which the test's own limit would show.
func TestReplayabilityOfManyLoops(t *testing.T) {
	t.Parallel()
	run := newRecorded()
	for i := range uint64(30_000) {
		run.add(Span{Kind: KindAgent}, 1).call(uint64(len(*run)), 1, i).call(uint64(len(*run)-1), 1, i, 3)
	}
	for i := range uint64(30_000) {
		run.call(1, 1, 2, i).last(func(s *Span) { s.EndTime = s.EndTime.Add(48 * time.Hour) })
	}
	assert.Equal(t, ReplayFull, Totals(*run).Replayability)
	chain := newRecorded()
	for i := range uint64(100_000) {
		chain.add(Span{Kind: KindAgent}, uint64(len(*chain))).last(func(s *Span) {
			if i%2 == 0 {
				s.Kind, s.RequestModel, s.InputMessageIDs, s.OutputMessageIDs = KindLLM, "m", []uint64{i + 1}, []uint64{9}
			}
		})
	}
	assert.Equal(t, ReplayFull, Totals(*chain).Replayability)
}

// BenchmarkTotals derives a run of an agent with as many calls of a model, each with all messages before it, and tools in between.
func BenchmarkTotals(b *testing.B) {
	for _, calls := range []int{1, 20, 500} {
		run := newRecorded()
		for n := range uint64(calls) {
			run.call(1, ids(1, 2*n+1)...).last(func(s *Span) { s.Version = n + 2 })
			run.tool(1)
		}
		b.Run(strconv.Itoa(calls), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Totals(*run)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(*run)), "ns/span")
		})
	}
}
