package runmodel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Score is a judgement of a run or of one of its spans, as a row of the table scores.
type Score struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	ScoreID   uuid.UUID `ch:"score_id"`
	// Version is when the score was written, or received with its span, in Unix nanoseconds: the newest counts.
	Version uint64 `ch:"version"`
	Deleted uint8  `ch:"deleted"`
	// SpanID is 0 where the run as a whole is judged.
	SpanID uint64 `ch:"span_id"`
	Name   string `ch:"name"`
	// ValueKind is ScoreNumber, ScoreBoolean or ScoreCategory; empty for a comment alone.
	ValueKind string `ch:"value_kind"`
	// Number is the value of a number; 0 or 1 for a boolean.
	Number *float64 `ch:"number"`
	// Label is the value of a category, or what a number was called.
	Label   string `ch:"label"`
	Comment string `ch:"comment"`
	// Source is ScoreHuman or ScoreProgram.
	Source string `ch:"source"`
	// AuthorKind is ScoreByUser or ScoreByKey; empty where the score came with its span.
	AuthorKind string    `ch:"author_kind"`
	AuthorID   uuid.UUID `ch:"author_id"`
	AuthorName string    `ch:"author_name"`
	CreatedAt  time.Time `ch:"created_at"`
	// Truncated is not stored: it tells that a list has the beginnings of its texts only.
	Truncated bool
}

// The kinds of values of a score.
const (
	ScoreNumber   = "number"
	ScoreBoolean  = "boolean"
	ScoreCategory = "category"
)

// Where a score comes from, and who wrote it, as the API names them.
const (
	ScoreHuman   = "human"
	ScoreProgram = "program"
	ScoreByUser  = "user"
	ScoreByKey   = "key"
)

// What a score that came with a span judges, where it is not that span: the run as a whole, or the span above.
const (
	ScoreOfRun    = "run"
	ScoreOfParent = "parent"
)

// addScores reads the attribute KeyScores of a span. It reports false, and adds nothing, for what does not have its form.
func (r *Rows) addScores(s *Span, value pcommon.Value) bool {
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
	}
	// A span may be judged by one name several times.
	type repeated struct{ name, response, id string }
	seen := map[repeated]int{}
	scores := make([]Score, 0, value.Slice().Len())
	for _, item := range value.Slice().All() {
		var e evaluation
		if json.Unmarshal([]byte(item.AsString()), &e) != nil || e.Name == "" {
			return false
		}
		key := repeated{e.Name, e.ResponseID, e.ID}
		score := Score{
			ProjectID: s.ProjectID, RunID: s.RunID, ScoreID: spanScoreID(s, e.Name, e.ResponseID, e.ID, seen[key]), Version: s.Version,
			SpanID: s.SpanID, Name: e.Name, Comment: e.Explanation, Source: ScoreProgram, CreatedAt: unixNano(s.Version),
		}
		seen[key]++
		switch value := e.Value.(type) {
		case float64, bool:
			score.SetValue(value)
		case nil:
			if e.Label != "" {
				score.ValueKind = ScoreCategory
			}
		default:
			return false
		}
		score.Label = e.Label
		if e.Source == ScoreHuman {
			score.Source = ScoreHuman
		}
		switch e.Of {
		case ScoreOfRun:
			score.SpanID = 0
		case ScoreOfParent:
			score.SpanID = s.ParentSpanID
		}
		scores = append(scores, score)
	}
	r.Scores = append(r.Scores, scores...)
	return true
}

// spanScoreID is the same whenever the same span is received with the same score.
func spanScoreID(s *Span, name, responseID, id string, repeat int) uuid.UUID {
	h := sha256.New()
	// A hash never returns an error.
	_, _ = h.Write(s.RunID[:])
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, s.SpanID))
	_, _ = h.Write([]byte(strconv.Quote(name) + strconv.Quote(responseID) + strconv.Itoa(repeat) + id))
	scoreID := uuid.UUID(h.Sum(nil)[:16])
	const versionByte, variantByte = 6, 8
	scoreID[versionByte] = scoreID[versionByte]&0x0f | 0x80 // version 8: a hash of our own (RFC 9562, 5.8)
	scoreID[variantByte] = scoreID[variantByte]&0x3f | 0x80
	return scoreID
}

// Value is the score's value as JSON has it: a float64, a bool, a string, or nil for a comment alone.
func (s *Score) Value() any {
	switch s.ValueKind {
	case ScoreNumber:
		if s.Number != nil && !math.IsNaN(*s.Number) && !math.IsInf(*s.Number, 0) {
			return *s.Number
		}
	case ScoreBoolean:
		return s.Number != nil && *s.Number != 0
	case ScoreCategory:
		return s.Label
	}
	return nil
}

// SetValue takes a float64, a bool or a string, or nil for a comment alone. It reports false for another type.
func (s *Score) SetValue(value any) bool {
	switch v := value.(type) {
	case nil:
	case float64:
		s.ValueKind, s.Number = ScoreNumber, &v
	case bool:
		var number float64
		if v {
			number = 1
		}
		s.ValueKind, s.Number = ScoreBoolean, &number
	case string:
		s.ValueKind, s.Label = ScoreCategory, v
	default:
		return false
	}
	return true
}
