package genaispans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func putScore(t *testing.T, s ptrace.Span, attributes map[string]any) {
	t.Helper()
	event := s.Events().AppendEmpty()
	event.SetName(runmodel.EventEvaluation)
	event.SetTimestamp(1_700_000_000_000_000_001)
	require.NoError(t, event.Attributes().FromRaw(attributes))
}

// TestScoreEvents reads what OpenInference's names and Looptrace's own add to the event of the conventions.
func TestScoreEvents(t *testing.T) {
	t.Parallel()
	s := mapOne(nil, "x", map[string]any{}, func(s ptrace.Span) {
		putScore(t, s, map[string]any{"gen_ai.evaluation.name": "a", "gen_ai.evaluation.score.value": 1.0, "gen_ai.evaluation.score.label": "true", "looptrace.score.kind": "boolean"})
		putScore(t, s, map[string]any{"gen_ai.evaluation.name": "b", "gen_ai.evaluation.score.value": 0.0, "gen_ai.evaluation.score.label": "bad", "looptrace.score.kind": "boolean"})
		putScore(t, s, map[string]any{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.value": 0.5, "looptrace.score.kind": "boolean"})
		putScore(t, s, map[string]any{"gen_ai.evaluation.name": "d", "gen_ai.evaluation.score.value": 1, "gen_ai.evaluation.score.label": "true"})
		putScore(t, s, map[string]any{"gen_ai.evaluation.name": "e", "gen_ai.evaluation.explanation": "why", "annotation.annotator_kind": "HUMAN", "annotation.identifier": "i", "looptrace.score.of": "run"})
		putScore(t, s, map[string]any{"gen_ai.evaluation.name": "f", "error.type": "timeout"})
	})
	assert.Equal(t, []any{
		`{"name":"a","value":true}`, `{"name":"b","value":false,"label":"bad"}`, `{"name":"c","value":0.5}`, `{"name":"d","value":1,"label":"true"}`,
		`{"name":"e","explanation":"why","id":"i","source":"human","of":"run"}`,
	}, s.Attributes().AsRaw()[runmodel.KeyScores])
}

// TestExportedSpansAreMapped checks that a span from an export keeps its attributes, and gets the scores of its events alone.
func TestExportedSpansAreMapped(t *testing.T) {
	t.Parallel()
	sent := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": int64(1050), "gen_ai.usage.cache_read.input_tokens": int64(900),
		"looptrace.original.gen_ai.usage.input_tokens": int64(150), "looptrace.dialect": "openllmetry", "gen_ai.system": "Anthropic",
		"annotations.0.annotation.name": "again", "annotations.0.annotation.score": 1.0,
	}
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.anthropic")
	ss.Scope().Attributes().PutBool(runmodel.KeyExported, true)
	s := ss.Spans().AppendEmpty()
	require.NoError(t, s.Attributes().FromRaw(sent))
	putScore(t, s, map[string]any{"gen_ai.evaluation.name": "a", "gen_ai.evaluation.score.value": 2.5, "annotation.identifier": "01a217b1-0bc1-733e-9ba6-c649e65b1d74"})
	assert.Zero(t, NewMapper(nil).Map(td))
	got := s.Attributes().AsRaw()
	assert.Equal(t, []any{`{"name":"a","value":2.5,"exported_id":"01a217b1-0bc1-733e-9ba6-c649e65b1d74","created_at":"1700000000000000001"}`}, got[runmodel.KeyScores])
	delete(got, runmodel.KeyScores)
	assert.Equal(t, sent, got)
}
