package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// scenario is an entry of scenarios.json: instructions for record/run, and expectations for the spans here.
type scenario struct {
	Expect struct {
		// Calls and Tools are patterns of span names for model calls and tool runs, in the order of truth.json. Repeats
		// are further spans of the same calls: one of them counts.
		Calls, Tools, Repeats []string
		// Agents are patterns of spans of agent runs. Kinds are the kinds of all other spans.
		Agents []string
		Kinds  map[string]string
		// Cost is the client's cost of each answered call, in USD: null if it stated none, or 0 for a price that it does
		// not know.
		Cost []*float64
		// Answers are patterns of spans with the answer of a call, by number, if the span of the call lacks it.
		Answers map[int]string
		// Unseen are calls, by number from 0, that have no span, with the reason.
		Unseen map[int]string
		// Absent are fields that the source does not have, as "call.FIELD", "call[2].FIELD", "tool.FIELD", "agent.FIELD"
		// or "run.FIELD", with the reason. The test checks that the payload does not contain the value.
		Absent map[string]string
		// Except are fields that are wrong although the source has them, with the reason.
		Except map[string]string
	}
}

// truth is the provider's requests and answers, and what the program did, recorded while it ran.
type truth struct {
	Calls []struct {
		Operation     string
		Provider      string
		RequestModel  string `json:"request_model"`
		ResponseModel string `json:"response_model"`
		Stream        bool
		System        []string
		Messages      []any
		Tools         []any
		Output        []any
		Finish        string
		Usage         map[string]float64
		Error         *struct {
			Status  int
			Message string
		}
	}
	Tools []struct {
		Name      string
		Arguments any
		Result    any
	}
	Context struct {
		Session, Conversation, User, Agent string
		Prompt                             string
		PromptVersion                      string `json:"prompt_version"`
		Tags                               []string
		Scores                             []knownScore
	}
}

// knownScore is a score that the program gave.
type knownScore struct {
	// Of is the pattern of the judged span's name, and In a text in that span. Of is "run" for the whole run.
	Of, In string
	Name   string
	// Value is a number or a Boolean, nil for a category, whose name is Label.
	Value                  any
	Label, Comment, Source string
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), file)
}

// recordedChecks checks every recorded scenario.
func recordedChecks(t *testing.T) []check {
	t.Helper()
	var scenarios map[string]scenario
	readJSON(t, "scenarios.json", &scenarios)
	var checks []check
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		folder := filepath.Join("testdata", name)
		traces := filepath.Join(folder, "traces.json")
		r := &recorded{t: t, name: name, scenario: scenarios[name], used: make(map[string]bool)}
		readJSON(t, filepath.Join(folder, "truth.json"), &r.truth)
		p := readPayload(t, traces, filepath.Join(folder, "logs.json"))
		r.raw = rawSpans(t, p)
		runs, read := receive(t, p)
		r.spans = allSpans(runs, read)
		r.spansOf()
		r.context()
		totals := make(map[string]any)
		for _, run := range runs {
			for field, value := range usageOf(&run.totals) {
				totals[field] = plus(totals[field], value)
			}
			totals["cost"] = plus(totals["cost"], sentCost(run.totals.CostUSD, run.totals.CostSource))
			totals["llm_calls"] = plus(totals["llm_calls"], float64(run.totals.LLMCallCount))
			totals["tool_calls"] = plus(totals["tool_calls"], float64(run.totals.ToolCallCount))
		}
		r.totals(totals)
		for _, run := range runs {
			r.given = append(r.given, run.scores...)
		}
		r.scores()
		for declared := range maps.Keys(r.scenario.Expect.Absent) {
			if !r.used[declared] {
				t.Errorf("%s: nothing is expected of %s, which is declared absent", name, declared)
			}
		}
		for declared := range maps.Keys(r.scenario.Expect.Except) {
			if !r.used[declared] {
				t.Logf("%s: the exception %s is no longer needed", name, declared)
			}
		}
		checks = append(checks, r.checks...)
	}
	return checks
}

func plus(a, b any) any {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return a.(float64) + b.(float64)
}

// recorded compares the spans of one scenario with its truth.
type recorded struct {
	t        *testing.T
	name     string
	scenario scenario
	truth    truth
	spans    []recordedSpan
	raw      map[string]string
	checks   []check
	used     map[string]bool
	absent   map[string]bool // fields of calls that some call lacks
	given    []runmodel.Score
}

// rawSpans returns the texts of spans as they were sent, with the log records that name them.
func rawSpans(t *testing.T, p payload) map[string]string {
	t.Helper()
	raw := make(map[string]string)
	for _, rs := range p.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				one := ptrace.NewTraces()
				bare := one.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
				span.CopyTo(bare)
				bare.SetFlags(0) // a number that belongs to no call
				text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(one)
				require.NoError(t, err)
				raw[span.SpanID().String()] += string(text)
			}
		}
	}
	for _, rl := range p.logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				text, err := json.Marshal([]any{record.Body().AsRaw(), record.Attributes().AsRaw()})
				require.NoError(t, err)
				raw[record.SpanID().String()] += string(text)
			}
		}
	}
	return raw
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return regexp.MustCompile("^(?:" + p + ")$").MatchString(name) })
}

// spansOf assigns a role to every span.
func (r *recorded) spansOf() {
	expect := r.scenario.Expect
	var calls, tools []recordedSpan
	for _, s := range r.spans {
		switch {
		case matches(expect.Calls, s.Name):
			calls = append(calls, s)
		case matches(expect.Tools, s.Name):
			tools = append(tools, s)
		case matches(expect.Repeats, s.Name):
			r.expect("repeat", s, fieldKind, runmodel.KindLLM)
		case matches(expect.Agents, s.Name):
			r.expect("agent", s, fieldKind, runmodel.KindAgent)
			r.expect("agent", s, fieldCounted, false)
			if r.truth.Context.Agent != "" {
				r.expect("agent", s, fieldAgent, r.truth.Context.Agent)
			}
		default:
			kind := ""
			for pattern, k := range expect.Kinds {
				if matches([]string{pattern}, s.Name) {
					kind = k
				}
			}
			if kind == "" {
				r.t.Errorf("%s: nothing is expected of span %q (%s)", r.name, s.Name, s.EffectiveKind())
				continue
			}
			r.expect("other", s, fieldKind, strings.Split(kind, "|"))
			if !matches(slices.Collect(maps.Values(expect.Answers)), s.Name) {
				r.expect("other", s, fieldCounted, false)
			}
		}
	}
	r.callSpans(calls)
	r.toolSpans(tools)
}

func (r *recorded) callSpans(spans []recordedSpan) {
	next := 0
	r.absent = make(map[string]bool)
	for i := range r.truth.Calls {
		if r.scenario.Expect.Unseen[i] != "" {
			continue
		}
		if next == len(spans) {
			r.t.Errorf("%s: %d calls were made, %d spans are of calls", r.name, len(r.truth.Calls), len(spans))
			return
		}
		r.call(i, spans[next])
		next++
	}
	for _, s := range spans[next:] {
		r.t.Errorf("%s: span %q is of no call", r.name, s.Name)
	}
}

func (r *recorded) call(i int, s recordedSpan) {
	call := &r.truth.Calls[i]
	role := fmt.Sprintf("call[%d]", i)
	kind, operation := any(runmodel.KindLLM), any([]string{call.Operation})
	var provider any = call.Provider
	switch call.Operation {
	case "embeddings":
		kind = runmodel.KindEmbedding
	case "generate_content":
		// One API: the conventions have a name for it, and sources without one say chat. Which of Google's two names its
		// provider has depends on the endpoint, which not every source states.
		operation, provider = []string{"generate_content", "chat"}, []string{"gcp.gemini", "gcp.gen_ai"}
	}
	r.expect(role, s, fieldKind, kind)
	r.expect(role, s, fieldOperation, operation)
	r.expect(role, s, fieldProvider, provider)
	r.expect(role, s, fieldRequestModel, model(call.RequestModel))
	if len(call.Messages) > 0 {
		r.expect(role, s, fieldInput, call.Messages)
	}
	if len(call.System) > 0 {
		r.expect(role, s, fieldSystem, strings.Join(call.System, ""))
	}
	if len(call.Tools) > 0 {
		r.expect(role, s, fieldTools, call.Tools)
	}
	if call.Error != nil {
		r.expect(role, s, fieldStatus, runmodel.StatusError)
		r.expect(role, s, fieldErrorType, present{})
		r.expect(role, s, fieldErrorMessage, containing(call.Error.Message))
		return
	}
	r.expect(role, s, fieldStatus, runmodel.StatusOK)
	if pattern, apart := r.scenario.Expect.Answers[i]; apart {
		at := slices.IndexFunc(r.spans, func(other recordedSpan) bool { return matches([]string{pattern}, other.Name) })
		if at < 0 {
			r.t.Errorf("%s: no span holds the answer of call %d", r.name, i)
			return
		}
		s = r.spans[at]
	}
	if i < len(r.scenario.Expect.Cost) {
		r.expect(role, s, fieldCost, count(r.scenario.Expect.Cost[i]))
	}
	r.expect(role, s, fieldResponseModel, call.ResponseModel)
	if call.Operation != "embeddings" {
		r.expect(role, s, fieldOutput, call.Output)
		if call.Finish != "" {
			r.expect(role, s, fieldFinish, call.Finish)
		}
	}
	if call.Usage == nil {
		return
	}
	for field, key := range usageKeys {
		if value, sent := call.Usage[key]; sent {
			r.expect(role, s, field, value)
		}
	}
	if len(r.scenario.Expect.Repeats) == 0 && !r.absent[fmt.Sprintf("%d.%s", i, fieldInputTokens)] {
		r.expect(role, s, fieldCounted, true)
	}
	if call.Stream {
		r.expect(role, s, fieldTTFT, between{0.04, s.EndTime.Sub(s.StartTime).Seconds()})
	}
}

var usageKeys = map[string]string{
	fieldInputTokens: "input", fieldOutputTokens: "output", fieldCacheRead: "cache_read", fieldCacheWrite: "cache_write",
	fieldReasoningTokens: "reasoning",
}

func (r *recorded) toolSpans(spans []recordedSpan) {
	if len(r.scenario.Expect.Tools) == 0 {
		return
	}
	if len(spans) != len(r.truth.Tools) {
		r.t.Errorf("%s: %d tools ran, %d spans are of tools", r.name, len(r.truth.Tools), len(spans))
		return
	}
	for i, tool := range r.truth.Tools {
		r.expect("tool", spans[i], fieldKind, runmodel.KindTool)
		r.expect("tool", spans[i], fieldToolName, tool.Name)
		r.expect("tool", spans[i], fieldToolArguments, tool.Arguments)
		r.expect("tool", spans[i], fieldToolResult, tool.Result)
		if id := r.callID(tool.Name); id != "" {
			r.expect("tool", spans[i], fieldToolCallID, id)
		}
		r.expect("tool", spans[i], fieldCounted, false)
	}
}

// callID returns the id that the model gave its tool call.
func (r *recorded) callID(tool string) string {
	for i := range r.truth.Calls {
		for _, m := range r.truth.Calls[i].Output {
			for _, p := range m.(map[string]any)["parts"].([]any) {
				part := p.(map[string]any)
				if name, _ := part["name"].(string); name != "" && strings.HasSuffix(tool, name) {
					id, _ := part["id"].(string)
					return id
				}
			}
		}
	}
	return ""
}

// likeSession: some programs call a session a conversation.
var likeSession = map[string]string{fieldSession: fieldConversation, fieldConversation: fieldSession}

// context expects each call to have the program's session and user.
func (r *recorded) context() {
	known := r.truth.Context
	for field, value := range map[string]string{
		fieldSession: known.Session, fieldConversation: known.Conversation, fieldUser: known.User,
		fieldPrompt: known.Prompt, fieldPromptVersion: known.PromptVersion,
	} {
		if value == "" || len(r.spans) == 0 {
			continue
		}
		found := slices.IndexFunc(r.spans, func(s recordedSpan) bool { return s.got(field) == value })
		if other, ok := likeSession[field]; found < 0 && ok {
			found = slices.IndexFunc(r.spans, func(s recordedSpan) bool { return s.got(other) == value })
			if found >= 0 {
				field = other
			}
		}
		r.expect("run", r.spans[max(found, 0)], field, value)
	}
	if len(known.Tags) > 0 {
		found := slices.IndexFunc(r.spans, func(s recordedSpan) bool { return same(fieldTags, known.Tags, s.got(fieldTags)) })
		r.expect("run", r.spans[max(found, 0)], fieldTags, known.Tags)
	}
}

// scores expects exactly the scores that the program gave.
func (r *recorded) scores() {
	left := slices.Clone(r.given)
	for _, want := range r.truth.Context.Scores {
		c := check{dialect: r.name, payload: r.name, span: want.Of, field: fieldScore, want: want, got: left}
		if at := slices.IndexFunc(left, func(s runmodel.Score) bool { return r.isScore(&want, &s) }); at < 0 {
			c.verdict = wrong
		} else {
			left = slices.Delete(left, at, at+1)
		}
		r.checks = append(r.checks, c)
	}
	for i := range left {
		r.t.Errorf("%s: the program did not give the score %s", r.name, short(left[i]))
	}
}

func (r *recorded) isScore(want *knownScore, got *runmodel.Score) bool {
	if want.Name != got.Name || want.Label != got.Label || want.Comment != got.Comment || want.Source != got.Source {
		return false
	}
	if (want.Of == "run") != (got.SpanID == 0) {
		return false
	}
	if got.SpanID != 0 {
		judged := slices.IndexFunc(r.spans, func(s recordedSpan) bool { return s.SpanID == got.SpanID })
		if judged < 0 || !matches([]string{want.Of}, r.spans[judged].Name) ||
			!strings.Contains(r.raw[runmodel.FormatSpanID(got.SpanID)], want.In) {
			return false
		}
	}
	switch value := want.Value.(type) {
	case bool:
		return got.ValueKind == runmodel.ScoreBoolean && got.Number != nil && (*got.Number == 1) == value
	case float64:
		return got.ValueKind == runmodel.ScoreNumber && got.Number != nil && *got.Number == value
	}
	return got.ValueKind == runmodel.ScoreCategory && got.Number == nil
}

// totals expects the runs together to have the provider's usage of each call once.
func (r *recorded) totals(got map[string]any) {
	want := map[string]any{"llm_calls": 0.0, "tool_calls": nil, "cost": nil}
	for _, cost := range r.scenario.Expect.Cost {
		want["cost"] = plus(want["cost"], count(cost))
	}
	for i := range r.truth.Calls {
		call := &r.truth.Calls[i]
		if r.scenario.Expect.Unseen[i] != "" {
			continue
		}
		if call.Operation != "embeddings" {
			want["llm_calls"] = plus(want["llm_calls"], 1.0)
		}
		for field, key := range usageKeys {
			if value, sent := call.Usage[key]; sent && !r.absent[fmt.Sprintf("%d.%s", i, field)] {
				want[field] = plus(want[field], value)
			}
		}
	}
	if len(r.scenario.Expect.Tools) > 0 {
		want["tool_calls"] = float64(len(r.truth.Tools))
	}
	for _, what := range slices.Sorted(maps.Keys(want)) {
		if what == "tool_calls" && want[what] == nil || what == "cost" && len(r.scenario.Expect.Cost) == 0 {
			continue
		}
		c := check{dialect: r.name, payload: r.name, span: what, field: fieldTotals, want: want[what], got: got[what]}
		if !sameNumber(c.want, c.got) && (!isZero(c.want) || !isZero(c.got)) {
			c.verdict = wrong
			if reason, ok := r.declared(r.scenario.Expect.Except, "totals", what); ok {
				c.verdict, c.reason = excepted, reason
			}
		}
		r.checks = append(r.checks, c)
	}
}

// present, containing, model and between are expectations that are weaker than a value.
type present struct{}

// model is the name of a model, which libraries for many providers prefix with the provider.
type model string

type containing string

type between struct{ Least, Most float64 }

func holds(field string, want, got any) bool {
	switch w := want.(type) {
	case present:
		return got != nil
	case containing:
		s, _ := got.(string)
		return strings.Contains(s, string(w))
	case model:
		s, _ := got.(string)
		return s == string(w) || strings.HasSuffix(s, "/"+string(w))
	case between:
		n, ok := got.(float64)
		return ok && n >= w.Least && n <= w.Most
	}
	return same(field, want, got)
}

func (r *recorded) expect(role string, s recordedSpan, field string, want any) {
	c := check{dialect: r.name, payload: r.name, span: role + " " + s.Name, field: field, want: want, got: s.got(field)}
	reason, isAbsent := r.declared(r.scenario.Expect.Absent, role, field)
	ok := holds(field, want, c.got)
	switch {
	case isAbsent:
		c.verdict, c.reason = absent, reason
		if number, isCall := strings.CutPrefix(role, "call["); isCall {
			r.absent[strings.TrimSuffix(number, "]")+"."+field] = true
		}
		if ok && !isZero(want) {
			r.t.Errorf("%s: %s of %s is declared absent and is right", r.name, field, c.span)
		}
		// Finish reasons are common words.
		if found := r.carried(s, want); found != "" && field != fieldFinish {
			r.t.Errorf("%s: %s of %s is declared absent, and the payload has %s", r.name, field, c.span, found)
		}
	case !ok:
		c.verdict = wrong
		if reason, argued := r.declared(r.scenario.Expect.Except, role, field); argued {
			c.verdict, c.reason = excepted, reason
		}
	}
	r.checks = append(r.checks, c)
}

// declared returns the entry of a scenario's table for a field: of this call, or of all.
func (r *recorded) declared(table map[string]string, role, field string) (string, bool) {
	general, _, _ := strings.Cut(role, "[")
	for _, key := range []string{role + "." + field, general + "." + field} {
		if reason, ok := table[key]; ok {
			r.used[key] = true
			return reason, true
		}
	}
	return "", false
}

// carried returns the part of an expected value that the span has as sent, empty if it has none.
func (r *recorded) carried(s recordedSpan, want any) string {
	raw := r.raw[runmodel.FormatSpanID(s.SpanID)]
	for _, value := range scalars(want) {
		switch v := value.(type) {
		case string:
			if len(v) > 3 && strings.Contains(raw, v) {
				return v
			}
		case float64:
			if v > 9 && regexp.MustCompile(fmt.Sprintf(`\b%v\b`, v)).MatchString(raw) {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

// scalars returns the texts and numbers that identify a value.
func scalars(value any) []any {
	switch v := value.(type) {
	case containing:
		return []any{string(v)}
	case model:
		// The name of the response model begins with it.
		return []any{`"` + string(v) + `"`}
	case string, float64:
		return []any{v}
	case []any:
		var list []any
		for _, e := range v {
			list = append(list, scalars(e)...)
		}
		return list
	case map[string]any:
		var list []any
		for key, e := range v {
			if key == "content" || key == "parts" || key == "id" || key == "description" {
				list = append(list, scalars(e)...)
			}
		}
		return list
	}
	return nil
}
