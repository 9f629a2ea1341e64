package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// run is one run as the product shows it: its folded spans, and its totals.
type run struct {
	spans   []runmodel.Span
	counted []bool
	totals  runmodel.Run
	scores  []runmodel.Score
}

// recordedSpan is a span of a run with its contents.
type recordedSpan struct {
	*runmodel.Span
	counted  bool
	contents contents
}

type contents map[uint64]json.RawMessage

// payload is what a client sent: spans, log records or both.
type payload struct {
	traces ptrace.Traces
	logs   plog.Logs
}

func readPayload(t *testing.T, tracesFile, logsFile string) payload {
	t.Helper()
	p := payload{traces: ptrace.NewTraces(), logs: plog.NewLogs()}
	if tracesFile != "" {
		text, err := os.ReadFile(tracesFile)
		require.NoError(t, err)
		p.traces, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		require.NoError(t, err, tracesFile)
	}
	if text, err := os.ReadFile(logsFile); err == nil {
		p.logs, err = (&plog.JSONUnmarshaler{}).UnmarshalLogs(text)
		require.NoError(t, err, logsFile)
	}
	return p
}

// receive runs payloads through the processors and the run model, and returns their runs by id.
func receive(t *testing.T, payloads ...payload) (map[uuid.UUID]*run, contents) {
	t.Helper()
	var rows runpdata.Rows
	var waiting []runmodel.WaitingRecord
	for _, traces := range processed(t, uuid.New(), payloads...) {
		records, err := runpdata.TakeWaiting(traces)
		require.NoError(t, err)
		waiting = append(waiting, records...)
		require.NoError(t, rows.Add(traces))
	}
	received := slices.Clone(rows.Spans)
	for i := range waiting { // as the exporter does
		ofConversation := map[uuid.UUID]bool{}
		for j := range received {
			if s := &received[j]; s.SessionID == waiting[i].Conversation || s.ConversationID == waiting[i].Conversation {
				ofConversation[s.RunID] = true
			}
		}
		calls := slices.DeleteFunc(slices.Clone(received), func(s runmodel.Span) bool { return !ofConversation[s.RunID] })
		record, err := runpdata.WaitingRow(&waiting[i])
		require.NoError(t, err)
		if call := runmodel.PlaceRecord(&record, calls); call != nil {
			placed, err := runpdata.PlaceWaiting(&waiting[i], call)
			require.NoError(t, err)
			require.NoError(t, rows.Add(placed))
		}
	}
	versions := make(map[uuid.UUID][]runmodel.Span)
	for _, s := range rows.Spans {
		versions[s.RunID] = append(versions[s.RunID], s)
	}
	runs := make(map[uuid.UUID]*run, len(versions))
	for id, of := range versions {
		folded := runmodel.Fold(of)
		runs[id] = &run{spans: folded, counted: runmodel.CountsUsage(folded), totals: runmodel.Totals(of)}
	}
	for i := range rows.Scores {
		of := runs[rows.Scores[i].RunID]
		of.scores = append(of.scores, rows.Scores[i])
	}
	return runs, readContents(t, &rows)
}

// readContents resolves the contents of rows, some of which are shared by many runs.
func readContents(t *testing.T, rows *runpdata.Rows) contents {
	t.Helper()
	shared := make(map[[2]uint64]*runmodel.SharedContent, len(rows.Shared))
	for i := range rows.Shared {
		shared[[2]uint64{rows.Shared[i].ContentID, rows.Shared[i].SharedTail}] = &rows.Shared[i]
	}
	read := make(contents, len(rows.Contents))
	for i := range rows.Contents {
		for content := range rows.Contents[i].Each() {
			frame, texts := content.Frame, content.Texts
			if content.SharedTail != 0 {
				of := shared[[2]uint64{content.ContentID, content.SharedTail}]
				require.NotNil(t, of)
				frame, texts = of.Frame, of.Texts
			}
			text, err := runmodel.JoinContent(content.Kind, frame, texts)
			require.NoError(t, err)
			read[content.ContentID] = text
		}
	}
	return read
}

// allSpans returns the spans of all runs in start order.
func allSpans(runs map[uuid.UUID]*run, read contents) []recordedSpan {
	var spans []recordedSpan
	for _, r := range runs {
		for i := range r.spans {
			spans = append(spans, recordedSpan{&r.spans[i], r.counted[i], read})
		}
	}
	slices.SortFunc(spans, func(a, b recordedSpan) int {
		if c := a.StartTime.Compare(b.StartTime); c != 0 {
			return c
		}
		return int(int64(a.SpanID>>1) - int64(b.SpanID>>1))
	})
	return spans
}

// messages returns the messages of ids as one JSON value, nil if there are none.
func (c contents) messages(ids []uint64) any {
	if len(ids) == 0 {
		return nil
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = c.value(id)
	}
	return list
}

func (c contents) value(id uint64) any {
	var value any
	if id != 0 {
		if err := json.Unmarshal(c[id], &value); err != nil {
			panic(fmt.Sprintf("content %d: %v", id, err)) // the store would have refused it
		}
	}
	return value
}

// realData returns the folder of published payloads, empty if it is not set.
func realData() string { return os.Getenv("LOOPTRACE_REALDATA") }
