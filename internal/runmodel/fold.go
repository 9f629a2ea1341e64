package runmodel

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Fold merges the versions of spans into one Span per span id, in start order. Versions may come in any order and
// more than once. Of spans that start at the same time, parents come before their children. Within a span, newer
// versions override older ones field by field: a field that a version does not carry keeps its value. Maps are merged
// key by key, lists are replaced. Versions made of log records are concatenated and fill only what the span itself
// does not say. Spans without a parent become children of the native run, if there is one.
func Fold(versions []Span) []Span { return foldInto(nil, versions) }

// foldInto is Fold into the memory of folded, which must be empty.
func foldInto(folded, versions []Span) []Span {
	order := make([]int, len(versions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &versions[a], &versions[b]
		return cmp.Or(cmp.Compare(x.SpanID, y.SpanID), compareBool(x.FromLog, y.FromLog), cmp.Compare(x.Version, y.Version))
	})
	folded = slices.Grow(folded, len(versions))
	for _, i := range order {
		v := &versions[i]
		n := len(folded)
		if n == 0 || folded[n-1].SpanID != v.SpanID || folded[n-1].FromLog != v.FromLog {
			folded = append(folded, *v)
			continue
		}
		if last := &folded[n-1]; last.Version != v.Version {
			if v.FromLog {
				last.append(v)
			} else {
				last.overlay(v)
			}
		}
	}
	folded = joinCalls(joinLogs(folded))
	for i := range folded {
		folded[i].dropWithdrawn()
	}
	settleTools(folded)
	attachToRun(folded)
	sortByStart(folded)
	return folded
}

// Depths returns each span's distance from the root. A span counts as a root if its parent has not arrived or its
// ancestors form a cycle.
func Depths(spans []Span) []int {
	index := make(map[uint64]int, len(spans))
	for i := range spans {
		index[spans[i].SpanID] = i
	}
	const unknown, underWay = -1, -2
	depths := make([]int, len(spans))
	for i := range depths {
		depths[i] = unknown
	}
	var path []int
	for i := range spans {
		path = path[:0]
		at, base := i, 0
		for {
			if depths[at] >= 0 {
				base = depths[at] + 1
				break
			}
			if depths[at] == underWay {
				break // a cycle
			}
			depths[at] = underWay
			path = append(path, at)
			parent, ok := index[spans[at].ParentSpanID]
			if !ok {
				break
			}
			at = parent
		}
		for j := len(path) - 1; j >= 0; j-- {
			depths[path[j]] = base
			base++
		}
	}
	return depths
}

// sortByStart sorts spans by start, then depth, then id. A Span takes a kilobyte, so it sorts indexes first and then
// moves each span once.
func sortByStart(spans []Span) {
	order := make([]int, len(spans)) // the index of the span that belongs here
	for i := range order {
		order[i] = i
	}
	depths := sync.OnceValue(func() []int { return Depths(spans) })
	slices.SortFunc(order, func(a, b int) int {
		if c := spans[a].StartTime.Compare(spans[b].StartTime); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(depths()[a], depths()[b]), cmp.Compare(spans[a].SpanID, spans[b].SpanID))
	})
	for start := range order {
		if order[start] == start {
			continue
		}
		first, at := spans[start], start
		for order[at] != start {
			from := order[at]
			spans[at], order[at] = spans[from], at
			at = from
		}
		spans[at], order[at] = first, at
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// joinLogs fills each span from the log version that follows it.
func joinLogs(folded []Span) []Span {
	joined := folded[:0]
	for i := range folded {
		switch n := len(joined); {
		case n > 0 && joined[n-1].SpanID == folded[i].SpanID:
			joined[n-1].fill(&folded[i])
		case n == i: // already in its position, as all are without logs
			joined = folded[:i+1]
		default:
			joined = append(joined, folded[i])
		}
	}
	clear(folded[len(joined):]) // releases what the leftovers refer to
	return joined
}

// append adds a later version made of log records to s. It skips messages that s already has: a client that got no
// answer sends its records again.
func (s *Span) append(v *Span) {
	start, input, output, events := s.StartTime, s.InputMessageIDs, s.OutputMessageIDs, s.Events
	request := s.request().joined(v.request())
	system := s.SystemMessageTextID
	s.overlay(v)
	if len(input) > 0 {
		s.SystemMessageTextID = system
	}
	if start.Before(v.StartTime) {
		s.StartTime = start
	}
	s.InputMessageIDs, s.InputDigest = appendNew(input, v.InputMessageIDs), request
	s.OutputMessageIDs = appendNew(output, v.OutputMessageIDs)
	s.Events = joinEvents(events, v.Events)
}

func appendNew(list, more []uint64) []uint64 {
	for i := range list {
		if len(list)-i >= len(more) && slices.Equal(list[i:i+len(more)], more) {
			return list
		}
	}
	return slices.Concat(list, more)
}

// joinEvents concatenates two JSON lists of events and drops duplicates.
func joinEvents(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "" || strings.Contains(a, b[1:len(b)-1]):
		return a
	}
	return a[:len(a)-1] + "," + b[1:]
}

// fill takes from v, which was made of log records, only what s does not say, and usage that has more parts. So nothing is
// there twice if span and log say the same.
func (s *Span) fill(v *Span) {
	s.takeUsage(v)
	own := *s
	*s = *v
	s.overlay(&own)
	s.SpanID, s.ParentSpanID, s.Records = own.SpanID, own.ParentSpanID, own.Records
	s.Version = max(own.Version, v.Version)
	s.FromLog = false
	s.StartTime = own.StartTime
	s.Events = joinEvents(own.Events, v.Events)
}

func attachToRun(spans []Span) {
	run := slices.IndexFunc(spans, func(s Span) bool { return s.IsRun })
	if run < 0 {
		return
	}
	for i := range spans {
		if !spans[i].IsRun && spans[i].ParentSpanID == 0 {
			spans[i].ParentSpanID = spans[run].SpanID
		}
	}
}

func overlay[T comparable](old *T, newer T) {
	var absent T
	if newer != absent {
		*old = newer
	}
}

func overlayTime(old *time.Time, newer time.Time) {
	if !IsAbsent(newer) {
		*old = newer
	}
}

func overlayList[T any](old *[]T, newer []T) {
	if len(newer) > 0 {
		*old = newer
	}
}

func overlayMap(old *map[string]string, newer map[string]string) {
	if len(newer) == 0 {
		return
	}
	merged := maps.Clone(*old)
	if merged == nil {
		merged = make(map[string]string, len(newer))
	}
	maps.Copy(merged, newer)
	*old = merged
}

// overlay applies a newer version to s.
func (s *Span) overlay(v *Span) {
	added := settleAdded(s, v)
	s.Version = v.Version
	s.IsRun = s.IsRun || v.IsRun
	overlay(&s.ParentSpanID, v.ParentSpanID)
	overlayTime(&s.StartTime, v.StartTime)
	overlayTime(&s.EndTime, v.EndTime)
	overlay(&s.Name, v.Name)
	overlay(&s.Kind, v.Kind)
	overlay(&s.Operation, v.Operation)
	overlay(&s.Status, v.Status)
	overlay(&s.ErrorType, v.ErrorType)
	overlay(&s.ErrorMessage, v.ErrorMessage)
	overlay(&s.ErrorStack, v.ErrorStack)
	overlay(&s.ServiceName, v.ServiceName)
	overlay(&s.ScopeName, v.ScopeName)
	overlay(&s.ScopeVersion, v.ScopeVersion)
	overlay(&s.Dialect, v.Dialect)
	overlay(&s.Framework, v.Framework)
	overlay(&s.Provider, v.Provider)
	overlay(&s.RequestModel, v.RequestModel)
	overlay(&s.ResponseModel, v.ResponseModel)
	overlay(&s.ResponseHash, v.ResponseHash)
	overlay(&s.ToolName, v.ToolName)
	overlay(&s.ToolCallID, v.ToolCallID)
	overlay(&s.AgentName, v.AgentName)
	overlay(&s.SessionID, v.SessionID)
	overlay(&s.ConversationID, v.ConversationID)
	overlay(&s.UserID, v.UserID)
	overlay(&s.Environment, v.Environment)
	overlay(&s.Release, v.Release)
	overlay(&s.PromptID, v.PromptID)
	overlay(&s.PromptName, v.PromptName)
	overlay(&s.PromptVersion, v.PromptVersion)
	overlay(&s.Source, v.Source)
	overlayList(&s.Tags, v.Tags)
	overlayList(&s.FinishReasons, v.FinishReasons)
	overlayMap(&s.Metadata, v.Metadata)
	overlay(&s.InputTokens, v.InputTokens)
	overlay(&s.OutputTokens, v.OutputTokens)
	overlay(&s.CacheReadTokens, v.CacheReadTokens)
	overlay(&s.CacheWriteTokens, v.CacheWriteTokens)
	overlay(&s.ReasoningTokens, v.ReasoningTokens)
	overlay(&s.OtherTokens, v.OtherTokens)
	s.overlayCost(v)
	overlay(&s.Counting, v.Counting)
	overlay(&s.TimeToFirstToken, v.TimeToFirstToken)
	overlay(&s.InputPreview, v.InputPreview)
	if v.OutputPreview != "" {
		s.OutputPreview, s.OutputCalls = v.OutputPreview, v.OutputCalls
	}
	overlay(&s.Inputs, v.Inputs)
	overlay(&s.Outputs, v.Outputs)
	overlay(&s.ToolArguments, v.ToolArguments)
	overlay(&s.ToolResult, v.ToolResult)
	overlay(&s.CallHash, v.CallHash)
	overlay(&s.ResultHash, v.ResultHash)
	overlay(&s.Said, v.Said)
	overlay(&s.SideEffects, v.SideEffects)
	overlay(&s.SystemMessageTextID, v.SystemMessageTextID)
	if len(v.InputMessageIDs) > 0 {
		s.InputMessageIDs, s.SystemMessageTextID, s.InputDigest = v.InputMessageIDs, v.SystemMessageTextID, v.InputDigest
	}
	overlayList(&s.OutputMessageIDs, v.OutputMessageIDs)
	overlay(&s.InstructionsID, v.InstructionsID)
	overlay(&s.InstructionsTextID, v.InstructionsTextID)
	overlay(&s.ToolDefinitionsID, v.ToolDefinitionsID)
	overlayParts(&s.AgentParts, v.AgentParts)
	overlay(&s.ResourceID, v.ResourceID)
	overlayMap(&s.Attributes, v.Attributes)
	if s.Attributes[KeyAdded] != added {
		overlayMap(&s.Attributes, map[string]string{KeyAdded: added})
	}
	overlayMap(&s.AttributesJSON, v.AttributesJSON)
	overlayList(&s.Records, v.Records)
	overlay(&s.Events, v.Events)
	overlay(&s.Links, v.Links)
}

// foldBuffers pools the folded spans that Totals needs only while it runs.
var foldBuffers = sync.Pool{New: func() any { return new([]Span) }}

// Totals derives a run from all versions of all its spans, which must be of one project and run. The order of the
// versions and duplicates do not matter.
//
// The root is the native run itself, else the earliest span without a parent, else the earliest span whose parent has
// not arrived. The run takes its name, kind, status, error and identity from the root, and what the root does not
// carry from the first span that does. Tokens and cost are summed as CountsUsage says.
func Totals(versions []Span) Run {
	buffer := foldBuffers.Get().(*[]Span)
	spans := foldInto((*buffer)[:0], versions)
	defer func() {
		clear(spans)
		*buffer = spans
		foldBuffers.Put(buffer)
	}()
	at := rootIndex(spans)
	root := &spans[at]
	index := indexOf(spans)
	calls, tools := modelCalls(spans, index), toolCalls(spans, index)
	run := Run{
		ProjectID: root.ProjectID, RunID: root.RunID,
		Version:    CountVersions(versions),
		RootSpanID: root.SpanID,
		Name:       root.Name, Kind: runKind(root, spans), Status: root.EffectiveStatus(),
		ErrorType: root.ErrorType, ErrorMessage: root.ErrorMessage,
		Tags: root.Tags, Metadata: root.Metadata,
		PromptID: root.PromptID, PromptName: root.PromptName, PromptVersion: root.PromptVersion,
		SessionID: root.SessionID, ConversationID: root.ConversationID, UserID: root.UserID,
		AgentName: root.AgentName, Environment: root.Environment, Release: root.Release,
		SpanCount:     uint64(len(spans)),
		LLMCallCount:  uint64(len(calls)),
		ToolCallCount: uint64(len(tools)),
		GenAI:         slices.ContainsFunc(versions, func(v Span) bool { return v.IsGenAI() }),
		Source:        runSource(root, spans),
		FirstReceived: firstReceived(versions),
	}
	usage := countsUsage(spans, index)
	cost := countsCost(spans, index, usage)
	toolAbove := sync.OnceValue(func() []int {
		return nearestAbove(spans, index, func(i int) bool { return spans[i].EffectiveKind() == KindTool })
	})
	var lastEnd time.Time
	input, output := previewSpans(spans, at)
	if input >= 0 {
		run.InputPreview = spans[input].InputPreview
	}
	if output >= 0 {
		run.OutputPreview = spans[output].OutputPreview
	}
	for i := range spans {
		s := &spans[i]
		firstOf(&run.SessionID, s.SessionID)
		firstOf(&run.ConversationID, s.ConversationID)
		firstOf(&run.UserID, s.UserID)
		if s.AgentName != "" && run.AgentName == "" && toolAbove()[i] < 0 { // no subagent
			run.AgentName = s.AgentName
		}
		firstOf(&run.Environment, s.Environment)
		firstOf(&run.Release, s.Release)
		if s.EndTime.After(lastEnd) {
			lastEnd = s.EndTime
		}
		if s.EffectiveStatus() == StatusError {
			run.ErrorCount++
		}
		if model := cmp.Or(s.ResponseModel, s.RequestModel); model != "" && !slices.Contains(run.Models, model) {
			run.Models = append(run.Models, model)
		}
		run.addPrompt(s)
		if wrong := s.Metadata[MetadataClock]; wrong != "" && run.Metadata[MetadataClock] == "" {
			overlayMap(&run.Metadata, map[string]string{MetadataClock: wrong})
		}
		if share := parseSampleShare(s.Metadata[MetadataSampleShare]); share != nil && (run.SampleShare == nil || *share < *run.SampleShare) {
			run.SampleShare = share
			overlayMap(&run.Metadata, map[string]string{MetadataSampleShare: s.Metadata[MetadataSampleShare]})
		}
		if usage[i] {
			run.addUsage(s)
		}
		if cost[i] {
			run.addCost(s)
		}
	}
	if run.CostUSD != nil {
		*run.CostUSD = RoundUSD(*run.CostUSD, 15)
	}
	run.UnpricedCallCount = Unpriced(spans, usage, cost)
	slices.Sort(run.Models)
	run.Tools = toolsOf(spans)
	run.setAgentRelease(spans, index, calls)
	run.StartTime, run.EndTime = spans[0].StartTime, lastEnd
	if root.IsRun {
		run.StartTime, run.EndTime = root.StartTime, root.EndTime
	}
	if run.Status == StatusRunning || IsAbsent(run.EndTime) {
		run.EndTime = Epoch
	}
	if run.Status == StatusError && run.ErrorType == "" && run.ErrorMessage == "" {
		run.ErrorType, run.ErrorMessage = firstError(spans)
	}
	run.Failure = failureOf(&run, spans)
	run.Replayability = replayability(&run, spans, index, calls, tools)
	run.findSignals(spans, index, calls, tools)
	return run
}

// PreviewSpans returns which of a run's folded spans have its input and its output, -1 for none: the root if it has them, else the first
// span with an input and the last with an answer.
func PreviewSpans(spans []Span) (input, output int) { return previewSpans(spans, rootIndex(spans)) }

func previewSpans(spans []Span, root int) (input, output int) {
	input, output = -1, -1
	if spans[root].InputPreview != "" {
		input = root
	}
	if spans[root].OutputPreview != "" {
		output = root
	}
	outputGiven := output == root && !spans[root].OutputCalls
	var lastOutput time.Time
	answered := false
	for i := range spans {
		s := &spans[i]
		if input < 0 && s.InputPreview != "" {
			input = i
		}
		// Tool calls are shown only for a run without an answer.
		isFirstAnswer := !answered && !s.OutputCalls
		isLater := answered != s.OutputCalls && !s.EndTime.Before(lastOutput)
		if !outputGiven && s.OutputPreview != "" && (isFirstAnswer || isLater) {
			output, answered, lastOutput = i, !s.OutputCalls, s.EndTime
		}
	}
	return input, output
}

// runKind returns the kind of a run: that of its root. If that is a plain span, such as the request that an agent
// answers, it is the kind of the first agent or workflow below it, else that of the first step that is no plain span.
func runKind(root *Span, spans []Span) string {
	kind := root.EffectiveKind()
	if kind != KindSpan {
		return kind
	}
	for i := range spans {
		switch k := spans[i].EffectiveKind(); {
		case k == KindAgent || k == KindWorkflow:
			return k
		case kind == KindSpan:
			kind = k
		}
	}
	return kind
}

// runSource returns the source of a run. Other values than Sources state none.
func runSource(root *Span, spans []Span) string {
	if slices.Contains(Sources, root.Source) {
		return root.Source
	}
	for i := range spans {
		if slices.Contains(Sources, spans[i].Source) {
			return spans[i].Source
		}
	}
	return SourceUser
}

func toolsOf(spans []Span) []string {
	var tools []string
	for i := range spans {
		name := spans[i].ToolName
		if name == "" || len(tools) > 0 && tools[len(tools)-1] == name {
			continue
		}
		if !slices.Contains(tools, name) && len(tools) < MaxTools {
			tools = append(tools, name)
		}
	}
	slices.Sort(tools)
	return tools
}

func firstOf(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func firstError(spans []Span) (errorType, message string) {
	for i := range spans {
		if s := &spans[i]; s.ErrorType != "" || s.ErrorMessage != "" {
			return s.ErrorType, s.ErrorMessage
		}
	}
	return "", ""
}

func rootIndex(spans []Span) int {
	present := make(map[uint64]struct{}, len(spans))
	for i := range spans {
		present[spans[i].SpanID] = struct{}{}
	}
	parentless, orphan := -1, -1
	for i := range spans {
		s := &spans[i]
		if s.IsRun {
			return i
		}
		if s.ParentSpanID == 0 && parentless < 0 {
			parentless = i
		}
		if _, arrived := present[s.ParentSpanID]; !arrived && orphan < 0 {
			orphan = i
		}
	}
	if parentless >= 0 {
		return parentless
	}
	return max(orphan, 0) // a cycle has no root: its earliest span stands in
}

// CountsUsage reports for each folded span of a run whether its tokens count towards the run's. No other code decides this.
// The rules:
//
//   - Model calls count. A call that only wraps another one (ADK's call_llm around generate_content) does not: it has a
//     call with usage below it and no tool or agent in between. Below a tool or an agent it is a call of its own, and
//     both count.
//   - Every other span states the sum of what is below it. It counts only if no descendant and no ancestor counts
//     already, so the outermost of such spans wins.
//   - A span that states more than all that counts below it counts in their stead: some of those were not recorded, or only
//     in part.
//   - A span that is known to repeat another one never counts: its Counting is CountNothing, or it fetched a response
//     again.
//   - Of the calls below one parent that got the same response, one counts: two libraries recorded it. If they state
//     different usage, the inner one counts, which is closer to the provider.
//   - A step that is neither an agent nor a tool repeats a call if one started before it below the same parent and has
//     the same usage: it handles what the call returned.
//
// The result depends on the set of spans alone, not on their order of arrival. A span that arrives later may count in the
// stead of one above it.
func CountsUsage(spans []Span) []bool { return countsUsage(spans, indexOf(spans)) }

func countsUsage(spans []Span, index map[uint64]int) []bool {
	counts := counted(spans, index, func(i int) bool { return spans[i].HasUsage() })
	preferWholes(spans, index, counts)
	return counts
}

func counted(spans []Span, index map[uint64]int, carries func(int) bool) []bool {
	counts := make([]bool, len(spans))
	// below[i] is true if a counted span is below i.
	below := make([]bool, len(spans))
	mark := func(i int) {
		counts[i] = true
		for range len(spans) { // limits the loop, since parents may form a cycle
			parent, ok := index[spans[i].ParentSpanID]
			if !ok || below[parent] {
				return
			}
			below[parent] = true
			i = parent
		}
	}
	again := sameCalls(spans)
	isCall := func(i int) bool { return spans[i].isCall() && spans[i].countsAtAll() && !again[i] && carries(i) }
	wraps := wrappers(spans, index, isCall)
	usages := map[usageBelow]int{}
	for i := range spans {
		if !isCall(i) {
			continue
		}
		if !wraps[i] {
			mark(i)
		}
		if below := spans[i].usageBelow(); spans[i].HasUsage() && usages[below] == 0 {
			usages[below] = i + 1
		}
	}
	above := countedAbove{spans: spans, index: index, counts: counts, known: make([]answer, 2*len(spans))}
	// In start order an ancestor comes before its descendants, so the outermost roll-up is the one that counts.
	for i := range spans {
		s := &spans[i]
		if counts[i] || below[i] || s.isCall() || !s.countsAtAll() || !carries(i) {
			continue
		}
		if kind := s.EffectiveKind(); kind != KindAgent && kind != KindTool {
			if call := usages[s.usageBelow()]; call > 0 && call <= i && s.HasUsage() {
				continue
			}
		}
		if !above.of(i) {
			mark(i)
		}
	}
	return counts
}

// usageBelow is what a call and a step that repeats its usage have in common.
type usageBelow struct {
	parent        uint64
	input, output int64 // -1 for absent
}

func (s *Span) usageBelow() usageBelow {
	u := usageBelow{s.ParentSpanID, -1, -1}
	if s.InputTokens != nil {
		u.input = *s.InputTokens
	}
	if s.OutputTokens != nil {
		u.output = *s.OutputTokens
	}
	return u
}

// sameCalls reports which calls another call below the same parent stands for. Two calls are one in these cases:
//
//   - They got the same response. The first that has usage stands for the call, else the first. Two calls with different
//     numbers of output tokens got different responses, whatever their ids: mocks give one id to all.
//   - Two libraries recorded them, one inside the time of the other, and they got the same response. The inner call
//     stands for both if it has usage, whatever the numbers of tokens.
//   - Two libraries recorded them, one inside the time of the other, and both failed without a response of the same
//     model. The outer call stands for both.
func sameCalls(spans []Span) map[int]bool {
	type call struct {
		parent uint64
		hash   uint32
		model  string // of a call that failed
	}
	var first map[call]int
	var again map[int]bool
	for i := range spans {
		s := &spans[i]
		if !s.isCall() || !s.countsAtAll() {
			continue
		}
		key := call{s.ParentSpanID, s.ResponseHash, ""}
		if s.ResponseHash == 0 {
			if s.EffectiveStatus() != StatusError || s.HasUsage() || s.RequestModel == "" {
				continue
			}
			key.model = s.RequestModel
		}
		if first == nil {
			first, again = map[call]int{}, map[int]bool{}
		}
		other, ok := first[key]
		switch {
		case !ok:
			first[key] = i
		case key.model != "":
			if s.isInside(&spans[other]) {
				again[i] = true
			} else if s.EndTime.After(spans[other].EndTime) {
				first[key] = i
			}
		case s.HasUsage() && (!spans[other].HasUsage() || s.isInside(&spans[other])):
			again[other] = true
			first[key] = i
		case !s.HasUsage() || s.usageBelow().output == spans[other].usageBelow().output:
			again[i] = true
		}
	}
	return again
}

// isInside reports whether another library recorded the span, inside the time of outer, which does not start later.
func (s *Span) isInside(outer *Span) bool {
	return s.ScopeName != outer.ScopeName && !IsAbsent(s.EndTime) && !s.EndTime.After(outer.EndTime)
}

func indexOf(spans []Span) map[uint64]int {
	index := make(map[uint64]int, len(spans))
	for i := range spans {
		index[spans[i].SpanID] = i
	}
	return index
}

func (s *Span) isCall() bool {
	kind := s.EffectiveKind()
	return kind == KindLLM || kind == KindEmbedding || kind == KindReranker
}

// countsAtAll is false for a span that repeats another one by its own account.
func (s *Span) countsAtAll() bool {
	return s.Counting != CountNothing && s.Operation != FetchResponse
}

// wrappers reports which spans that satisfy is have another such span below them, with no tool or agent in between.
func wrappers(spans []Span, index map[uint64]int, is func(int) bool) []bool {
	wraps := make([]bool, len(spans))
	passed := make([]bool, len(spans)) // ancestors are known to be wrappers
	var path []int
	for i := range spans {
		if !is(i) || wraps[i] { // ancestors of a wrapper were marked by the span that it wraps
			continue
		}
		path = path[:0]
		for at := i; ; {
			parent, ok := index[spans[at].ParentSpanID]
			if !ok || wraps[parent] || passed[parent] {
				break
			}
			if parent == i { // a cycle: whoever enters it elsewhere has i above
				for _, at := range path {
					passed[at] = false
				}
				break
			}
			if kind := spans[parent].EffectiveKind(); kind == KindTool || kind == KindAgent {
				break
			}
			passed[parent] = true
			path = append(path, parent)
			if is(parent) {
				wraps[parent] = true
			}
			at = parent
		}
	}
	return wraps
}

// ToolCalls returns which of a run's folded spans are calls of tools, in their order. Client, transport and server may each record a
// span for one call: below a span of the same tool, or of one that is not named, with no model call or agent in between, a span is no
// call of its own.
func ToolCalls(spans []Span) []int { return toolCalls(spans, indexOf(spans)) }

func toolCalls(spans []Span, index map[uint64]int) (calls []int) {
	for i := range spans {
		if spans[i].EffectiveKind() != KindTool {
			continue
		}
		own := true
		name, at := spans[i].ToolName, i
		for range maxRelayed {
			parent, ok := index[spans[at].ParentSpanID]
			if !ok || spans[parent].isCall() || spans[parent].EffectiveKind() == KindAgent {
				break
			}
			if spans[parent].EffectiveKind() == KindTool {
				if above := spans[parent].ToolName; above == name || above == "" || name == "" {
					own = false
				}
				break
			}
			at = parent
		}
		if own {
			calls = append(calls, i)
		}
	}
	return calls
}

// maxRelayed limits how many spans may stand between two of one tool call.
const maxRelayed = 8

// ModelCalls returns which of a run's folded spans are calls of language models, in their order. It skips spans that wrap a
// call or continue one, and all but one of those that are the same call.
func ModelCalls(spans []Span) []int { return modelCalls(spans, indexOf(spans)) }

func modelCalls(spans []Span, index map[uint64]int) (calls []int) {
	again := sameCalls(spans)
	isCall := func(i int) bool {
		s := &spans[i]
		return s.EffectiveKind() == KindLLM && s.countsAtAll() && s.Counting != CountUsage && !again[i]
	}
	wraps := wrappers(spans, index, isCall)
	for i := range spans {
		if isCall(i) && !wraps[i] {
			calls = append(calls, i)
		}
	}
	return calls
}

// countedAbove reports whether an ancestor that counts includes what a span sums up. A call above a tool or an agent
// does not include it: that call counts only its own tokens. It caches its answers, so that all spans together take
// linear time. Cached answers stay valid: after a "no" the span that asked is made to count, and from then on nothing
// above it is.
type countedAbove struct {
	spans  []Span
	index  map[uint64]int
	counts []bool
	// known has two entries for each span: seen from below a tool or an agent, and not.
	known []answer
	path  []int
}

type answer uint8

const (
	unasked answer = iota
	no
	yes
)

func (c *countedAbove) of(i int) bool {
	c.path = c.path[:0]
	found, inside, start := no, 0, i
	for {
		key := 2*i + inside
		if c.known[key] != unasked {
			found = c.known[key] // "no" if it is part of a cycle
			break
		}
		c.known[key] = no
		c.path = append(c.path, key)
		if kind := c.spans[i].EffectiveKind(); kind == KindTool || kind == KindAgent {
			inside = 1
		}
		parent, ok := c.index[c.spans[i].ParentSpanID]
		if !ok {
			break
		}
		if c.counts[parent] && (inside == 0 || !c.spans[parent].isCall()) {
			found = yes
			break
		}
		if parent == start { // a cycle, in which the span itself will count
			found = unasked
			break
		}
		i = parent
	}
	for _, key := range c.path {
		c.known[key] = found
	}
	return found == yes
}

func (r *Run) addUsage(s *Span) {
	add(&r.InputTokens, s.InputTokens, MaxTokens)
	add(&r.OutputTokens, s.OutputTokens, MaxTokens)
	add(&r.CacheReadTokens, s.CacheReadTokens, MaxTokens)
	add(&r.CacheWriteTokens, s.CacheWriteTokens, MaxTokens)
	add(&r.ReasoningTokens, s.ReasoningTokens, MaxTokens)
	add(&r.OtherTokens, s.OtherTokens, MaxTokens)
}

func (r *Run) addCost(s *Span) {
	add(&r.CostUSD, s.CostUSD, MaxCostUSD)
	// A total is computed if any part of it is.
	if r.CostSource == "" || s.CostSource == CostComputed {
		r.CostSource = s.CostSource
	}
}

// add adds a value, up to the limit. A computed cost may exceed it.
func add[T int64 | float64](total **T, value *T, limit T) {
	if value == nil {
		return
	}
	sum := min(*value, limit)
	if *total != nil {
		sum = min(sum+**total, limit)
	}
	*total = &sum
}

type versionKey struct{ span, version uint64 }

// CountVersions counts the distinct versions of spans.
func CountVersions(versions []Span) uint64 {
	seen := make(map[versionKey]struct{}, len(versions))
	for i := range versions {
		seen[versionKey{versions[i].SpanID, versions[i].Version}] = struct{}{}
	}
	return uint64(len(seen))
}

func firstReceived(versions []Span) time.Time {
	first := versions[0].Version
	for i := range versions {
		first = min(first, versions[i].Version)
	}
	return time.Unix(0, int64(first)).UTC()
}

// RunKey identifies a run.
type RunKey struct {
	ProjectID uuid.UUID
	RunID     uuid.UUID
}

// ByRun groups spans by run. It copies nothing for runs whose spans are adjacent, as they usually are.
func ByRun(spans []Span) map[RunKey][]Span {
	runs := make(map[RunKey][]Span)
	for from := 0; from < len(spans); {
		key, to := spans[from].runKey(), from+1
		for to < len(spans) && spans[to].runKey() == key {
			to++
		}
		if known, ok := runs[key]; ok {
			runs[key] = append(known, spans[from:to]...)
		} else {
			runs[key] = spans[from:to:to]
		}
		from = to
	}
	return runs
}

func (s *Span) runKey() RunKey { return RunKey{ProjectID: s.ProjectID, RunID: s.RunID} }
