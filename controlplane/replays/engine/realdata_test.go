package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/internal/genaispans"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// realRuns maps a file of OTLP/JSON to the spans of its runs, in order.
func realRuns(tb testing.TB, file string) [][]recorded.Span {
	tb.Helper()
	text, err := os.ReadFile(file)
	require.NoError(tb, err)
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		return nil // one file is malformed on purpose
	}
	genaispans.NewMapper(nil).Map(td)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, uuid.Nil.String())
	}
	var rows runpdata.Rows
	require.NoError(tb, rows.Add(td))
	contents := map[uint64]json.RawMessage{}
	for i := range rows.Contents {
		for content := range rows.Contents[i].Each() {
			for _, shared := range rows.Shared {
				if shared.ContentID == content.ContentID && shared.SharedTail == content.SharedTail {
					content.Frame, content.Texts = shared.Frame, shared.Texts
				}
			}
			contents[content.ContentID], err = runmodel.JoinContent(content.Kind, content.Frame, content.Texts)
			require.NoError(tb, err)
		}
	}
	versions := map[uuid.UUID][]runmodel.Span{}
	var order []uuid.UUID
	for _, span := range rows.Spans {
		if _, ok := versions[span.RunID]; !ok {
			order = append(order, span.RunID)
		}
		versions[span.RunID] = append(versions[span.RunID], span)
	}
	var list [][]recorded.Span
	for _, id := range order {
		var spans []recorded.Span
		for _, folded := range runmodel.Fold(slices.Clone(versions[id])) {
			span := recorded.Span{Span: folded, SystemInstructions: jsontext.List(contents[folded.InstructionsID]), ToolDefinitions: jsontext.List(contents[folded.ToolDefinitionsID])}
			for _, id := range folded.InputMessageIDs {
				span.InputMessages = append(span.InputMessages, contents[id])
			}
			for _, id := range folded.OutputMessageIDs {
				span.OutputMessages = append(span.OutputMessages, contents[id])
			}
			spans = append(spans, span)
		}
		list = append(list, spans)
	}
	return list
}

// realFolders returns the runs of the real traces by folder.
func realFolders(tb testing.TB) map[string][][]recorded.Span {
	tb.Helper()
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		tb.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "otlp", "*.json"))
	require.NoError(tb, err)
	folders := map[string][][]recorded.Span{}
	n := 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(filepath.Dir(file)))
		list := realRuns(tb, file)
		folders[name] = append(folders[name], list...)
		n += len(list)
	}
	require.Greater(tb, n, 300)
	return folders
}

// CompareRuns returns the distance of two runs, the first step in which they differ, -1 for none, and how many steps both have. It stands
// outside of the package: what compares runs imports it.
var CompareRuns func(ctx context.Context, base, other []recorded.Span) (distance float64, firstDivergence, steps int, err error)

// write returns the spans of an attempt, as a caller writes them.
func write(tb testing.TB, r *recorded.Recording, attempt *Attempt) []recorded.Span {
	tb.Helper()
	var spans []recorded.Span
	writer := NewSpanWriter(r)
	for _, step := range attempt.Steps {
		if step.Source == SourceNotReached || step.Unrecorded {
			continue
		}
		form, err := writer.Form(step)
		require.NoError(tb, err)
		var span recorded.Span
		if form.Recorded != nil {
			span.Span = form.Recorded.Span
		} else {
			span.SpanID = 1<<63 + uint64(step.Index)
			span.Name, span.Kind = step.Name, step.SpanKind
			span.InputMessageIDs, span.OutputMessageIDs = nil, nil
		}
		if step.Request != nil {
			span.RequestModel = step.Request.Model
		}
		if step.Parent >= 0 {
			span.ParentSpanID = r.Spans[step.Parent].SpanID
		}
		span.SystemInstructions, span.InputMessages, span.OutputMessages = form.SystemInstructions, form.InputMessages, form.OutputMessages
		span.ToolDefinitions, span.Inputs, span.Outputs = form.ToolDefinitions, form.Inputs, form.Outputs
		span.ToolArguments, span.ToolResult = form.ToolArguments, form.ToolResult
		if step.Kind == recorded.KindTool && step.Tool != nil && span.ToolName == "" {
			span.ToolName = step.Tool.Name
		}
		span.Status, span.ErrorType, span.ErrorMessage = step.Status, step.ErrorType, step.ErrorMessage
		span.StartTime = r.Start.Add(step.Offset)
		if step.Duration != nil {
			span.EndTime = span.StartTime.Add(*step.Duration)
		}
		spans = append(spans, span)
	}
	return inStoreOrder(spans)
}

// inStoreOrder sorts spans as the store does.
func inStoreOrder(spans []recorded.Span) []recorded.Span {
	rows, byID := make([]runmodel.Span, len(spans)), map[uint64]recorded.Span{}
	for i := range spans {
		rows[i] = spans[i].Span
		byID[spans[i].SpanID] = spans[i]
	}
	out := make([]recorded.Span, 0, len(spans))
	for _, row := range runmodel.Fold(rows) {
		span := byID[row.SpanID]
		span.ParentSpanID = row.ParentSpanID
		out = append(out, span)
	}
	return out
}

// echo answers as the recording does, with ids of its own. It fails if it is asked something else.
func echo(tb testing.TB, r *recorded.Recording) ModelFunc {
	tb.Helper()
	return func(_ context.Context, call Call) (Answer, error) {
		if !assert.GreaterOrEqual(tb, call.Recorded, 0, "a call that was not recorded") {
			return Answer{}, &CallError{Type: "test", Message: "not recorded"}
		}
		s := &r.Steps[call.Recorded]
		if s.Model.Response == nil {
			return Answer{}, &CallError{Type: s.ErrorType, Message: s.ErrorMessage}
		}
		response := *s.Model.Response
		message := jsontext.Members(response.Message)
		calls := jsontext.List(message[recorded.KeyToolCalls])
		for i := range calls {
			one := jsontext.Members(calls[i])
			one["id"] = jsontext.MustEncode(fmt.Sprintf("call_%s_%d", call.Key, i))
			calls[i], _ = jsontext.Encode(one)
		}
		if len(calls) > 0 {
			message[recorded.KeyToolCalls], _ = jsontext.Encode(calls)
			delete(message, recorded.KeyAnthropic)
			response.Message, _ = jsontext.Encode(message)
		}
		answer := Answer{Response: response, Attempts: 1}
		if s.Duration != nil {
			answer.Duration = *s.Duration
		}
		return answer, nil
	}
}

// assertSame requires that an attempt is the recorded run.
func assertSame(tb testing.TB, name string, spans []recorded.Span, r *recorded.Recording, attempt *Attempt) bool {
	tb.Helper()
	for _, step := range attempt.Steps {
		if step.Differs || step.Source == SourceNotReached {
			assert.Fail(tb, "a step differs", "%s: %+v", name, step)
			return false
		}
	}
	distance, firstDivergence, steps, err := CompareRuns(tb.Context(), spans, write(tb, r, attempt))
	require.NoError(tb, err)
	return assert.Zero(tb, distance, name) && assert.Equal(tb, -1, firstDivergence, name) && assert.Equal(tb, len(r.Steps), steps, name)
}

// TestRealReplayability replays every real run that has ended without an edit, and prints how far each folder can be replayed.
func TestRealReplayability(t *testing.T) {
	t.Parallel()
	folders := realFolders(t)
	var table strings.Builder
	table.WriteString("| folder | runs | none | structure | llm | full | what limits them |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	total, all, replayed, echoed := map[recorded.Level]int{}, 0, 0, 0
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		counts, why := map[recorded.Level]int{}, map[string]int{}
		for n, spans := range folders[folder] {
			name := fmt.Sprintf("%s[%d]", folder, n)
			r := recorded.Read(spans)
			counts[r.Replayability.Level]++
			total[r.Replayability.Level]++
			all++
			for _, one := range r.Replayability.Missing {
				if one.Limits != "" {
					why[one.Code]++
				}
			}
			if slices.ContainsFunc(r.Replayability.Missing, func(one recorded.Missing) bool { return one.Code == "run_not_ended" }) {
				continue
			}
			replayed++
			checked, err := edit.Check(r, nil, "body.edits")
			require.NoError(t, err)
			attempt, err := Replay(context.Background(), r, checked, Options{}, nil)
			require.NoError(t, err)
			assert.Equal(t, StopCompleted, attempt.Stop.Reason, name)
			assertSame(t, name, spans, r, attempt)
			if r.Replayability.Level == recorded.LevelNone || r.Replayability.Level == recorded.LevelStructure {
				continue
			}
			failed := slices.ContainsFunc(r.Steps, func(s recorded.Step) bool { return s.Kind == recorded.KindModel && s.Failed() }) // whether it fails again is not known
			if r.Replayability.Level == recorded.LevelFull && !failed {
				first := slices.IndexFunc(r.Steps, func(s recorded.Step) bool { return s.Kind == recorded.KindModel })
				options := Options{Executor: ExecutorServer, ForkSpanID: r.Steps[first].SpanID}
				attempt, err := Replay(context.Background(), r, checked, options, echo(t, r))
				require.NoError(t, err)
				assert.Equal(t, StopCompleted, attempt.Stop.Reason, "%s: %+v", name, attempt.Stop)
				for _, step := range attempt.Steps {
					if !assert.False(t, step.Differs && step.Kind != recorded.KindFrame, "%s: %+v", name, step) {
						break
					}
				}
				echoed++
			}
			const most = 12
			for i := 0; i < len(r.Steps); i += 1 + len(r.Steps)/most {
				if r.Steps[i].Kind == recorded.KindFrame {
					continue
				}
				attempt, err := Replay(context.Background(), r, checked, Options{ForkSpanID: r.Steps[i].SpanID}, nil)
				require.NoError(t, err)
				if !assert.Equal(t, StopCompleted, attempt.Stop.Reason, "%s from %s: %+v", name, r.Steps[i].Name, attempt.Stop) || !assertSame(t, name, spans, r, attempt) {
					break
				}
			}
		}
		var reasons []string
		for _, code := range slices.SortedFunc(maps.Keys(why), func(a, b string) int {
			if why[a] != why[b] {
				return why[b] - why[a]
			}
			return strings.Compare(a, b)
		}) {
			reasons = append(reasons, fmt.Sprintf("%s %d", code, why[code]))
		}
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %d | %s |\n", folder, len(folders[folder]), counts[recorded.LevelNone], counts[recorded.LevelStructure], counts[recorded.LevelLLM],
			counts[recorded.LevelFull], strings.Join(reasons, ", "))
	}
	fmt.Fprintf(&table, "| **all** | %d | %d | %d | %d | %d | |\n", all, total[recorded.LevelNone], total[recorded.LevelStructure], total[recorded.LevelLLM], total[recorded.LevelFull])
	t.Log("\n" + table.String())
	t.Logf("%d runs were replayed without an edit, %d were asked again, with the recorded answers", replayed, echoed)
}
