package runpdata

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// addScores reads the attribute KeyScores of a span. If it is malformed, it returns false and adds nothing.
func (r *Rows) addScores(s *runmodel.Span, value pcommon.Value) bool {
	if value.Type() != pcommon.ValueTypeSlice {
		return false
	}
	type evaluation struct {
		Name        string `json:"name"`
		Value       any    `json:"value"`
		Label       string `json:"label"`
		Explanation string `json:"explanation"`
		ResponseID  string `json:"response_id"`
		ID          string `json:"id"`
		Source      string `json:"source"`
		Of          string `json:"of"`
		ExportedID  string `json:"exported_id"`
		CreatedAt   string `json:"created_at"`
	}
	// A span may have several scores of one name.
	type repeated struct{ name, response, id string }
	seen := map[repeated]int{}
	scores := make([]runmodel.Score, 0, value.Slice().Len())
	for _, item := range value.Slice().All() {
		var e evaluation
		if json.Unmarshal([]byte(item.AsString()), &e) != nil || e.Name == "" {
			return false
		}
		key := repeated{e.Name, e.ResponseID, e.ID}
		score := runmodel.Score{
			ProjectID: s.ProjectID, RunID: s.RunID, ScoreID: spanScoreID(s, e.Name, e.ResponseID, e.ID, seen[key]), Version: s.Version,
			SpanID: s.SpanID, Name: e.Name, Comment: e.Explanation, Source: runmodel.ScoreProgram, CreatedAt: unixNano(s.Version),
		}
		seen[key]++
		if id, err := uuid.Parse(e.ExportedID); err == nil {
			score.ScoreID, score.ExportedID = runmodel.ExportedScoreID(s.RunID, id), id
		}
		if at, err := strconv.ParseInt(e.CreatedAt, 10, 64); err == nil && at > 0 && at < runmodel.MaxTimestamp {
			score.CreatedAt = unixNano(uint64(at))
		}
		switch value := e.Value.(type) {
		case float64, bool:
			score.SetValue(value)
		case nil:
			if e.Label != "" {
				score.ValueKind = runmodel.ScoreCategory
			}
		default:
			return false
		}
		score.Label = e.Label
		if e.Source == runmodel.ScoreHuman {
			score.Source = runmodel.ScoreHuman
		}
		switch e.Of {
		case runmodel.ScoreOfRun:
			score.SpanID = 0
		case runmodel.ScoreOfParent:
			score.SpanID = s.ParentSpanID
		}
		scores = append(scores, score)
	}
	r.Scores = append(r.Scores, scores...)
	return true
}

// spanScoreID returns the same id whenever the same span is received with the same score.
func spanScoreID(s *runmodel.Span, name, responseID, id string, repeat int) uuid.UUID {
	h := sha256.New()
	// A hash never returns an error.
	_, _ = h.Write(s.RunID[:])
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, s.SpanID))
	_, _ = h.Write([]byte(strconv.Quote(name) + strconv.Quote(responseID) + strconv.Itoa(repeat) + id))
	return runmodel.HashID([sha256.Size]byte(h.Sum(nil)))
}
