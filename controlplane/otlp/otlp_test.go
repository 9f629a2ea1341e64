package otlp_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// sendLines sends the lines of an export.
func sendLines(t *testing.T, p apitest.Pipeline, project uuid.UUID, export []byte) {
	t.Helper()
	all := ptrace.NewTraces()
	for line := range bytes.Lines(export) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		require.NoError(t, err)
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	p.Send(t, project, all)
}

// recorded returns what instrumentations were recorded to send.
func recorded(t *testing.T) ptrace.Traces {
	t.Helper()
	all := ptrace.NewTraces()
	require.NoError(t, filepath.WalkDir("../../test/conformance/testdata", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".json" || filepath.Base(file) == "truth.json" {
			return err
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var td ptrace.Traces
		if filepath.Base(file) == "logs.json" {
			logs, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(text)
			require.NoError(t, err, file)
			td, _ = genailogs.ToSpans(logs)
		} else {
			td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
			require.NoError(t, err, file)
		}
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
		return nil
	}))
	return all
}

// oddTrace is a run with values that JSON and OTLP/JSON write in different ways, and whose text is partly no Unicode.
func oddTrace() (trace uuid.UUID, td ptrace.Traces) {
	td = ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(runmodel.KeyServiceName, "odd")
	rs.Resource().Attributes().PutInt("host.serial", math.MaxInt64)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("odd.scope")
	ss.Scope().SetVersion("0.1")
	span := ss.Spans().AppendEmpty()
	trace = uuid.New()
	span.SetTraceID(pcommon.TraceID(trace))
	span.SetSpanID(pcommon.SpanID{0xff, 7: 1})
	span.SetParentSpanID(pcommon.SpanID{0xee}) // in a process that records nothing
	span.SetName("chat \xff\xfe <b>&\u2028 \U0001f980")
	start := time.Now().Add(-time.Hour)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(1)))
	attributes := span.Attributes()
	attributes.PutStr(runmodel.KeyOperationName, "chat")
	attributes.PutStr(runmodel.KeyRequestModel, "gpt-4o")
	attributes.PutInt(runmodel.KeyInputTokens, 100)
	attributes.PutInt(runmodel.KeyCacheReadTokens, 150) // more than the input: it becomes 250
	attributes.PutStr(runmodel.KeyInputMessages, `[{"role":"user","parts":[{"type":"text","content":"lone \ud800 surrogate, \u0000 and é","n":9007199254740993,"f":1.0}]}]`)
	attributes.PutStr(runmodel.KeyOutputMessages, `[{"role":"assistant","parts":[{"type":"te`) // cut off by an SDK
	attributes.PutInt("big", math.MaxInt64)
	attributes.PutInt("small", math.MinInt64)
	attributes.PutDouble("not a number", math.NaN())
	attributes.PutDouble("endless", math.Inf(-1))
	attributes.PutDouble("tiny", math.SmallestNonzeroFloat64)
	attributes.PutDouble("huge", math.MaxFloat64)
	attributes.PutEmpty("nothing")
	attributes.PutEmptyBytes("bytes").FromRaw([]byte{0, 0xff})
	nested := attributes.PutEmptyMap("nested")
	nested.PutInt("big", math.MaxInt64-1)
	nested.PutEmptySlice("list").AppendEmpty().SetDouble(0.1)
	event := span.Events().AppendEmpty()
	event.SetName("odd")
	event.SetTimestamp(span.StartTimestamp())
	event.Attributes().PutInt("big", math.MaxInt64)
	link := span.Links().AppendEmpty()
	link.SetTraceID(pcommon.TraceID(uuid.New()))
	link.SetSpanID(pcommon.SpanID{9})
	link.Attributes().PutInt("big", math.MinInt64)
	return trace, td
}

// readBack reads all runs of a project, each with its spans, as the API returns them, without what an import changes: see
// docs/conformance.md. In the scored runs people and keys wrote all scores: those get other ids. Of others, the time is that of their
// event.
func readBack(t *testing.T, e *apitest.Env, project uuid.UUID, as apitest.Option, scored ...uuid.UUID) map[string][]map[string]any {
	t.Helper()
	w := e.Do(t, http.MethodGet, "/v1/runs/export?include=spans&traces=all&source=all&project_id="+project.String(), nil, as)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	decoder := json.NewDecoder(w.Body)
	decoder.UseNumber()
	runs := map[string][]map[string]any{}
	for decoder.More() {
		var record map[string]any
		require.NoError(t, decoder.Decode(&record))
		delete(record, "project_id")
		delete(record, "received_at")
		if failure, ok := record["failure"].(map[string]any); ok {
			delete(failure, "fingerprint") // a project has its own
		}
		signals, _ := record["signals"].([]any)
		for _, signal := range signals {
			delete(signal.(map[string]any), "fingerprint")
		}
		if slices.Contains(scored, uuid.MustParse(record["run_id"].(string))) {
			// They were stored without ingest, which computes what these follow from.
			delete(record, "unknown_signals")
			delete(record, "agent_release")
		}
		if events, ok := record["events"].([]any); ok {
			record["events"] = slices.DeleteFunc(events, func(event any) bool {
				return event.(map[string]any)["name"] == runmodel.EventEvaluation
			})
		}
		scores := record["scores"].([]any)
		for _, score := range scores {
			score := score.(map[string]any)
			delete(score, "updated_at")
			delete(score, "author")
			if slices.Contains(scored, uuid.MustParse(score["run_id"].(string))) {
				delete(score, "id")
			} else {
				delete(score, "created_at")
			}
		}
		slices.SortFunc(scores, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		id := record["run_id"].(string)
		runs[id] = append(runs[id], record)
	}
	return runs
}

// judgedTrace is a run whose program sent scores of its own, as events with more attributes than a score has, and an evaluation that failed.
func judgedTrace() (trace uuid.UUID, td ptrace.Traces) {
	trace, td = uuid.New(), ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID(trace))
	span.SetSpanID(pcommon.SpanID{1})
	span.SetName("chat")
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Hour)))
	span.SetEndTimestamp(span.StartTimestamp() + 1)
	span.Attributes().PutStr(runmodel.KeyOperationName, "chat")
	for _, attributes := range []map[string]any{
		{runmodel.KeyEvaluationName: "relevance", runmodel.KeyEvaluationValue: 0.5, runmodel.KeyEvaluationLabel: "pass", runmodel.KeyResponseID: "r1", "judge": "gpt-5"},
		{runmodel.KeyEvaluationName: "relevance", runmodel.KeyEvaluationValue: 0.5, runmodel.KeyEvaluationLabel: "pass", runmodel.KeyResponseID: "r2", "judge": "claude"},
		{runmodel.KeyEvaluationName: "safe", runmodel.KeyEvaluationValue: true, runmodel.KeyEvaluationLabel: "passed"},
		{runmodel.KeyEvaluationName: "withdrawn", runmodel.KeyEvaluationLabel: "bad"},
		{runmodel.KeyEvaluationName: "toxicity", runmodel.KeyErrorType: "timeout"},
	} {
		event := span.Events().AppendEmpty()
		event.SetName(runmodel.EventEvaluation)
		event.SetTimestamp(span.EndTimestamp())
		_ = event.Attributes().FromRaw(attributes) // of types that it knows
	}
	return trace, td
}

// heavyTrace is a run of four spans of 400 KB each.
func heavyTrace() ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	trace := pcommon.TraceID(uuid.New())
	for i := range byte(4) {
		span := spans.AppendEmpty()
		span.SetTraceID(trace)
		span.SetSpanID(pcommon.SpanID{i + 1})
		if i > 0 {
			span.SetParentSpanID(pcommon.SpanID{1})
		}
		span.SetName("heavy")
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Hour)))
		span.Attributes().PutStr(runmodel.KeyKind, "task")
		span.Attributes().PutStr(runmodel.KeyInputs, strings.Repeat("x", 400_000))
	}
	return td
}

// TestOTLPRoundTrip exports runs of every recorded instrumentation with scores of every kind, and imports them into another project.
func TestOTLPRoundTrip(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, source := e.SetUp(t)
	target := e.CreateProject(t, session, source.WorkspaceId, "Target")
	user := apitest.Cookie(session)
	key := apitest.Bearer(e.Mint(t, session, source.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key)
	ingest := apitest.NewPipeline(t, address)

	traces := recorded(t)
	odd, td := oddTrace()
	td.ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	judged, td := judgedTrace()
	td.ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	heavyTrace().ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	ingest.Send(t, source.Id, traces)
	native, large := apitest.StoreRun(t, address, source.Id), apitest.StoreLongRun(t, address, source.Id)

	scoresOf := func(run uuid.UUID) string {
		return "/v1/runs/" + run.String() + "/scores?project_id=" + source.Id.String()
	}
	put := func(run uuid.UUID, score string, as apitest.Option) {
		apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, scoresOf(run), score, as), http.StatusCreated)
	}
	for _, as := range []apitest.Option{user, key} {
		for _, of := range []string{"", `,"span_id":"00000000000000b2"`} {
			put(native, `{"name":"accuracy","value":0.1,"comment":"nearly <right> é"`+of+`}`, as)
			put(native, `{"name":"whole","value":1`+of+`}`, as)
			put(native, `{"name":"huge","value":-1.7976931348623157e308`+of+`}`, as)
			put(native, `{"name":"polite","value":true`+of+`}`, as)
			put(native, `{"name":"safe","value":false,"comment":"see line 2"`+of+`}`, as)
			put(native, `{"name":"tone","value":"true"`+of+`}`, as)
			put(native, `{"comment":"only words"`+of+`}`, as)
		}
	}
	put(native, `{"name":"asked","value":5,"source":"human"}`, key)
	put(large, `{"name":"long","value":true}`, user)
	put(odd, `{"name":"odd","value":"café"}`, user)
	for _, score := range apitest.Must[contract.ScorePage](t, e.Do(t, http.MethodGet, scoresOf(judged), nil, user), http.StatusOK).Data {
		if score.Name == "withdrawn" {
			w := e.Do(t, http.MethodDelete, "/v1/runs/"+judged.String()+"/scores/"+score.Id.String()+"?project_id="+source.Id.String(), nil, user)
			require.Equal(t, http.StatusNoContent, w.Code, w.Body)
		}
	}

	export := func(project uuid.UUID, query string) []byte {
		w := e.Do(t, http.MethodGet, "/v1/runs/export?format=otlp_json&traces=all&source=all&project_id="+project.String()+query, nil, user)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		assert.Equal(t, "application/x-ndjson", w.Header().Get("Content-Type"))
		return w.Body.Bytes()
	}
	exported := export(source.Id, "")
	assert.Equal(t, exported, export(source.Id, "&include=spans"))
	for line := range bytes.Lines(exported) {
		if len(line) > 1<<20 {
			assert.Equal(t, 1, bytes.Count(line, []byte(`{"traceId":`)), "%.300s", line)
		}
	}
	assert.Len(t, bytes.Split(bytes.TrimSpace(export(source.Id, "&name=heavy")), []byte("\n")), 2)
	for _, number := range []string{`"9223372036854775807"`, `"9223372036854775806"`, `"-9223372036854775808"`, `{"doubleValue":5e-324}`, `{"doubleValue":1.7976931348623157e+308}`} {
		assert.Contains(t, string(exported), number)
	}
	assert.NotContains(t, string(exported), "withdrawn")

	same := func(t *testing.T) {
		t.Helper()
		scored := []uuid.UUID{native, large, odd}
		want, got := readBack(t, e, source.Id, user, scored...), readBack(t, e, target.Id, user, scored...)
		require.Greater(t, len(want), 300)
		assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
		for id, records := range want {
			if !assert.Len(t, got[id], len(records), id) {
				continue
			}
			for i, record := range records {
				for member := range record {
					assert.Equal(t, record[member], got[id][i][member], "%s of %s %v in run %s", member, record["record"], record["span_id"], id)
				}
			}
		}
	}
	sendLines(t, ingest, target.Id, exported)
	same(t)
	t.Run("again", func(t *testing.T) {
		sendLines(t, ingest, target.Id, exported)
		sendLines(t, ingest, target.Id, export(target.Id, ""))
		same(t)
	})
	t.Run("into the same project", func(t *testing.T) {
		scoreOf := func(run uuid.UUID, name string) contract.Score {
			scores := apitest.Must[contract.ScorePage](t, e.Do(t, http.MethodGet, scoresOf(run), nil, user), http.StatusOK).Data
			at := slices.IndexFunc(scores, func(score contract.Score) bool { return score.Name == name })
			require.GreaterOrEqual(t, at, 0, name)
			return scores[at]
		}
		// What people changed or deleted since the export stays so.
		safe, asked := scoreOf(judged, "safe"), scoreOf(native, "asked")
		edited := fmt.Sprintf(`{"id":%q,"span_id":%q,"name":"safe","value":false,"comment":"edited"}`, safe.Id, *safe.SpanId)
		apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, scoresOf(judged), edited, user), http.StatusOK)
		path := "/v1/runs/" + native.String() + "/scores/" + asked.Id.String() + "?project_id=" + source.Id.String()
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, user).Code)
		before := readBack(t, e, source.Id, user)
		var scored [][]byte
		for line := range bytes.Lines(exported) {
			for _, run := range []uuid.UUID{native, judged, odd} {
				if bytes.Contains(line, []byte(hex.EncodeToString(run[:]))) {
					scored = append(scored, line)
				}
			}
		}
		require.GreaterOrEqual(t, len(scored), 3)
		sendLines(t, ingest, source.Id, bytes.Join(scored, nil))
		after := readBack(t, e, source.Id, user)
		for id, records := range before {
			require.Len(t, after[id], len(records), id)
			for i, record := range records {
				assert.Equal(t, record["scores"], after[id][i]["scores"], id)
			}
		}
	})
	t.Run("events", func(t *testing.T) {
		span := apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, "/v1/runs/"+judged.String()+"/spans/0100000000000000?project_id="+target.Id.String(), nil, user), http.StatusOK)
		names := map[string]int{}
		for _, event := range *span.Events {
			names[fmt.Sprintf("%v %v %v", event.Attributes[runmodel.KeyEvaluationName], event.Attributes["judge"], event.Attributes[runmodel.KeyErrorType])]++
			assert.Equal(t, span.EndTime, &event.Time)
		}
		assert.Equal(t, map[string]int{"relevance gpt-5 <nil>": 1, "relevance claude <nil>": 1, "safe <nil> <nil>": 1, "toxicity <nil> timeout": 1}, names)
	})
}
