package agentview

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/genaispans"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// recorded is a run as the store has it: its outline, and its spans with their texts.
type recorded struct {
	outline runs.Outline
	spans   map[uint64]runs.Span
}

// read returns texts as runs.Service.Excerpts does.
func (r *recorded) read(ids []uint64) ([]runs.Span, error) {
	var spans []runs.Span
	for _, id := range ids {
		if span, ok := r.spans[id]; ok {
			spans = append(spans, span)
		}
	}
	return spans, nil
}

func realData(tb testing.TB) string {
	tb.Helper()
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		tb.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	return folder
}

// realRuns maps a file of OTLP/JSON to runs.
func realRuns(tb testing.TB, file string) []*recorded {
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
	var list []*recorded
	for _, id := range order {
		folded := runmodel.Fold(slices.Clone(versions[id]))
		r := &recorded{outline: runs.Outline{Run: runmodel.Totals(versions[id])}, spans: map[uint64]runs.Span{}}
		for i := range folded {
			span := runs.Span{Span: folded[i]}
			if folded[i].Inputs != "" {
				span.Inputs = &folded[i].Inputs
			}
			if folded[i].Outputs != "" {
				span.Outputs = &folded[i].Outputs
			}
			for _, id := range folded[i].InputMessageIDs[max(0, len(folded[i].InputMessageIDs)-4):] {
				span.InputMessages = append(span.InputMessages, contents[id])
			}
			for _, id := range folded[i].OutputMessageIDs {
				span.OutputMessages = append(span.OutputMessages, contents[id])
			}
			r.spans[folded[i].SpanID] = span
			bare := folded[i]
			bare.Inputs, bare.Outputs, bare.ToolArguments, bare.ToolResult, bare.ErrorStack = "", "", "", "", ""
			r.outline.Spans = append(r.outline.Spans, bare)
		}
		list = append(list, r)
	}
	return list
}

func allRealRuns(tb testing.TB) []*recorded {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(realData(tb), "*", "otlp", "*.json"))
	require.NoError(tb, err)
	var list []*recorded
	for _, file := range files {
		list = append(list, realRuns(tb, file)...)
	}
	require.Greater(tb, len(list), 300)
	return list
}
