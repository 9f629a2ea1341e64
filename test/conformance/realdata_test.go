package conformance

import (
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// golden is expected.json of a folder of real data. The folder's README describes its members.
type golden struct {
	Cases []struct {
		Case, Dialect, Real string
		OTLPFile            string `json:"otlp_file"`
		TraceID             string `json:"trace_id"`
		SpanID              string `json:"span_id"`
		Expect              map[string]any
	}
	Traces []struct {
		OTLPFile string   `json:"otlp_file"`
		TraceIDs []string `json:"trace_ids"`
		Dialect  string
		Expect   map[string]any
	}
}

// realDataChecks compares published payloads with the expectations next to them.
func realDataChecks(t *testing.T, folder string) []check {
	t.Helper()
	var argued map[string]string
	readJSON(t, "realdata-exceptions.json", &argued)
	files, err := filepath.Glob(filepath.Join(folder, "*", "expected.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	var checks []check
	for _, file := range files {
		var g golden
		readJSON(t, file, &g)
		source := filepath.Dir(file)
		received := make(map[string]*receivedFile)
		file := func(name string) *receivedFile {
			if received[name] == nil {
				received[name] = receiveFile(t, source, name)
			}
			return received[name]
		}
		dialects := make(map[string]string)
		for _, c := range g.Cases {
			dialects[c.OTLPFile] = c.Dialect
			of := &realCase{t: t, dialect: c.Dialect, payload: c.Case}
			of.span(file(c.OTLPFile), c.TraceID, c.SpanID, c.Expect)
			checks = append(checks, of.checks...)
		}
		for _, tr := range g.Traces {
			dialect := tr.Dialect
			if dialect == "" {
				dialect = dialects[tr.OTLPFile]
			}
			if dialect == "" {
				dialect = filepath.Base(source)
			}
			if len(tr.Expect) == 0 {
				continue
			}
			of := &realCase{t: t, dialect: dialect, payload: filepath.Base(source) + "/" + filepath.Base(tr.OTLPFile)}
			of.trace(file(tr.OTLPFile), tr.TraceIDs, tr.Expect)
			checks = append(checks, of.checks...)
		}
	}
	unused := maps.Clone(argued)
	for i := range checks {
		c := &checks[i]
		key := c.payload + " " + c.field
		if reason, ok := argued[key]; ok {
			delete(unused, key)
			if c.verdict == wrong {
				c.verdict, c.reason = excepted, reason
			}
		}
	}
	for key := range unused {
		t.Errorf("the exception %s is of no check", key)
	}
	return checks
}

type receivedFile struct {
	runs map[uuid.UUID]*run
	read contents
}

func receiveFile(t *testing.T, source, name string) *receivedFile {
	t.Helper()
	logs := filepath.Join(source, "otlp-logs", strings.TrimSuffix(filepath.Base(name), ".json")+".json")
	traces := filepath.Join(source, name)
	if strings.HasPrefix(name, "otlp-logs/") {
		traces, logs = "", filepath.Join(source, name)
	}
	if _, err := os.Stat(logs); err != nil {
		logs = ""
	}
	runs, read := receive(t, readPayload(t, traces, logs))
	return &receivedFile{runs, read}
}

type realCase struct {
	t                *testing.T
	dialect, payload string
	checks           []check
}

func (r *realCase) add(span, field string, want, got any, ok bool) {
	c := check{dialect: r.dialect, payload: r.payload, span: span, field: field, want: want, got: got}
	if !ok {
		c.verdict = wrong
	}
	r.checks = append(r.checks, c)
}

func traceUUID(t *testing.T, id string) uuid.UUID {
	t.Helper()
	raw, err := hex.DecodeString(id)
	require.NoError(t, err)
	parsed, err := uuid.FromBytes(raw)
	require.NoError(t, err)
	return parsed
}

func (r *realCase) span(f *receivedFile, traceID, spanID string, expect map[string]any) {
	in := f.runs[traceUUID(r.t, traceID)]
	index := -1
	if in != nil {
		index = slices.IndexFunc(in.spans, func(s runmodel.Span) bool { return runmodel.FormatSpanID(s.SpanID) == spanID })
	}
	if index < 0 {
		if expect["drop"] != true {
			r.add(spanID, fieldKind, expect["kind"], "no such span", false)
		}
		return
	}
	s := recordedSpan{&in.spans[index], in.counted[index], f.read}
	for _, key := range slices.Sorted(maps.Keys(expect)) {
		r.member(in, s, key, expect[key], expect)
	}
}

// kindsOf are the product's names for a kind of expected.json.
var kindsOf = map[string][]string{
	"retrieval": {runmodel.KindRetriever}, "rerank": {runmodel.KindReranker}, "plan": {runmodel.KindTask},
	"memory": {runmodel.KindRetriever, "memory"}, "other": {runmodel.KindSpan, runmodel.KindTask},
}

func kindsWanted(names ...any) []string {
	var kinds []string
	for _, name := range names {
		if of := kindsOf[name.(string)]; of != nil {
			kinds = append(kinds, of...)
		} else {
			kinds = append(kinds, name.(string))
		}
	}
	return kinds
}

// simple are the members of an expectation that are a field unchanged.
var simple = map[string]string{
	"operation": fieldOperation, "provider": fieldProvider, "request_model": fieldRequestModel,
	"response_model": fieldResponseModel, "cost_usd": fieldCost, "ttft_s": fieldTTFT, "session_id": fieldSession,
	"conversation_id": fieldConversation, "user_id": fieldUser, "agent_name": fieldAgent, "prompt_name": fieldPrompt,
	"tags": fieldTags, "error_type": fieldErrorType, "finish_reasons": fieldFinish, "status": fieldStatus,
}

func (r *realCase) member(in *run, s recordedSpan, key string, want any, expect map[string]any) {
	field := func(f string, ok func(got any) bool) { r.add(s.Name, f, want, s.got(f), ok(s.got(f))) }
	if f, ok := simple[key]; ok {
		field(f, func(got any) bool {
			if f == fieldTTFT {
				return sameNumber(want, got)
			}
			return same(f, want, got)
		})
		return
	}
	switch key {
	case "kind":
		field(fieldKind, func(got any) bool { return same(fieldKind, kindsWanted(want), got) })
	case "kind_in":
		field(fieldKind, func(got any) bool { return same(fieldKind, kindsWanted(want.([]any)...), got) })
	case "provider_in":
		field(fieldProvider, func(got any) bool { return slices.Contains(want.([]any), got) })
	case "provider_not":
		field(fieldProvider, func(got any) bool { return !slices.Contains(want.([]any), got) })
	case "model":
		r.add(s.Name, fieldRequestModel, want, []string{s.RequestModel, s.ResponseModel}, want == s.RequestModel || want == s.ResponseModel)
	case "session_or_conversation_id":
		r.add(s.Name, fieldSession, want, []string{s.SessionID, s.ConversationID}, want == s.SessionID || want == s.ConversationID)
	case "input_messages":
		r.messages(s, fieldInput, want)
	case "output_messages":
		r.messages(s, fieldOutput, want)
	case "input_messages_without_system":
		r.messages(s, fieldInput, want)
	case "input_messages_last":
		got, _ := conversation(s.got(fieldInput))
		last, _ := conversation([]any{want})
		r.add(s.Name, fieldInput, want, got, len(got) > 0 && len(last) > 0 && samePart(last[0].Parts[len(last[0].Parts)-1], got[len(got)-1].Parts[len(got[len(got)-1].Parts)-1]))
	case "input_text", "input_text_contains":
		r.add(s.Name, fieldInput, want, s.inputText(), strings.Contains(s.inputText(), strings.TrimSpace(want.(string))))
	case "output_text", "output_text_contains":
		r.add(s.Name, fieldOutput, want, s.outputText(), strings.Contains(s.outputText(), strings.TrimSpace(want.(string))))
	case "input_raw":
		r.add(s.Name, fieldInput, want, s.inputText(), sameJSON(want, s.Inputs) || sameJSON(want, s.ToolArguments) || hasText(want, s.got(fieldInput)))
	case "output_raw":
		r.add(s.Name, fieldOutput, want, s.outputText(), sameJSON(want, s.Outputs) || sameJSON(want, s.ToolResult) || hasText(want, s.got(fieldOutput)))
	case "system_text":
		got, _ := s.got(fieldSystem).(string)
		r.add(s.Name, fieldSystem, want, got, strings.Contains(got, strings.TrimSpace(want.(string))))
	case "tool_definitions_names":
		var names []any
		list, _ := s.got(fieldTools).([]any)
		for _, definition := range list {
			d, _ := definition.(map[string]any)
			names = append(names, d["name"])
		}
		r.add(s.Name, fieldTools, want, names, reflect.DeepEqual(want, any(names)))
	case "finish_reasons_in":
		field(fieldFinish, func(got any) bool {
			return slices.ContainsFunc(want.([]any), func(w any) bool { return same(fieldFinish, w, got) })
		})
	case "prompt_version":
		r.add(s.Name, fieldPromptVersion, want, s.PromptVersion, text(s.PromptVersion) == want)
	case "error":
		r.failure(s, want)
	case "tool":
		tool := want.(map[string]any)
		for name, f := range map[string]string{
			"name": fieldToolName, "call_id": fieldToolCallID, "arguments": fieldToolArguments, "result": fieldToolResult,
		} {
			if value, ok := tool[name]; ok {
				r.add(s.Name, f, value, s.got(f), same(f, value, s.got(f)))
			}
		}
	case "usage":
		r.usage(s, want)
	case "usage_is_rollup":
		others := 0
		for i, counted := range in.counted {
			if counted && in.spans[i].SpanID != s.SpanID {
				others++
			}
		}
		// A repetition counts if the original is not in the payload.
		if want == true && others > 0 && expect["usage_is_authoritative"] != true {
			r.add(s.Name, fieldCounted, false, s.counted, !s.counted)
		}
	case "usage_is_authoritative":
		r.add(s.Name, fieldCounted, want, s.counted, s.counted)
	case "is_stream_continuation":
		calls := 0
		for i := range in.spans {
			if in.spans[i].EffectiveKind() == runmodel.KindLLM && in.spans[i].SpanID != s.SpanID {
				calls++
			}
		}
		r.add(s.Name, fieldTotals, calls, in.totals.LLMCallCount, uint64(calls) == in.totals.LLMCallCount)
	case "metadata", "metadata_contains":
		for k, v := range want.(map[string]any) {
			r.add(s.Name, fieldTags, v, s.Metadata[k], sameJSON(v, s.Metadata[k]) || v == s.Metadata[k])
		}
	case "keeps_attribute":
		_, isText := s.Attributes[want.(string)]
		_, isJSON := s.AttributesJSON[want.(string)]
		r.add(s.Name, fieldTags, want, nil, isText || isJSON)
	case "drop":
		r.add(s.Name, fieldKind, "no span", s.EffectiveKind(), false)
	}
}

func (r *realCase) messages(s recordedSpan, field string, want any) {
	got := s.got(field)
	r.add(s.Name, field, want, got, sameMessages(want, got))
}

func (r *realCase) failure(s recordedSpan, want any) {
	if want == nil {
		r.add(s.Name, fieldStatus, "no error", s.EffectiveStatus(), s.EffectiveStatus() != runmodel.StatusError)
		return
	}
	failure, isMap := want.(map[string]any)
	if !isMap {
		r.add(s.Name, fieldErrorMessage, want, s.ErrorMessage, strings.Contains(s.ErrorMessage, fmt.Sprint(want)))
		return
	}
	if kind := failure["type"]; kind != nil {
		r.add(s.Name, fieldErrorType, kind, s.ErrorType, kind == s.ErrorType)
	}
	if message, _ := failure["message"].(string); message != "" {
		r.add(s.Name, fieldErrorMessage, message, s.ErrorMessage, strings.Contains(s.ErrorMessage, message))
	}
}

func (r *realCase) usage(s recordedSpan, want any) {
	if want == nil {
		r.add(s.Name, fieldCounted, "no usage", s.counted, !s.counted)
		return
	}
	for key, value := range want.(map[string]any) {
		for field, name := range usageKeys {
			if name == key {
				r.add(s.Name, field, value, s.got(field), same(field, value, s.got(field)))
			}
		}
	}
}

// hasText reports whether some part of messages is the value.
func hasText(value, messages any) bool {
	list, _ := conversation(messages)
	for _, m := range list {
		for _, p := range m.Parts {
			if part, _ := p.(map[string]any); part != nil && sameJSON(value, part["content"]) {
				return true
			}
		}
	}
	return reflect.DeepEqual(decoded(value), messages)
}

// inputText and outputText return all text that a span received and gave, in any form.
func (s recordedSpan) inputText() string {
	return allText(s.got(fieldInput), s.Inputs, s.ToolArguments)
}

func (s recordedSpan) outputText() string {
	return allText(s.got(fieldOutput), s.Outputs, s.ToolResult)
}

func allText(messages any, more ...string) string {
	var b strings.Builder
	all, _ := conversation(messages)
	for _, m := range all {
		for _, p := range m.Parts {
			part, _ := p.(map[string]any)
			for _, key := range []string{"content", "response"} {
				if content, ok := part[key].(string); ok {
					b.WriteString(content + "\n")
				}
			}
		}
	}
	for _, text := range more {
		b.WriteString(text + "\n")
		if decodedText, ok := decoded(text).(string); ok && decodedText != text {
			b.WriteString(decodedText + "\n")
		}
	}
	return b.String()
}

func (r *realCase) trace(f *receivedFile, traceIDs []string, expect map[string]any) {
	totals := make(map[string]any)
	var first, last string
	var models []string
	var one runmodel.Run
	for _, id := range traceIDs {
		in := f.runs[traceUUID(r.t, id)]
		if in == nil {
			continue
		}
		one = in.totals
		for field, value := range usageOf(&in.totals) {
			totals[field] = plus(totals[field], value)
		}
		totals["llm_calls"] = plus(totals["llm_calls"], float64(in.totals.LLMCallCount))
		totals["tool_calls"] = plus(totals["tool_calls"], float64(in.totals.ToolCallCount))
		totals["cost_usd"] = plus(totals["cost_usd"], sentCost(in.totals.CostUSD, in.totals.CostSource))
		for i := range in.spans {
			models = append(models, in.spans[i].RequestModel, in.spans[i].ResponseModel)
			if s := (recordedSpan{&in.spans[i], false, f.read}); s.EffectiveKind() == runmodel.KindLLM {
				first += s.inputText()
				if output := s.outputText(); strings.TrimSpace(output) != "" {
					last = output
				}
			}
		}
	}
	span := "run"
	for _, key := range slices.Sorted(maps.Keys(expect)) {
		want := expect[key]
		switch key {
		case "llm_calls", "tool_calls":
			r.add(span, fieldTotals, want, totals[key], sameNumber(want, totals[key]) || isZero(want) && isZero(totals[key]))
		case "cost_usd":
			r.add(span, fieldCost, want, totals[key], sameNumber(want, totals[key]))
		case "usage_total":
			if want == nil {
				r.add(span, fieldTotals, nil, totals[fieldInputTokens], totals[fieldInputTokens] == nil && totals[fieldOutputTokens] == nil)
				continue
			}
			for field, name := range usageKeys {
				if value, ok := want.(map[string]any)[name]; ok {
					r.add(span, fieldTotals, value, totals[field], sameNumber(value, totals[field]) || isZero(value) && isZero(totals[field]))
				}
			}
		case "models":
			missing := slices.ContainsFunc(want.([]any), func(m any) bool { return !slices.Contains(models, m.(string)) })
			r.add(span, fieldRequestModel, want, models, !missing)
		case "first_user_text":
			r.add(span, fieldInput, want, first, strings.Contains(first, strings.TrimSpace(want.(string))))
		case "last_assistant_text":
			r.add(span, fieldOutput, want, last, strings.Contains(last, strings.TrimSpace(want.(string))))
		case "session_id":
			r.add(span, fieldSession, want, one.SessionID, want == text(one.SessionID))
		case "conversation_id":
			r.add(span, fieldConversation, want, one.ConversationID, want == text(one.ConversationID))
		case "user_id":
			r.add(span, fieldUser, want, one.UserID, want == text(one.UserID))
		case "tags":
			r.add(span, fieldTags, want, one.Tags, same(fieldTags, want, one.Tags))
		}
	}
}
