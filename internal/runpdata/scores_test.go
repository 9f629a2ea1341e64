package runpdata

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestScoresOfSpans(t *testing.T) {
	t.Parallel()
	scored := func(scores ...any) Rows {
		return rowsOf(t, nil, attributes(t, map[string]any{runmodel.KeyScores: scores}))
	}
	rows := scored(`{"name":"relevance","value":0.5,"label":"half","explanation":"why"}`, `{"name":"tone","label":"kind"}`, `{"name":"tone"}`)
	require.Len(t, rows.Scores, 3)
	first := rows.Scores[0]
	assert.Equal(t, rows.Spans[0].SpanID, first.SpanID)
	assert.Equal(t, rows.Spans[0].Version, first.Version)
	assert.InDelta(t, 0.5, first.Value(), 0)
	assert.Equal(t, "half", first.Label)
	assert.Equal(t, "why", first.Comment)
	assert.Equal(t, runmodel.ScoreProgram, first.Source)
	assert.Equal(t, "kind", rows.Scores[1].Value())
	assert.Nil(t, rows.Scores[2].Value())
	assert.Empty(t, rows.Spans[0].AttributesJSON, "they stand among the scores")

	again := scored(`{"name":"relevance","value":0.7}`, `{"name":"relevance","value":0.9}`, `{"name":"relevance","value":1,"response_id":"r"}`)
	ids := map[uuid.UUID]bool{}
	for _, score := range again.Scores {
		ids[score.ScoreID] = true
	}
	assert.Len(t, ids, 3, "one name may judge a span several times")
	assert.True(t, ids[first.ScoreID], "a span that is sent again updates its score")

	for _, bad := range []any{`{"value":1}`, `no JSON`, `{"name":"x","value":"high"}`} {
		rows := scored(`{"name":"fine"}`, bad)
		assert.Empty(t, rows.Scores)
		assert.Contains(t, rows.Spans[0].AttributesJSON, runmodel.KeyScores, "nothing is lost")
	}
}

// TestWhatScoresOfSpansJudge checks that a span's score may judge the run, or the parent span.
func TestWhatScoresOfSpansJudge(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t, nil, func(s ptrace.Span) {
		s.SetParentSpanID(pcommon.SpanID{7: 7})
		attributes(t, map[string]any{runmodel.KeyScores: []any{
			`{"name":"a","value":true}`, `{"name":"b","value":2,"of":"run","source":"human","id":"one"}`, `{"name":"b","value":3,"of":"parent","id":"two"}`,
		}})(s)
	})
	require.Len(t, rows.Scores, 3)
	assert.Equal(t, true, rows.Scores[0].Value())
	assert.Equal(t, runmodel.ScoreBoolean, rows.Scores[0].ValueKind)
	assert.Equal(t, rows.Spans[0].SpanID, rows.Scores[0].SpanID)
	assert.Zero(t, rows.Scores[1].SpanID)
	assert.Equal(t, runmodel.ScoreHuman, rows.Scores[1].Source)
	assert.EqualValues(t, 7, rows.Scores[2].SpanID)
	assert.NotEqual(t, rows.Scores[1].ScoreID, rows.Scores[2].ScoreID)
}

// TestExportedScores checks that a score of an import has the same id each time, and never that of a score that a person or a key wrote.
func TestExportedScores(t *testing.T) {
	t.Parallel()
	const byHash, byAPI = "5a1e0d5a-7c5e-8f6a-9d3c-0a1b2c3d4e5f", "01a217b1-0bc1-733e-9ba6-c649e65b1d74"
	read := func() Rows {
		return rowsOf(t, nil, attributes(t, map[string]any{runmodel.KeyScores: []any{
			`{"name":"a","value":1,"exported_id":"` + byHash + `","created_at":"1700000000000000001"}`, `{"name":"b","value":1,"exported_id":"` + byAPI + `"}`,
			`{"name":"c","value":1,"exported_id":"mine","created_at":"-1"}`,
		}}))
	}
	first, second := read().Scores, read().Scores
	require.Len(t, first, 3)
	assert.Equal(t, byHash, first[0].ScoreID.String())
	assert.EqualValues(t, 1700000000000000001, first[0].CreatedAt.UnixNano())
	assert.NotEqual(t, byAPI, first[1].ScoreID.String())
	for i := range first {
		assert.Equal(t, first[i].ScoreID, second[i].ScoreID)
		assert.EqualValues(t, 8, first[i].ScoreID.Version())
	}
	assert.EqualValues(t, first[2].Version, first[2].CreatedAt.UnixNano())
}
