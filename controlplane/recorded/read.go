package recorded

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Attributes of a recording that the run model has no field for.
const (
	// KeyProviderRequest and keyProviderResponse are bodies as they were sent and received.
	KeyProviderRequest  = "looptrace.provider.request"
	KeyProviderResponse = "looptrace.provider.response"
	// keyTimeout, keyRetries and keyAttempts are numbers, on a model call or a tool call.
	keyTimeout  = "looptrace.timeout_ms"
	keyRetries  = "looptrace.retries"
	keyAttempts = "looptrace.attempts"
	// keyMaxRetries is what the AI SDK calls retries.
	keyMaxRetries = "ai.settings.maxRetries"
)

// Read makes a recording of the folded spans of a run. The order of spans does not matter. It never fails: what is
// wrong with a recording is told by its Replayability.
func Read(spans []Span) *Recording {
	r := &Recording{bySpan: map[uint64]int{}, Cache: MessageCache{}, Forms: messageForms{}, groups: map[string][]json.RawMessage{}, tails: map[tailKey]*tail{}, Definitions: ToolCache{}}
	r.order(spans)
	if len(r.Spans) == 0 {
		r.judge()
		return r
	}
	folded := make([]runmodel.Span, len(r.Spans))
	for i := range r.Spans {
		folded[i] = r.Spans[i].Span
	}
	kinds := make([]Kind, len(folded))
	for i := range kinds {
		kinds[i] = KindFrame
	}
	for _, i := range runmodel.ModelCalls(folded) {
		kinds[i] = KindModel
	}
	for _, i := range runmodel.ToolCalls(folded) {
		kinds[i] = KindTool
	}
	r.talks, r.Requests = make([]*History, len(r.Spans)), make([]requestDigests, len(r.Spans))
	r.Steps = make([]Step, 0, len(r.Spans))
	for i := range r.Spans {
		r.Steps = append(r.Steps, r.step(i, kinds[i]))
	}
	r.readLinks()
	r.readLoops()
	r.readCalls()
	r.readDependence()
	r.judge()
	r.groups, r.tails = nil, nil // only Read needs them
	return r
}

// order sorts spans by start, parents before their children, and finds the parents. The parent of a span whose parents form a circle is none.
func (r *Recording) order(spans []Span) {
	index := make(map[uint64]int, len(spans))
	for i := range spans {
		if _, twice := index[spans[i].SpanID]; !twice {
			index[spans[i].SpanID] = i
		}
	}
	children := make([][]int, len(spans))
	ready := &spanHeap{spans: spans}
	for i := range spans {
		if index[spans[i].SpanID] != i {
			continue // the same span twice: it was not folded
		}
		if parent, ok := index[spans[i].ParentSpanID]; ok && parent != i {
			children[parent] = append(children[parent], i)
		} else {
			heap.Push(ready, i)
		}
	}
	next := 0
	for len(r.Spans) < len(index) {
		if ready.Len() == 0 { // all that are left are below a circle: it is cut at the first of them
			for next < len(spans) {
				_, done := r.bySpan[spans[next].SpanID]
				if !done {
					break
				}
				next++
			}
			heap.Push(ready, next)
		}
		i := heap.Pop(ready).(int) //nolint:forcetypeassert // it has no others
		if _, done := r.bySpan[spans[i].SpanID]; done {
			continue
		}
		r.bySpan[spans[i].SpanID] = len(r.Spans)
		r.Spans = append(r.Spans, spans[i])
		for _, child := range children[i] {
			heap.Push(ready, child)
		}
	}
}

// spanHeap has the spans whose parents are placed.
type spanHeap struct {
	spans []Span
	list  []int
}

func (h *spanHeap) Len() int { return len(h.list) }

func (h *spanHeap) Less(i, j int) bool {
	a, b := &h.spans[h.list[i]], &h.spans[h.list[j]]
	if order := a.StartTime.Compare(b.StartTime); order != 0 {
		return order < 0
	}
	return a.SpanID < b.SpanID
}

func (h *spanHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

func (h *spanHeap) Push(x any) { h.list = append(h.list, x.(int)) } //nolint:forcetypeassert // it has no others

func (h *spanHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// step reads a step. Steps before it are read.
func (r *Recording) step(i int, kind Kind) Step {
	span := &r.Spans[i]
	s := Step{
		SpanID: runmodel.FormatSpanID(span.SpanID), Parent: -1, Kind: kind, SpanKind: span.EffectiveKind(), Name: span.Name, Agent: span.AgentName,
		Status: span.EffectiveStatus(), ErrorType: span.ErrorType, ErrorMessage: span.ErrorMessage, Loop: -1, Asker: -1,
	}
	if i == 0 {
		r.Start = span.StartTime
	}
	if parent, ok := r.bySpan[span.ParentSpanID]; ok && parent < i {
		s.Parent = parent
		s.Agent = cmp.Or(s.Agent, r.Steps[parent].Agent)
	}
	s.Offset = span.StartTime.Sub(r.Start)
	if !runmodel.IsAbsent(span.EndTime) {
		s.Duration = new(max(span.EndTime.Sub(span.StartTime), 0))
		end := s.Offset + *s.Duration
		if r.Duration == nil || end > *r.Duration {
			r.Duration = &end
		}
	}
	s.TimeoutMS, s.Retries, s.Attempts = number(span, keyTimeout), number(span, keyRetries), number(span, keyAttempts)
	if s.Retries == nil {
		s.Retries = number(span, keyMaxRetries)
	}
	switch kind {
	case KindModel:
		s.Model = r.modelCall(i, span)
	case KindTool:
		s.Tool = toolCall(span)
		s.Name = cmp.Or(s.Tool.Name, s.Name)
	default:
		s.Inputs, s.Outputs = cmp.Or(span.Inputs, span.ToolArguments), cmp.Or(span.Outputs, span.ToolResult, LastText(span.OutputMessages))
	}
	return s
}

// LastText returns the text of the last message that has some.
func LastText(messages []json.RawMessage) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if _, text, _ := runmodel.MessageText(string(messages[i])); text != "" {
			return text
		}
	}
	return ""
}

// number reads an attribute that counts something. It returns nil if there is none, or none that can be right.
func number(span *Span, key string) *int64 {
	text := cmp.Or(span.AttributesJSON[key], span.Attributes[key])
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || n < 0 || n > math.MaxInt32*1000 || n != math.Trunc(n) {
		return nil
	}
	return new(int64(n))
}

// readLinks finds the steps that others link to.
func (r *Recording) readLinks() {
	for i := range r.Spans {
		if r.Spans[i].Links == "" {
			continue
		}
		var links []runmodel.Link
		if json.Unmarshal([]byte(r.Spans[i].Links), &links) != nil {
			continue // what ingest wrote is valid; another text links to nothing
		}
		for _, link := range links {
			id, err := strconv.ParseUint(link.SpanID, 16, 64)
			if err != nil {
				continue
			}
			if at, ok := r.bySpan[id]; ok && at != i {
				r.Steps[i].Links = append(r.Steps[i].Links, at)
			}
		}
	}
}

// toolCall reads a call of a tool.
func toolCall(span *Span) *ToolCall {
	call := &ToolCall{
		Name: cmp.Or(span.ToolName, span.Name), CallID: span.ToolCallID, Arguments: cmp.Or(span.ToolArguments, span.Inputs),
		SideEffects: SideEffects(span.RecordedEffects()),
	}
	if result := cmp.Or(span.ToolResult, span.Outputs); result != "" {
		call.Result = &result
	}
	return call
}

// End returns the end of a step, from the start of the run.
func (s *Step) End() (time.Duration, bool) {
	if s.Duration == nil {
		return 0, false
	}
	return s.Offset + *s.Duration, true
}

// Failed reports whether the step has an error.
func (s *Step) Failed() bool {
	return s.Status == runmodel.StatusError || s.Status == runmodel.StatusCancelled
}
