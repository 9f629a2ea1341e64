package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	replayable "github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// onlyTextsTell are payloads with runs whose totals say full where the engine, which reads texts, says llm; and why.
var onlyTextsTell = map[string]string{
	"langfuse-otel-tests/otlp/vercel-text-and-toolcalls.json":   "an answer with text asks for a tool that is not defined, and no reason to stop tells",
	"langfuse-otel-tests/otlp/zz-all-captures-one-request.json": "it has the one before",
	"langwatch-tests/otlp/lit-adk-generate-content-blobs.json":  "an answer with text asks for a tool that is not defined, and no reason to stop tells",
	"inspect-ai-logs/otlp/inspect-000.json":                     "a request has an earlier output in a longer text",
	"strands-evals-fixtures/otlp/smolagents_live.otlp.json":     "a request has an earlier output in a longer text",
}

// TestRealReplayability compares how far recorded runs can be replayed by their totals, which read no texts, with what the engine of replays
// says. They say the same, but for onlyTextsTell. For the same runs with a message missing from the last request, as if the program had dropped
// it, totals say no more than the engine.
func TestRealReplayability(t *testing.T) {
	folder := realData()
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	var files []string
	for _, kind := range []string{"otlp", "otlp-logs"} {
		some, err := filepath.Glob(filepath.Join(folder, "*", kind, "*.json"))
		require.NoError(t, err)
		files = append(files, some...)
	}
	type levels struct{ totals, engine string }
	counts, changed := map[levels]int{}, map[levels]int{}
	exceptions := map[string]bool{}
	for _, file := range files {
		if strings.Contains(file, "base64ids") {
			continue // no OTLP
		}
		source, name := filepath.Split(file)
		source, kind := filepath.Split(filepath.Clean(source))
		received := receiveFile(t, source, filepath.Join(kind, name))
		name = filepath.Join(filepath.Base(source), kind, name)
		for id, run := range received.runs {
			recording := replayable.Read(replaySpans(run.spans, received.read))
			got := levels{run.totals.Replayability, string(recording.Replayability.Level)}
			counts[got]++
			want := got.engine
			if onlyTextsTell[name] != "" && got.engine == runmodel.ReplayLLM && got.totals == runmodel.ReplayFull {
				exceptions[name] = true
				want = got.totals
			}
			if got.totals != want {
				var missing []string
				for _, one := range recording.Replayability.Missing {
					missing = append(missing, fmt.Sprintf("%s %d", one.Code, one.Count))
				}
				t.Errorf("%s %s: %s by totals, %s by the engine: %v", name, id, got.totals, got.engine, missing)
			}
			if spans := withoutAMessage(run.spans); spans != nil && onlyTextsTell[name] == "" {
				got := levels{runmodel.Totals(spans).Replayability, string(replayable.Read(replaySpans(spans, received.read)).Replayability.Level)}
				changed[got]++
				assert.LessOrEqual(t, slices.Index(runmodel.Replayabilities, got.totals), slices.Index(runmodel.Replayabilities, got.engine), "%s %s, without a message: %v", name, id, got)
			}
		}
	}
	for what, counts := range map[string]map[levels]int{"recorded": counts, "without a message": changed} {
		for _, got := range slices.SortedFunc(maps.Keys(counts), func(a, b levels) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
			t.Logf("%s: %9s by totals, %9s by the engine: %d runs", what, got.totals, got.engine, counts[got])
		}
	}
	assert.Len(t, exceptions, len(onlyTextsTell), "payloads that are no exception any more: %v", exceptions)
	assert.Positive(t, changed[levels{runmodel.ReplayLLM, runmodel.ReplayLLM}])
}

// withoutAMessage returns spans without the message in the middle of the last request, nil if no request has enough messages.
func withoutAMessage(spans []runmodel.Span) []runmodel.Span {
	calls := runmodel.ModelCalls(spans)
	for _, i := range slices.Backward(calls) {
		if ids := spans[i].InputMessageIDs; len(ids) > 3 && len(calls) > 1 {
			changed := slices.Clone(spans)
			changed[i].InputMessageIDs = slices.Delete(slices.Clone(ids), len(ids)/2, len(ids)/2+1)
			return changed
		}
	}
	return nil
}

// replaySpans returns the spans as the engine takes them.
func replaySpans(recorded []runmodel.Span, read contents) []replayable.Span {
	texts := func(ids []uint64) []json.RawMessage {
		var list []json.RawMessage
		for _, id := range ids {
			list = append(list, read[id])
		}
		return list
	}
	elements := func(id uint64) []json.RawMessage {
		var list []json.RawMessage
		if id != 0 && json.Unmarshal(read[id], &list) != nil {
			list = []json.RawMessage{read[id]}
		}
		return list
	}
	spans := make([]replayable.Span, len(recorded))
	for i, s := range recorded {
		spans[i] = replayable.Span{
			Span: s, SystemInstructions: elements(s.InstructionsID), InputMessages: texts(s.InputMessageIDs), OutputMessages: texts(s.OutputMessageIDs),
			ToolDefinitions: elements(s.ToolDefinitionsID),
		}
	}
	return spans
}
