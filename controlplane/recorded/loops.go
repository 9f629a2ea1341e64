package recorded

import (
	"encoding/json"
	"slices"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// LoopCall is what a loop knows of its model call.
type LoopCall struct {
	Step int
	Conversation
	// answer is the normalised answer, and calls are its tool calls. ok is false without an answer.
	answer   string
	Calls    []MessageCall
	Answered bool
	// Results are the messages of the request that answer the calls of the call before, by the numbers of those calls. fresh are the
	// other new messages: input that only the recording knows. Those of the first call are all after the system's.
	Results map[int]json.RawMessage
	Fresh   []json.RawMessage
	// Turn reports that the call begins a turn: the call before asked for no tool.
	Turn bool
	// Bare reports that the next request has the answer without its text, beside its tool calls.
	Bare bool
}

// forget forgets the messages: where requests share no memory, those of all calls together are the square of the run.
func (c *LoopCall) forget() { c.body, c.chain = nil, nil }

// readLoops finds the loops, and says which requests cannot be made from what came before.
func (r *Recording) readLoops() {
	r.readFrames()
	groups := map[int][]LoopCall{}
	var frames []int
	for i := range r.Steps {
		if r.Steps[i].Kind != KindModel {
			continue
		}
		frame := r.frames[i]
		if groups[frame] == nil {
			frames = append(frames, frame)
		}
		groups[frame] = append(groups[frame], r.loopCall(i))
	}
	joined := map[int]bool{}
	for _, frame := range frames {
		if r.joinGroup(frame, groups[frame]) {
			for _, call := range groups[frame] {
				joined[call.Step] = true
			}
		}
	}
	finder := loopFinder{Recording: r, tails: map[Digest][]int{}, begins: map[Digest][]int{}}
	for i := range r.Steps {
		if r.Steps[i].Kind == KindModel && !joined[i] {
			finder.place(r.loopCall(i))
		}
	}
	for i := range r.Steps {
		if talk := r.talks[i]; talk != nil {
			r.Requests[i] = requestDigests{r.Steps[i].Model.Request.DigestOf(&talk.Conversation, r.Definitions), talk.BodyDigest()}
			talk.body, talk.chain = nil, nil
		}
	}
	slices.SortStableFunc(r.Loops, func(a, b Loop) int { return a.Calls[0] - b.Calls[0] })
	for l := range r.Loops {
		loop := &r.Loops[l]
		for k, i := range loop.Calls {
			r.Steps[i].Loop = l
			loop.Turns[k].forget()
		}
		loop.Parent = r.commonFrame(loop.Calls)
	}
}

// loopCall reads a model call as loops compare it.
func (r *Recording) loopCall(i int) LoopCall {
	model := r.Steps[i].Model
	call := LoopCall{Step: i, Conversation: r.talks[i].Conversation}
	if model.Response != nil {
		answer := r.Cache.Read(model.Response.Message)
		call.answer, call.Calls, call.Answered = answer.Answer, answer.Calls, true
	}
	return call
}

// readFrames finds for each step the nearest agent or workflow above it, or else the outermost step above it. -1 for none.
func (r *Recording) readFrames() {
	r.frames = make([]int, len(r.Steps))
	for i := range r.Steps {
		parent := r.Steps[i].Parent
		switch {
		case parent < 0 || r.isFrame(parent) || r.frames[parent] < 0:
			r.frames[i] = parent
		default:
			r.frames[i] = r.frames[parent]
		}
	}
}

// isFrame reports whether the model calls below a step, and not those around it, are those of one agent.
func (r *Recording) isFrame(i int) bool {
	switch r.Steps[i].SpanKind {
	case runmodel.KindAgent, runmodel.KindWorkflow, runmodel.KindTask:
		return true
	}
	return r.Steps[i].Kind == KindTool
}

// commonFrame returns the nearest step that all steps are below, -1 for none.
func (r *Recording) commonFrame(steps []int) int {
	common := r.Steps[steps[0]].Parent
	for _, i := range steps[1:] {
		for at := r.Steps[i].Parent; at != common; {
			if at > common { // a parent comes before its children
				at = r.Steps[at].Parent
			} else {
				common = r.Steps[common].Parent
			}
		}
	}
	return common
}

// joinGroup joins the requests of model calls below a frame that each have only the messages since the answer before. What
// shows it is that results of tools answer the call before, while no request repeats an answer.
func (r *Recording) joinGroup(frame int, calls []LoopCall) bool {
	shown := false
	for k := range calls {
		body := calls[k].body
		if len(body) == 0 || slices.ContainsFunc(body, func(e entry) bool { return e.role == RoleAssistant }) {
			return false
		}
		if k == 0 {
			if body[0].role == RoleTool {
				return false
			}
			continue
		}
		asked := map[string]bool{}
		for _, call := range calls[k-1].Calls {
			asked[call.ID] = call.ID != ""
		}
		for _, raw := range r.Steps[calls[k].Step].Model.Request.Messages {
			if m := r.Cache.Read(raw); m.Role == RoleTool {
				if !asked[m.callID] {
					return false
				}
				shown = true
			}
		}
		if !calls[k-1].Answered || len(calls[k-1].Calls) == 0 && body[0].role == RoleTool {
			return false
		}
	}
	if !shown {
		return false
	}
	loop := Loop{Joined: true}
	var system, said []json.RawMessage
	var whole *History
	if frame >= 0 && len(r.Spans[frame].SystemInstructions) > 0 {
		if group, err := ToChat(r.Spans[frame].SystemInstructions, nil); err == nil {
			system = group
		}
	}
	for k := range calls {
		call := &calls[k]
		request := &r.Steps[call.Step].Model.Request
		own := request.Messages
		if call.Leading > 0 {
			system, own = own[:call.Leading], own[call.Leading:]
		}
		call.Turn = k == 0 || len(calls[k-1].Calls) == 0
		call.Fresh = own
		if k > 0 {
			said = append(said, r.Steps[calls[k-1].Step].Model.Response.Message)
			call.Results, call.Fresh = r.split(calls[k-1].Calls, own)
		}
		said = append(said, own...)
		whole = whole.Next(r.Cache, slices.Concat(system, said))
		r.talks[call.Step], request.Messages = whole, whole.Messages()
		call.Conversation = whole.Conversation
		loop.Calls = append(loop.Calls, call.Step)
	}
	for k := range calls {
		calls[k].forget()
	}
	loop.Turns = calls
	r.Loops = append(r.Loops, loop)
	return true
}

// split divides new messages into results of calls, by the numbers of the calls, and others. Results without an id belong to the
// calls in their order.
func (r *Recording) split(calls []MessageCall, messages []json.RawMessage) (results map[int]json.RawMessage, others []json.RawMessage) {
	results = map[int]json.RawMessage{}
	for _, raw := range messages {
		m := r.Cache.Read(raw)
		at := -1
		if m.Role == RoleTool {
			at = slices.IndexFunc(calls, func(c MessageCall) bool { return c.ID != "" && c.ID == m.callID })
			for n := 0; at < 0 && n < len(calls); n++ {
				if results[n] == nil && (m.callID == "" || calls[n].ID == "") {
					at = n
				}
			}
		}
		if at < 0 || results[at] != nil {
			others = append(others, raw)
			continue
		}
		results[at] = raw
	}
	return results, others
}

// loopFinder places model calls into loops.
type loopFinder struct {
	*Recording
	// tails are the loops by the messages that their next request begins with.
	tails map[Digest][]int
	// begins are the loops by their frame, system messages and first message.
	begins map[Digest][]int
}

// place adds a call to the loop that it continues, or to a new one.
func (f *loopFinder) place(call LoopCall) {
	messages := f.Steps[call.Step].Model.Request.Messages
	chain := call.chain
	frame := f.frames[call.Step]
	for n := len(call.body); n > 0; n-- {
		l := f.open(f.tails[chain[n]], frame, call.Step)
		if l < 0 {
			continue
		}
		loop := &f.Loops[l]
		last := &loop.Turns[len(loop.Turns)-1]
		call.Results, call.Fresh = f.split(last.Calls, messages[call.body[n-1].upTo:])
		call.Turn = last.Answered && len(last.Calls) == 0
		last.Bare = len(last.Calls) > 0 && last.answer != callsText(last.Calls) && call.body[n-1].text == callsText(last.Calls)
		if slices.ContainsFunc(call.body[n:], func(e entry) bool { return e.role == RoleAssistant }) {
			f.Steps[call.Step].Opaque = "The request has an answer of the model that no recorded call gave."
		}
		f.extend(l, call)
		return
	}
	if l := f.overlapping(call, frame); l >= 0 {
		f.Steps[call.Step].Opaque = "The messages do not begin with those of the call before it, its answer and the results of its tools."
		call.Turn = true
		call.Fresh = messages[call.Leading:]
		f.extend(l, call)
		return
	}
	call.Turn, call.Fresh = true, messages[call.Leading:]
	f.Loops = append(f.Loops, Loop{})
	l := len(f.Loops) - 1
	if len(call.body) > 0 {
		key := f.beginOf(call, frame)
		f.begins[key] = append(f.begins[key], l)
	}
	f.extend(l, call)
}

// open returns the loop among some that a call goes on with: the newest one of its frame, or else the newest.
func (f *loopFinder) open(loops []int, frame, step int) int {
	found := -1
	for _, l := range loops {
		last := f.Loops[l].Turns[len(f.Loops[l].Turns)-1].Step
		if f.concurrent(last, step) {
			continue
		}
		if f.frames[last] == frame {
			found = l
		} else if found < 0 || f.frames[f.Loops[l].Calls[0]] != frame && f.frames[f.Loops[found].Calls[0]] != frame {
			found = l
		}
	}
	return found
}

// concurrent reports whether a later step began before an earlier one had ended.
func (f *loopFinder) concurrent(earlier, later int) bool {
	a, b := &f.Spans[earlier], &f.Spans[later]
	if runmodel.IsAbsent(a.EndTime) || runmodel.IsAbsent(b.EndTime) {
		return false
	}
	return !runmodel.Interval{Start: a.StartTime, End: a.EndTime}.Precedes(runmodel.Interval{Start: b.StartTime, End: b.EndTime})
}

func (f *loopFinder) beginOf(call LoopCall, frame int) Digest {
	text := ""
	if frame >= 0 {
		text = f.Steps[frame].SpanID
	}
	return digestOf(text, call.system, call.body[0].role, call.body[0].text)
}

// overlapping returns the loop that begins as the call does and that it changes the messages of, -1 for none. A request that is
// repeated is no such change.
func (f *loopFinder) overlapping(call LoopCall, frame int) int {
	if len(call.body) == 0 {
		return -1
	}
	loops := f.begins[f.beginOf(call, frame)]
	for _, l := range slices.Backward(loops) {
		last := f.Loops[l].Turns[len(f.Loops[l].Turns)-1]
		if f.concurrent(last.Step, call.Step) {
			continue
		}
		if slices.EqualFunc(last.body, call.body, func(a, b entry) bool { return a.role == b.role && a.text == b.text }) {
			return -1
		}
		return l
	}
	return -1
}

// extend adds a call to a loop.
func (f *loopFinder) extend(l int, call LoopCall) {
	loop := &f.Loops[l]
	if n := len(loop.Turns); n > 0 {
		for _, tail := range tailsOf(&loop.Turns[n-1]) {
			f.tails[tail] = slices.DeleteFunc(f.tails[tail], func(other int) bool { return other == l })
		}
		loop.Turns[n-1].forget()
	}
	loop.Calls = append(loop.Calls, call.Step)
	loop.Turns = append(loop.Turns, call)
	for _, tail := range tailsOf(&call) {
		f.tails[tail] = append(f.tails[tail], l)
	}
}

// tailsOf returns what the next request of a loop begins with: the messages of the call and its answer, of which some
// programs leave out the text beside tool calls. After a call without an answer the request is made again.
func tailsOf(call *LoopCall) []Digest {
	chain := call.chain
	body := call.BodyDigest()
	if !call.Answered {
		return []Digest{body}
	}
	tails := []Digest{link(body, RoleAssistant, call.answer)}
	if n := len(call.body); n > 0 && call.body[n-1].role == RoleAssistant {
		tails = append(tails, link(chain[n-1], RoleAssistant, joinAnswers(call.body[n-1].text, call.answer)))
	}
	if len(call.Calls) > 0 {
		if bare := callsText(call.Calls); bare != call.answer {
			tails = append(tails, link(body, RoleAssistant, bare))
		}
	}
	return tails
}

// link adds a message to the digest of those before.
func link(before Digest, role, text string) Digest { return digestOf(string(before[:]), role, text) }
