package runpdata

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

var project = uuid.MustParse("0198a1b2-0000-7000-8000-000000000001")

func rowsOf(t *testing.T, resource map[string]any, fill func(ptrace.Span)) Rows {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	require.NoError(t, rs.Resource().Attributes().FromRaw(resource))
	rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
	rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, 1_700_000_000_000_000_000)
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{15: 1})
	span.SetSpanID(pcommon.SpanID{7: 2})
	span.SetStartTimestamp(1_700_000_000_000_000_000)
	span.SetEndTimestamp(1_700_000_001_000_000_000)
	fill(span)
	var rows Rows
	require.NoError(t, rows.Add(td))
	return rows
}

func attributes(t *testing.T, raw map[string]any) func(ptrace.Span) {
	t.Helper()
	return func(span ptrace.Span) { require.NoError(t, span.Attributes().FromRaw(raw)) }
}

// TestAttributesAreKept checks that every attribute is read back as it was received, in a column or in a map.
func TestAttributesAreKept(t *testing.T) {
	t.Parallel()
	raw := map[string]any{
		runmodel.KeyRequestModel: "gpt-4o", runmodel.KeyInputTokens: int64(5), runmodel.KeyTimeToFirstChunk: 0.25,
		runmodel.KeyFinishReasons: []any{"stop"}, runmodel.KeyToolName: "f", runmodel.KeySessionID: "s",
		"plain": "text", "int": int64(1) << 62, "double": 1.5, "flag": true, "list": []any{"a", int64(1)}, "map": map[string]any{"k": "v"},
		// Values that do not fit their column stay unchanged.
		runmodel.KeyOutputTokens: "12", runmodel.KeyResponseModel: int64(4), runmodel.KeyCacheReadTokens: int64(-1), runmodel.KeyReasoningTokens: 1.5,
		runmodel.KeyCacheWriteTokens: int64(1)<<53 + 1, runmodel.KeyCostUSD: 1e13,
		runmodel.KeyInputMessages: "not JSON", runmodel.KeyToolDefinitions: "[{]",
	}
	rows := rowsOf(t, nil, attributes(t, raw))
	require.Len(t, rows.Spans, 1)
	got := rows.Spans[0].RestoreAttributes()
	assert.Len(t, got, len(raw))
	for key, want := range raw {
		switch want := want.(type) {
		case string:
			assert.Equal(t, want, got[key], key)
		default:
			value := pcommon.NewValueEmpty()
			require.NoError(t, value.FromRaw(want))
			assert.JSONEq(t, valueJSON(value), anyJSON(got[key]), key)
		}
	}
	assert.Nil(t, rows.Spans[0].OutputTokens)
	assert.Equal(t, int64(5), *rows.Spans[0].InputTokens)
}

// TestErrorTypeIsReceivedOrTaken checks that an error type that was taken from an event or a message is no received attribute, and that
// the received one is read back.
func TestErrorTypeIsReceivedOrTaken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attributes map[string]any
		exception  string
		wantType   string
		want       map[string]any
	}{
		"received":          {map[string]any{runmodel.KeyErrorType: "TimeoutError"}, "", "TimeoutError", map[string]any{runmodel.KeyErrorType: "TimeoutError"}},
		"both":              {map[string]any{runmodel.KeyErrorType: "TimeoutError"}, "TimeoutError", "TimeoutError", map[string]any{runmodel.KeyErrorType: "TimeoutError"}},
		"of an event":       {nil, "TimeoutError", "TimeoutError", map[string]any{}},
		"mapped":            {map[string]any{runmodel.KeyErrorType: "TimeoutError", runmodel.KeyAdded: runmodel.KeyErrorType}, "", "TimeoutError", map[string]any{}},
		"next to a mapping": {map[string]any{runmodel.KeyToolName: "f", runmodel.KeyAdded: runmodel.KeyToolName}, "TimeoutError", "TimeoutError", map[string]any{}},
	} {
		span := rowsOf(t, nil, func(span ptrace.Span) {
			require.NoError(t, span.Attributes().FromRaw(test.attributes))
			span.Status().SetCode(ptrace.StatusCodeError)
			if test.exception != "" {
				event := span.Events().AppendEmpty()
				event.SetName(runmodel.EventException)
				event.Attributes().PutStr(runmodel.KeyExceptionType, test.exception)
			}
		}).Spans[0]
		assert.Equal(t, test.wantType, span.ErrorType, name)
		assert.Equal(t, test.want, span.RestoreAttributes(), name)
	}
	replaced := rowsOf(t, nil, func(span ptrace.Span) {
		span.Attributes().PutStr(runmodel.KeyErrorType, "Exception")
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage(`ValueError("no such city")`)
	}).Spans[0]
	assert.Equal(t, "ValueError", replaced.ErrorType)
	assert.Equal(t, map[string]any{runmodel.KeyErrorType: "Exception"}, replaced.RestoreAttributes())
}

// TestNumbersThatJSONLacks checks that such a number is kept as text at any location, and everything else unchanged.
func TestNumbersThatJSONLacks(t *testing.T) {
	t.Parallel()
	attributes := func() map[string]any {
		return map[string]any{"nan": math.NaN(), "list": []any{1.5, math.Inf(1)}, "map": map[string]any{"k": math.Inf(-1), "l": "v"}, "n": int64(7)}
	}
	const want = `{"nan":"NaN","list":[1.5,"+Inf"],"map":{"k":"-Inf","l":"v"},"n":7}`
	rows := rowsOf(t, attributes(), func(span ptrace.Span) {
		require.NoError(t, span.Attributes().FromRaw(attributes()))
		event := span.Events().AppendEmpty()
		event.SetName("e")
		require.NoError(t, event.Attributes().FromRaw(attributes()))
		require.NoError(t, span.Links().AppendEmpty().Attributes().FromRaw(attributes()))
	})
	span := rows.Spans[0]
	restored, err := json.Marshal(span.RestoreAttributes())
	require.NoError(t, err)
	assert.JSONEq(t, want, string(restored))
	assert.JSONEq(t, `[{"name":"e","time":"1970-01-01T00:00:00Z","attributes":`+want+`}]`, span.Events)
	assert.JSONEq(t, `[{"run_id":"00000000-0000-0000-0000-000000000000","span_id":"","attributes":`+want+`}]`, span.Links)
	require.Len(t, rows.Contents, 1)
	content := rows.Contents[0]
	require.Equal(t, span.ResourceID, content.ContentID)
	require.Equal(t, runmodel.ContentResource, content.Kind)
	resource, err := runmodel.JoinContent(content.Kind, content.Frame, content.Texts)
	require.NoError(t, err)
	assert.JSONEq(t, want, string(resource))
}

// Messages that an attribute's limit has truncated are read as they are.
func TestMessagesThatAreCut(t *testing.T) {
	t.Parallel()
	cut := `[{"role":"user","parts":[{"type":"text","content":"Is there a tra`
	span := rowsOf(t, nil, attributes(t, map[string]any{runmodel.KeyInputMessages: cut, runmodel.KeyOutputMessages: `[{"role":"assistant"`})).Spans[0]
	assert.Equal(t, []string{cut, `[{"role":"assistant"`}, []string{span.Inputs, span.Outputs})
	assert.Empty(t, span.InputMessageIDs)
	assert.Equal(t, cut, span.RestoreAttributes()[runmodel.KeyInputMessages])
	span = rowsOf(t, nil, attributes(t, map[string]any{runmodel.KeyInputMessages: cut, runmodel.KeyInputs: `"a train?"`, runmodel.KeyOutputMessages: `[]`})).Spans[0]
	assert.Equal(t, []string{`"a train?"`, ""}, []string{span.Inputs, span.Outputs})
}

func TestMessagesStandOnce(t *testing.T) {
	t.Parallel()
	const first = `{"role":"user","parts":[{"type":"text","content":"hi"}]}`
	const second = `{"role":"assistant","parts":[{"type":"text","content":"ho"}]}`
	stored := map[RunHour]KnownContents{}
	isStored := func(at RunHour) KnownContents { return stored[at] }
	add := func(rows *Rows) {
		for _, messages := range []string{"[" + first + "]", "[" + first + "," + second + ", " + first + "]"} {
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
			span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetTraceID(pcommon.TraceID{1})
			span.SetSpanID(pcommon.SpanID{1})
			span.SetStartTimestamp(1_700_000_000_000_000_000)
			span.Attributes().PutStr(runmodel.KeyInputMessages, messages)
			require.NoError(t, rows.Add(td))
		}
	}
	rows := Rows{Stored: isStored}
	add(&rows)
	require.Len(t, rows.Spans, 2)
	assert.Len(t, rows.Spans[0].InputMessageIDs, 1)
	ids := rows.Spans[1].InputMessageIDs
	assert.Equal(t, []uint64{rows.Spans[0].InputMessageIDs[0], ids[1], rows.Spans[0].InputMessageIDs[0]}, ids)
	require.Len(t, rows.Contents, 3, "two messages and a resource")

	contents, _ := rows.Added()
	maps.Insert(stored, contents)
	again := Rows{Stored: isStored}
	add(&again)
	assert.Empty(t, again.Contents, "what the store has is not written again")
	assert.Equal(t, ids, again.Spans[1].InputMessageIDs, "and is referred to all the same")
}

func TestWhatRunsShareStandsOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a text of many words ", 20)
	message := `[{"role":"user","parts":[{"type":"text","content":"` + long + `"}]}]`
	tools := `[{"type":"function","name":"search","description":"` + long + `"}]`
	known := map[SharedKey]ShareState{}
	store := func(fill map[string]any, runs ...byte) Rows {
		rows := Rows{ShareState: func(key SharedKey) ShareState { return known[key] }}
		for _, run := range runs {
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
			span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetTraceID(pcommon.TraceID{run})
			span.SetSpanID(pcommon.SpanID{run})
			span.SetStartTimestamp(1_700_000_000_000_000_000)
			require.NoError(t, span.Attributes().FromRaw(fill))
			require.NoError(t, rows.Add(td))
		}
		_, shared := rows.Added()
		maps.Insert(known, shared)
		return rows
	}
	contents := func(rows Rows, kind string) (list []runmodel.Content) {
		for _, c := range rows.Contents {
			if c.Kind == kind {
				list = append(list, c)
			}
		}
		return list
	}

	first := store(map[string]any{runmodel.KeyInputMessages: message, runmodel.KeyToolDefinitions: tools}, 1)
	require.Len(t, contents(first, runmodel.ContentMessage), 1)
	assert.Equal(t, []string{long}, contents(first, runmodel.ContentMessage)[0].Texts, "a first run keeps its message")
	require.Len(t, first.Shared, 1, "tools are shared from the start")
	assert.JSONEq(t, tools, first.Shared[0].Frame)
	named := contents(first, runmodel.ContentToolDefinitions)[0]
	assert.Equal(t, []uint64{first.Shared[0].SharedTail}, named.SharedTails)
	assert.Equal(t, []uint64{first.Spans[0].ToolDefinitionsID}, named.SharedIDs)
	assert.Empty(t, named.Frame)

	next := store(map[string]any{runmodel.KeyInputMessages: message, runmodel.KeyToolDefinitions: tools}, 2, 3)
	require.Len(t, next.Shared, 1, "with the second run the message is shared, with the third it is")
	assert.Equal(t, []string{long}, next.Shared[0].Texts)
	require.Len(t, contents(next, runmodel.ContentMessage), 2, "of each run a row with its names")
	for _, row := range contents(next, runmodel.ContentMessage) {
		assert.Equal(t, []runmodel.Content{{
			ProjectID: project, Hour: row.Hour, RunID: row.RunID, Kind: runmodel.ContentMessage,
			ContentID: next.Shared[0].ContentID, SharedTail: next.Shared[0].SharedTail,
		}}, slices.Collect(row.Each()))
	}

	// Names of one kind are in one row, which is identified by their set.
	pair := func(texts ...string) map[string]any {
		messages := make([]string, len(texts))
		for i, text := range texts {
			messages[i] = `{"role":"user","parts":[{"type":"text","content":"` + text + long + `"}]}`
		}
		return map[string]any{runmodel.KeyInputMessages: "[" + strings.Join(messages, ",") + "]"}
	}
	store(pair("one", "two", "three"), 7, 8)
	row := func(texts ...string) runmodel.Content {
		rows := store(pair(texts...), 9)
		require.Len(t, contents(rows, runmodel.ContentMessage), 1)
		named := contents(rows, runmodel.ContentMessage)[0]
		assert.Equal(t, rows.Spans[0].InputMessageIDs, named.SharedIDs)
		assert.Len(t, named.SharedTails, len(texts))
		return named
	}
	both := row("one", "two")
	assert.Equal(t, both.ContentID, row("two", "one").ContentID)
	for _, other := range []runmodel.Content{row("one"), row("two"), row("one", "three"), row("one", "two", "three")} {
		assert.NotEqual(t, both.ContentID, other.ContentID, "it would take the place of names that it does not have")
	}

	short := store(map[string]any{runmodel.KeyInputMessages: `[{"role":"user","parts":[]}]`}, 4, 5)
	assert.Empty(t, short.Shared, "what is short costs less than its name")

	broken := store(map[string]any{runmodel.KeyInputMessages: `[{"role":"` + long + `]`, runmodel.KeyToolDefinitions: `{"` + long}, 6)
	assert.Empty(t, contents(broken, runmodel.ContentMessage))
	assert.Contains(t, broken.Spans[0].Attributes, runmodel.KeyInputMessages, "what is not JSON stays an attribute")
	assert.Contains(t, broken.Spans[0].Attributes, runmodel.KeyToolDefinitions)
}

func TestPreviews(t *testing.T) {
	t.Parallel()
	system := `{"role":"system","parts":[{"type":"text","content":"be nice"}]}`
	user := `{"role":"user","parts":[{"type":"text","content":"` + strings.Repeat("ü", 200) + `"}]}`
	answer := `{"role":"assistant","parts":[{"type":"text","content":"done"}]}`
	call := `{"role":"assistant","parts":[{"type":"text","content":"let me see"},{"type":"tool_call","name":"f"}]}`
	span := rowsOf(t, nil, attributes(t, map[string]any{
		runmodel.KeyInputMessages: "[" + system + "," + user + "]", runmodel.KeyOutputMessages: "[" + answer + "]",
	})).Spans[0]
	assert.Equal(t, strings.Repeat("ü", runmodel.PreviewLength/2), span.InputPreview)
	assert.True(t, utf8.ValidString(span.InputPreview))
	assert.Equal(t, "done", span.OutputPreview)

	again := `{"role":"user","parts":[{"type":"text","content":"and now?"}]}`
	result := `{"role":"tool","parts":[{"type":"tool_call_response","response":"7"}]}`
	span = rowsOf(t, nil, attributes(t, map[string]any{
		runmodel.KeyInputMessages:  "[" + strings.Join([]string{user, answer, again, call, result}, ",") + "]",
		runmodel.KeyOutputMessages: "[" + call + "]",
	})).Spans[0]
	assert.Equal(t, "and now?", span.InputPreview, "the last question")
	assert.Equal(t, "f()", span.OutputPreview)
	assert.True(t, span.OutputCalls, "a tool call does not end it")

	calls := `{"role":"assistant","parts":[
		{"type":"tool_call","name":"get_weather","arguments":{"city":"Paris"}},
		{"type":"tool_call","name":"get_time","arguments":"{\"zone\":\"CET\"}"},{"type":"tool_call"}]}`
	span = rowsOf(t, nil, attributes(t, map[string]any{runmodel.KeyOutputMessages: "[" + calls + "]"})).Spans[0]
	assert.Equal(t, `get_weather({"city":"Paris"}), get_time({"zone":"CET"}), tool()`, span.OutputPreview)

	long := `{"role":"assistant","parts":[{"type":"tool_call","name":"write","arguments":{"text":"` + strings.Repeat("ü", 200) + `"}}]}`
	span = rowsOf(t, nil, attributes(t, map[string]any{runmodel.KeyOutputMessages: "[" + long + "]"})).Spans[0]
	assert.LessOrEqual(t, len(span.OutputPreview), runmodel.PreviewLength)
	assert.True(t, utf8.ValidString(span.OutputPreview))
	assert.True(t, strings.HasPrefix(span.OutputPreview, `write({"text":"üü`), span.OutputPreview)

	span = rowsOf(t, nil, attributes(t, map[string]any{
		runmodel.KeyOutputMessages: "[" + call + "]", runmodel.KeyOutputs: "It rains.",
	})).Spans[0]
	assert.Equal(t, "It rains.", span.OutputPreview, "the root states its output")
	assert.False(t, span.OutputCalls)
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const received = 1_700_000_000_000_000_000
	for name, test := range map[string]struct {
		start, end         uint64
		wantStart, wantEnd int64
	}{
		"as sent":               {5e18 / 4, 5e18/4 + 1, 5e18 / 4, 5e18/4 + 1},
		"no start":              {0, received + 7, received + 7, received + 7},
		"neither":               {0, 0, received, 0},
		"past what can be kept": {1<<64 - 1, 1<<64 - 1, received, 0},
	} {
		span := rowsOf(t, nil, func(s ptrace.Span) {
			s.SetStartTimestamp(pcommon.Timestamp(test.start))
			s.SetEndTimestamp(pcommon.Timestamp(test.end))
		}).Spans[0]
		assert.Equal(t, test.wantStart, span.StartTime.UnixNano(), name)
		assert.Equal(t, test.wantEnd, span.EndTime.UnixNano(), name)
	}
}

func TestResource(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t, map[string]any{
		runmodel.KeyServiceName: "shop", runmodel.KeyServiceVersion: "1.2", runmodel.KeyEnvironment: "prod", runmodel.KeySessionID: "r", runmodel.KeyReceivedAt: int64(1),
	}, attributes(t, map[string]any{runmodel.KeySessionID: "own"}))
	span := rows.Spans[0]
	assert.Equal(t, []string{"shop", "1.2", "prod", "own"}, []string{span.ServiceName, span.Release, span.Environment, span.SessionID})
	require.Len(t, rows.Contents, 1)
	assert.NotContains(t, rows.Contents[0].Frame, runmodel.KeyProjectID, "the project set by ingest is not the client's")
	assert.NotContains(t, rows.Contents[0].Frame, runmodel.KeyReceivedAt)
}

func TestSpansWithoutIdentityAreSkipped(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t, nil, func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}) })
	assert.Empty(t, rows.Spans)
	assert.Equal(t, 1, rows.Skipped)
}

// FuzzRows checks that the row builder accepts any spans that protobuf can carry: no panic, one row per span, and
// rows that ClickHouse accepts.
func FuzzRows(f *testing.F) {
	seed := ptrace.NewTraces()
	span := seed.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{1})
	span.SetSpanID(pcommon.SpanID{1})
	for key := range runmodel.StringFields {
		span.Attributes().PutStr(key, "x")
	}
	for key := range runmodel.CountFields {
		span.Attributes().PutInt(key, 1)
	}
	span.Attributes().PutStr(runmodel.KeyInputMessages, `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`)
	span.Attributes().PutStr(runmodel.KeySystemInstructions, `[{"type":"text","content":"hi"}]`)
	span.Events().AppendEmpty().SetName(runmodel.EventException)
	span.Links().AppendEmpty()
	for _, attributes := range []pcommon.Map{
		span.Attributes(), span.Events().At(0).Attributes(), span.Links().At(0).Attributes(), seed.ResourceSpans().At(0).Resource().Attributes(),
	} {
		attributes.PutEmptyMap("m").PutEmptySlice("l").AppendEmpty().SetDouble(math.NaN())
		attributes.PutDouble("inf", math.Inf(-1))
	}
	text, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(seed)
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(text)
		if err != nil {
			return
		}
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
		}
		var rows Rows
		require.NoError(t, rows.Add(td))
		require.Equal(t, td.SpanCount(), len(rows.Spans)+rows.Skipped)
		for i := range rows.Spans {
			s := &rows.Spans[i]
			require.LessOrEqual(t, s.StartTime.UnixNano(), int64(lastStorable))
			require.False(t, s.StartTime.Before(runmodel.Epoch))
			_, err := json.Marshal(s.RestoreAttributes())
			require.NoError(t, err)
			var events []runmodel.Event
			require.True(t, s.Events == "" || json.Unmarshal([]byte(s.Events), &events) == nil, s.Events)
			var links []runmodel.Link
			require.True(t, s.Links == "" || json.Unmarshal([]byte(s.Links), &links) == nil, s.Links)
			for _, id := range s.InputMessageIDs {
				require.NotZero(t, id)
			}
		}
		for _, c := range rows.Contents {
			text, err := runmodel.JoinContent(c.Kind, c.Frame, c.Texts)
			require.NoError(t, err)
			if c.Kind == runmodel.ContentResource {
				require.NoError(t, json.Unmarshal([]byte(text), &map[string]any{}))
			}
		}
		if len(rows.Spans) > 0 {
			require.LessOrEqual(t, time.Duration(0), rows.Spans[0].EndTime.Sub(runmodel.Epoch))
			groups := map[uuid.UUID][]runmodel.Span{}
			for _, s := range rows.Spans {
				groups[s.RunID] = append(groups[s.RunID], s)
			}
			for _, spans := range groups {
				runmodel.Totals(spans)
			}
		}
	})
}

// inputsAfter returns a span whose input messages are list, in a run with a different earlier list.
func inputsAfter(t *testing.T, before, list string) runmodel.Span {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i, messages := range []string{before, list} {
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: 1})
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		span.SetStartTimestamp(1_700_000_000_000_000_000)
		span.Attributes().PutStr(runmodel.KeyInputMessages, messages)
	}
	var rows Rows
	require.NoError(t, rows.Add(td))
	return rows.Spans[1]
}

// requireSame checks that earlier calls of a run do not change the result for these messages.
func requireSame(t *testing.T, before, list string) {
	t.Helper()
	want, got := inputsAfter(t, "", list), inputsAfter(t, before, list)
	require.Equal(t, want.InputMessageIDs, got.InputMessageIDs, "%q after %q", list, before)
	require.Equal(t, want.Attributes[runmodel.KeyInputMessages], got.Attributes[runmodel.KeyInputMessages], "%q after %q", list, before)
	require.Equal(t, want.InputPreview, got.InputPreview, "%q after %q", list, before)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	lists := []string{
		`[]`, `[1]`, `[1,2]`, `[1,2,3]`, `[1,2,3] `, `[1,2,3,4]`, `[1,2,3 , 4,{"a":[5,"]"]}]`, ` [1,2,3, 4] `, `[1,2,34]`, `[1,2,"3"]`, `[1,2,"3","4"]`,
		`[1,2,"3,4"]`, `[[1,2,3],4]`, `[1,2,3],4]`, `[1,2,3]]`, `[1,2,3,]`, `[1,2,3,,4]`, `[1,2,3,}]`, `[1,2,3,4`, `[1,2,3`, "[1,2,3,\"\xff\"]", "[1,2,\"\xff\"]",
		"[1,2,\"\xff\",4]", `[1,2,{"role":"user","parts":[{"type":"text","content":"]"}]}]`,
		`[1,2,{"role":"user","parts":[{"type":"text","content":"]"}]},{"role":"user"}]`, `[{"role":"user","parts":[{"type":"text","content":"hello"}]},2]`,
	}
	for _, before := range lists {
		for _, list := range lists {
			requireSame(t, before, list)
		}
	}
	ids, elements, ok := history{`[1,2,3]`, []uint64{7, 8, 9}, ""}.continuedBy(`[1,2,3,4]`)
	require.True(t, ok)
	assert.Equal(t, []uint64{7, 8, 9}, ids, "they are known, and not looked at again")
	assert.Equal(t, []string{"4"}, elements)
	first := inputsAfter(t, `[1,2,3]`, `[1,2,3,4]`)
	require.Len(t, first.InputMessageIDs, 4)
	assert.Equal(t, first.InputMessageIDs[:3], inputsAfter(t, "", `[1,2,3]`).InputMessageIDs)
}

func FuzzHistory(f *testing.F) {
	f.Add(`[1,2,3]`, `[1,2,3,"]",{"role":"user"}]`)
	f.Add(`[{"a":"b"},[],"c\""]`, "[{\"a\":\"b\"},[],\"c\\\"\",\"\xff\"]")
	f.Fuzz(func(t *testing.T, before, list string) {
		requireSame(t, before, list)
		if cut, ok := strings.CutSuffix(before, "]"); ok {
			requireSame(t, before, cut+list)
			requireSame(t, before, cut+","+list+"]")
		}
	})
}

// TestRepeatedKeys sends attributes of one key, which pdata keeps: all their values are stored, in a list.
func TestRepeatedKeys(t *testing.T) {
	t.Parallel()
	const many = 20_000
	text := strings.Repeat(`{"key":"k","value":{"stringValue":"v"}},`, many) +
		`{"key":"thread.id","value":{"intValue":"4"}},{"key":"thread.id","value":{"stringValue":"conv-1"}},{"key":"once","value":{"stringValue":"x"}}`
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` +
		`{"traceId":"0199e0a1000070008000000000000001","spanId":"00000000000000a1","name":"n","attributes":[` + text + `]}]}]}]}`))
	require.NoError(t, err)
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
	var rows Rows
	require.NoError(t, rows.Add(td))
	span := rows.Spans[0]
	assert.Equal(t, map[string]string{"once": "x"}, span.Attributes)
	assert.JSONEq(t, `[4,"conv-1"]`, span.AttributesJSON["thread.id"])
	var values []string
	require.NoError(t, json.Unmarshal([]byte(span.AttributesJSON["k"]), &values))
	assert.Len(t, values, many)
}
