package replay

import (
	"encoding/json"
	"slices"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// loopCall is what a loop knows of its model call.
type loopCall struct {
	step int
	conversation
	// answer is the normalised answer, and calls are its tool calls. ok is false without an answer.
	answer string
	calls  []chatCall
	ok     bool
	// results are the messages of the request that answer the calls of the call before, by the numbers of those calls. fresh are the
	// other new messages: input that only the recording knows. Those of the first call are all after the system's.
	results map[int]json.RawMessage
	fresh   []json.RawMessage
	// turn reports that the call begins a turn: the call before asked for no tool.
	turn bool
	// bare reports that the next request has the answer without its text, beside its tool calls.
	bare bool
}

// forget forgets the messages: where requests share no memory, those of all calls together are the square of the run.
func (c *loopCall) forget() { c.body, c.chain = nil, nil }

// readLoops finds the loops, and says which requests cannot be made from what came before.
func (r *Recording) readLoops() {
	r.readFrames()
	groups := map[int][]loopCall{}
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
				joined[call.step] = true
			}
		}
	}
	finder := loopFinder{Recording: r, tails: map[digest][]int{}, begins: map[digest][]int{}}
	for i := range r.Steps {
		if r.Steps[i].Kind == KindModel && !joined[i] {
			finder.place(r.loopCall(i))
		}
	}
	for i := range r.Steps {
		if talk := r.talks[i]; talk != nil {
			r.requests[i] = requestDigests{r.Steps[i].Model.Request.digestOf(&talk.conversation, r.tools), talk.bodyDigest()}
			talk.body, talk.chain = nil, nil
		}
	}
	slices.SortStableFunc(r.Loops, func(a, b Loop) int { return a.Calls[0] - b.Calls[0] })
	for l := range r.Loops {
		loop := &r.Loops[l]
		for k, i := range loop.Calls {
			r.Steps[i].Loop = l
			loop.calls[k].forget()
		}
		loop.Parent = r.commonFrame(loop.Calls)
	}
}

// loopCall reads a model call as loops compare it.
func (r *Recording) loopCall(i int) loopCall {
	model := r.Steps[i].Model
	call := loopCall{step: i, conversation: r.talks[i].conversation}
	if model.Response != nil {
		answer := r.cache.read(model.Response.Message)
		call.answer, call.calls, call.ok = answer.answer, answer.calls, true
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
func (r *Recording) joinGroup(frame int, calls []loopCall) bool {
	shown := false
	for k := range calls {
		body := calls[k].body
		if len(body) == 0 || slices.ContainsFunc(body, func(e entry) bool { return e.role == roleAssistant }) {
			return false
		}
		if k == 0 {
			if body[0].role == roleTool {
				return false
			}
			continue
		}
		asked := map[string]bool{}
		for _, call := range calls[k-1].calls {
			asked[call.id] = call.id != ""
		}
		for _, raw := range r.Steps[calls[k].step].Model.Request.Messages {
			if m := r.cache.read(raw); m.role == roleTool {
				if !asked[m.callID] {
					return false
				}
				shown = true
			}
		}
		if !calls[k-1].ok || len(calls[k-1].calls) == 0 && body[0].role == roleTool {
			return false
		}
	}
	if !shown {
		return false
	}
	loop := Loop{Joined: true}
	var system, said []json.RawMessage
	var whole *history
	if frame >= 0 && len(r.spans[frame].SystemInstructions) > 0 {
		if group, err := ToChat(r.spans[frame].SystemInstructions, nil); err == nil {
			system = group
		}
	}
	for k := range calls {
		call := &calls[k]
		request := &r.Steps[call.step].Model.Request
		own := request.Messages
		if call.leading > 0 {
			system, own = own[:call.leading], own[call.leading:]
		}
		call.turn = k == 0 || len(calls[k-1].calls) == 0
		call.fresh = own
		if k > 0 {
			said = append(said, r.Steps[calls[k-1].step].Model.Response.Message)
			call.results, call.fresh = r.split(calls[k-1].calls, own)
		}
		said = append(said, own...)
		whole = whole.next(r.cache, slices.Concat(system, said))
		r.talks[call.step], request.Messages = whole, whole.messages()
		call.conversation = whole.conversation
		loop.Calls = append(loop.Calls, call.step)
	}
	for k := range calls {
		calls[k].forget()
	}
	loop.calls = calls
	r.Loops = append(r.Loops, loop)
	return true
}

// split divides new messages into results of calls, by the numbers of the calls, and others. Results without an id belong to the
// calls in their order.
func (r *Recording) split(calls []chatCall, messages []json.RawMessage) (results map[int]json.RawMessage, others []json.RawMessage) {
	results = map[int]json.RawMessage{}
	for _, raw := range messages {
		m := r.cache.read(raw)
		at := -1
		if m.role == roleTool {
			at = slices.IndexFunc(calls, func(c chatCall) bool { return c.id != "" && c.id == m.callID })
			for n := 0; at < 0 && n < len(calls); n++ {
				if results[n] == nil && (m.callID == "" || calls[n].id == "") {
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
	tails map[digest][]int
	// begins are the loops by their frame, system messages and first message.
	begins map[digest][]int
}

// place adds a call to the loop that it continues, or to a new one.
func (f *loopFinder) place(call loopCall) {
	messages := f.Steps[call.step].Model.Request.Messages
	chain := call.chain
	frame := f.frames[call.step]
	for n := len(call.body); n > 0; n-- {
		l := f.open(f.tails[chain[n]], frame, call.step)
		if l < 0 {
			continue
		}
		loop := &f.Loops[l]
		last := &loop.calls[len(loop.calls)-1]
		call.results, call.fresh = f.split(last.calls, messages[call.body[n-1].upTo:])
		call.turn = last.ok && len(last.calls) == 0
		last.bare = len(last.calls) > 0 && last.answer != callsText(last.calls) && call.body[n-1].text == callsText(last.calls)
		if slices.ContainsFunc(call.body[n:], func(e entry) bool { return e.role == roleAssistant }) {
			f.Steps[call.step].Opaque = "The request has an answer of the model that no recorded call gave."
		}
		f.extend(l, call)
		return
	}
	if l := f.overlapping(call, frame); l >= 0 {
		f.Steps[call.step].Opaque = "The messages do not begin with those of the call before it, its answer and the results of its tools."
		call.turn = true
		call.fresh = messages[call.leading:]
		f.extend(l, call)
		return
	}
	call.turn, call.fresh = true, messages[call.leading:]
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
		last := f.Loops[l].calls[len(f.Loops[l].calls)-1].step
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
	a, b := &f.spans[earlier], &f.spans[later]
	if runmodel.IsAbsent(a.EndTime) || runmodel.IsAbsent(b.EndTime) {
		return false
	}
	return !runmodel.Interval{Start: a.StartTime, End: a.EndTime}.Precedes(runmodel.Interval{Start: b.StartTime, End: b.EndTime})
}

func (f *loopFinder) beginOf(call loopCall, frame int) digest {
	text := ""
	if frame >= 0 {
		text = f.Steps[frame].SpanID
	}
	return digestOf(text, call.system, call.body[0].role, call.body[0].text)
}

// overlapping returns the loop that begins as the call does and that it changes the messages of, -1 for none. A request that is
// repeated is no such change.
func (f *loopFinder) overlapping(call loopCall, frame int) int {
	if len(call.body) == 0 {
		return -1
	}
	loops := f.begins[f.beginOf(call, frame)]
	for _, l := range slices.Backward(loops) {
		last := f.Loops[l].calls[len(f.Loops[l].calls)-1]
		if f.concurrent(last.step, call.step) {
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
func (f *loopFinder) extend(l int, call loopCall) {
	loop := &f.Loops[l]
	if n := len(loop.calls); n > 0 {
		for _, tail := range tailsOf(&loop.calls[n-1]) {
			f.tails[tail] = slices.DeleteFunc(f.tails[tail], func(other int) bool { return other == l })
		}
		loop.calls[n-1].forget()
	}
	loop.Calls = append(loop.Calls, call.step)
	loop.calls = append(loop.calls, call)
	for _, tail := range tailsOf(&call) {
		f.tails[tail] = append(f.tails[tail], l)
	}
}

// tailsOf returns what the next request of a loop begins with: the messages of the call and its answer, of which some
// programs leave out the text beside tool calls. After a call without an answer the request is made again.
func tailsOf(call *loopCall) []digest {
	chain := call.chain
	body := call.bodyDigest()
	if !call.ok {
		return []digest{body}
	}
	tails := []digest{link(body, roleAssistant, call.answer)}
	if n := len(call.body); n > 0 && call.body[n-1].role == roleAssistant {
		tails = append(tails, link(chain[n-1], roleAssistant, joinAnswers(call.body[n-1].text, call.answer)))
	}
	if len(call.calls) > 0 {
		if bare := callsText(call.calls); bare != call.answer {
			tails = append(tails, link(body, roleAssistant, bare))
		}
	}
	return tails
}

// link adds a message to the digest of those before.
func link(before digest, role, text string) digest { return digestOf(string(before[:]), role, text) }
