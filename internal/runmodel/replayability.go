package runmodel

import (
	"slices"
	"strings"
)

// How far a run can be replayed. Each level includes those before; an empty Run.Replayability means that nobody knows.
const (
	// ReplayNone: nothing to replay. The run has no call of a model or a tool that could be edited, or has not ended.
	ReplayNone = "none"
	// ReplayStructure: steps with times. A model call lacks its messages or its model, or there is none.
	ReplayStructure = "structure"
	// ReplayLLM: single model calls. A later request cannot be made of what came before, or definitions or results of tools are missing.
	ReplayLLM = "llm"
	// ReplayFull: every request can be made of what came before.
	ReplayFull = "full"
)

// Replayabilities are the levels, the least first.
var Replayabilities = []string{ReplayNone, ReplayStructure, ReplayLLM, ReplayFull}

// replayability returns how far a run can be replayed, by what Totals knows: the indexes of spans by their ids, and those of its calls of
// models and tools. It follows the rules of package replay, which reads the texts and decides for good. Totals know messages by their ids only: not
// whether the answer in a request is the one that was given, nor whether each tool call has its result there. So a run may turn out to be
// replayable less far.
func replayability(run *Run, spans []Span, index map[uint64]int, calls, tools []int) string {
	if !run.GenAI || len(calls)+len(tools) == 0 || run.Status == StatusRunning {
		return ReplayNone
	}
	for i := range spans {
		if spans[i].EffectiveStatus() != StatusRunning {
			continue
		}
		if _, below := index[spans[i].ParentSpanID]; !below {
			return ReplayNone
		}
	}
	if len(calls) == 0 {
		return ReplayStructure
	}
	definitions, asked := true, len(spans)
	for _, i := range calls {
		s := &spans[i]
		if len(s.InputMessageIDs) == 0 || len(s.OutputMessageIDs) == 0 && !s.failed() || s.RequestModel == "" && s.ResponseModel == "" {
			return ReplayStructure
		}
		definitions = definitions && (s.ToolDefinitionsID != 0 || !s.asksForTools())
		if s.ToolDefinitionsID != 0 || s.asksForTools() {
			asked = min(asked, i)
		}
	}
	loops := replayLoops{spans: spans, index: index, byFirst: map[uint64][]*replayLoop{}, byBegin: map[loopBegin][]*replayLoop{}}
	if !definitions || !loops.place(calls) {
		return ReplayLLM
	}
	for _, i := range tools {
		if i > asked && i > loops.lastContinued && spans[i].ToolResult == "" && !spans[i].failed() {
			return ReplayLLM // a model may have asked for it, and no later request can have its result
		}
	}
	return ReplayFull
}

func (s *Span) failed() bool {
	status := s.EffectiveStatus()
	return status == StatusError || status == StatusCancelled
}

// asksForTools reports whether the answer of a model call is known to ask for calls of tools.
func (s *Span) asksForTools() bool {
	return s.OutputCalls || slices.ContainsFunc(s.FinishReasons, func(reason string) bool { return strings.HasPrefix(reason, "tool") })
}

// replayLoops divides model calls into loops, in each of which the messages of a request begin with those of the one before.
type replayLoops struct {
	spans []Span
	index map[uint64]int
	// byFirst are the loops by the id of the first message of their requests, those that went on last at the end.
	byFirst map[uint64][]*replayLoop
	// byBegin are the loops by what their first request begins with.
	byBegin map[loopBegin][]*replayLoop
	// lastContinued is the index of the last call that continues another one, -1 for none.
	lastContinued int
}

// replayLoop is known by its last call.
type replayLoop struct {
	last    *Span
	request messageDigest
	frame   int
}

// loopBegin is the frame of a loop, its instructions, and its first messages: that of the system, and the one after it.
type loopBegin struct {
	frame                        int
	instructions, system, prompt uint64
}

// maxLoopsBetween limits among how many loops the one of a call is looked for. More are rarely under way at once.
const maxLoopsBetween = 64

// place finds the loops of calls. It returns false if a call changes the messages of a loop, instead of going on with it or beginning
// another one.
func (l *replayLoops) place(calls []int) bool {
	l.lastContinued = -1
	for _, i := range calls {
		call := replayLoop{&l.spans[i], l.spans[i].request(), l.frameOf(i)}
		if l.goesOn(call) {
			l.lastContinued = i
			continue
		}
		begin := loopBegin{call.frame, call.last.InstructionsID, 0, call.request.first()}
		if call.last.SystemMessageTextID != 0 {
			begin.system, begin.prompt = begin.prompt, call.request.second()
		}
		alike := l.byBegin[begin]
		for n := len(alike) - 1; n >= max(len(alike)-maxLoopsBetween, 0); n-- {
			if concurrent(alike[n].last, call.last) {
				continue
			}
			if !alike[n].request.equals(call.request) {
				return false
			}
			break
		}
		loop := &call
		l.byBegin[begin] = append(alike, loop)
		l.byFirst[call.request.first()] = append(l.byFirst[call.request.first()], loop)
	}
	return true
}

// goesOn looks for the loop that a call goes on with: the newest one of its frame, else the newest.
func (l *replayLoops) goesOn(call replayLoop) bool {
	loops := l.byFirst[call.request.first()]
	found := -1
	for n := len(loops) - 1; n >= max(len(loops)-maxLoopsBetween, 0); n-- {
		last := loops[n]
		// A request has the answer before it, and results if it asks for any. After a call without an answer it is made again.
		least := uint64(min(len(last.last.OutputMessageIDs), 1))
		if last.last.asksForTools() {
			least = 2
		}
		if found >= 0 && last.frame != call.frame || call.request.longer(last.request) < least ||
			!last.request.begins(call.request) || concurrent(last.last, call.last) {
			continue
		}
		found = n
		if last.frame == call.frame {
			break
		}
	}
	if found < 0 {
		return false
	}
	loop := loops[found]
	loop.last, loop.request = call.last, call.request
	l.byFirst[call.request.first()] = append(slices.Delete(loops, found, found+1), loop)
	return true
}

// concurrent reports whether a later step began before an earlier one had ended.
func concurrent(earlier, later *Span) bool {
	if IsAbsent(earlier.EndTime) || IsAbsent(later.EndTime) {
		return false
	}
	return !Interval{Start: earlier.StartTime, End: earlier.EndTime}.Precedes(Interval{Start: later.StartTime, End: later.EndTime})
}

// frameOf returns the nearest agent, workflow, task or tool above a span, or else the outermost span above it, -1 for none. It looks at
// so many spans at most that a chain of them does not take the square of its length.
func (l *replayLoops) frameOf(i int) int {
	const most = 256
	frame := -1
	for range most {
		parent, ok := l.index[l.spans[i].ParentSpanID]
		if !ok {
			break
		}
		frame, i = parent, parent
		switch l.spans[parent].EffectiveKind() {
		case KindAgent, KindWorkflow, KindTask, KindTool:
			return frame
		}
	}
	return frame
}

// messageDigest stands for the ids of a call's input messages. A run of many calls, each with the messages of all before it, would take
// too much memory with the whole lists. It has the length of the list, the sum of its ids, the sum of each id times its position from 1,
// the first and the second id, and the last lastIDs of them. The sums wrap around. It is empty for an empty list. MessageDigestSQL makes the same.
type messageDigest []uint64

// lastIDs is how many ids a digest keeps: at most so many messages may stand between two calls of a loop.
const lastIDs = 32

// MessageDigestSQL is the digest of the column input_message_ids of spans as SQL.
const MessageDigestSQL = `if(empty(spans.input_message_ids), [], arrayConcat([length(spans.input_message_ids), arraySum(spans.input_message_ids),
	arrayDotProduct(spans.input_message_ids, arrayEnumerate(spans.input_message_ids)), spans.input_message_ids[1], spans.input_message_ids[2]],
	arraySlice(spans.input_message_ids, -32)))`

func digestOf(ids []uint64) messageDigest {
	if len(ids) == 0 {
		return nil
	}
	sum, weighted := sums(ids, 0)
	second := uint64(0)
	if len(ids) > 1 {
		second = ids[1]
	}
	return append(messageDigest{uint64(len(ids)), sum, weighted, ids[0], second}, ids[max(len(ids)-lastIDs, 0):]...)
}

// sums returns the sum of ids, and that of each times its position, of which the first comes after that many.
func sums(ids []uint64, after uint64) (sum, weighted uint64) {
	for i, id := range ids {
		sum += id
		weighted += id * (after + uint64(i) + 1)
	}
	return sum, weighted
}

const digestHead = 5

func (d messageDigest) first() uint64  { return d[3] }
func (d messageDigest) second() uint64 { return d[4] }
func (d messageDigest) last() []uint64 { return d[digestHead:] }

// longer returns by how many messages the list is longer than another one, 0 if it is not.
func (d messageDigest) longer(other messageDigest) uint64 { return d[0] - min(d[0], other[0]) }

func (d messageDigest) equals(other messageDigest) bool {
	return d[0] == other[0] && d[1] == other[1] && d[2] == other[2]
}

// begins reports whether the list that d stands for is the beginning of the other, or the whole. It is false where the other is longer by
// more than a digest keeps.
func (d messageDigest) begins(other messageDigest) bool {
	if len(d) == 0 || len(other) == 0 || d[0] > other[0] || other.longer(d) > uint64(len(other.last())) {
		return false
	}
	more := other.longer(d)
	sum, weighted := sums(other.last()[uint64(len(other.last()))-more:], d[0])
	return d[1]+sum == other[1] && d[2]+weighted == other[2]
}

// joined returns the digest of both lists one after the other. As appendNew does, it leaves out a list that is part of a short one.
func (d messageDigest) joined(other messageDigest) messageDigest {
	switch {
	case len(d) == 0:
		return other
	case len(other) == 0:
		return d
	case d[0] == uint64(len(d.last())) && other[0] == uint64(len(other.last())): // they have all ids
		return digestOf(appendNew(d.last(), other.last()))
	}
	last := append(append([]uint64{}, d.last()...), other.last()...)
	if other[0] > uint64(len(other.last())) {
		last = other.last()
	}
	second := d.second()
	if d[0] == 1 {
		second = other.first()
	}
	return append(messageDigest{d[0] + other[0], d[1] + other[1], d[2] + other[2] + d[0]*other[1], d.first(), second}, last[max(len(last)-lastIDs, 0):]...)
}

// request returns the digest of the input messages of a folded span.
func (s *Span) request() messageDigest {
	if len(s.InputDigest) > 0 {
		return s.InputDigest
	}
	return digestOf(s.InputMessageIDs)
}
