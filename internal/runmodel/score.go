package runmodel

import (
	"crypto/sha256"
	"math"
	"time"

	"github.com/google/uuid"
)

// Score is a judgement of a run or of one of its spans: a row of the table scores.
type Score struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	ScoreID   uuid.UUID `ch:"score_id"`
	// Version is when the score was written, or received with its span, in Unix nanoseconds. The newest wins.
	Version uint64 `ch:"version"`
	Deleted uint8  `ch:"deleted"`
	// SpanID is 0 if the score judges the whole run.
	SpanID uint64 `ch:"span_id"`
	Name   string `ch:"name"`
	// ValueKind is ScoreNumber, ScoreBoolean or ScoreCategory, or empty for a comment alone.
	ValueKind string `ch:"value_kind"`
	// Number is the value of a number, or 0 or 1 for a boolean.
	Number *float64 `ch:"number"`
	// Label is the value of a category, or the label of a number.
	Label   string `ch:"label"`
	Comment string `ch:"comment"`
	// Source is ScoreHuman or ScoreProgram.
	Source string `ch:"source"`
	// AuthorKind is ScoreByUser, ScoreByKey or ScoreByRule, or empty if the score came with its span.
	AuthorKind string    `ch:"author_kind"`
	AuthorID   uuid.UUID `ch:"author_id"`
	AuthorName string    `ch:"author_name"`
	CreatedAt  time.Time `ch:"created_at"`
	// Truncated is not stored. It reports that a list has shortened the texts.
	Truncated bool
	// ExportedID is not stored. It is the id that a score of an import had where it was exported.
	ExportedID uuid.UUID
}

// Kinds of score values.
const (
	ScoreNumber   = "number"
	ScoreBoolean  = "boolean"
	ScoreCategory = "category"
)

// Sources and authors of scores in the API.
const (
	ScoreHuman   = "human"
	ScoreProgram = "program"
	ScoreByUser  = "user"
	ScoreByKey   = "key"
	ScoreByRule  = "rule"
)

// What a score that came with a span judges if it is not that span: the whole run, or the parent span.
const (
	ScoreOfRun    = "run"
	ScoreOfParent = "parent"
)

// Value returns the score's value for JSON: a float64, a bool, a string, or nil for a comment alone.
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

// SetValue sets a float64, a bool or a string, or nil for a comment alone. It returns false for other types.
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

// ExportedScoreID returns the id of a score of a run that was exported under the given one. Ids of scores that came with their spans are
// hashes and stay. Others are those of people and keys: who may send spans must not be able to replace such a score, so it gets another,
// which is always the same.
func ExportedScoreID(runID, id uuid.UUID) uuid.UUID {
	if id.Version() == hashVersion {
		return id
	}
	return HashID(sha256.Sum256(append(runID[:], id[:]...)))
}

// hashVersion is the version of UUIDs that are a custom hash (RFC 9562, 5.8).
const hashVersion = 8

// HashID makes an id of a hash.
func HashID(sum [sha256.Size]byte) uuid.UUID {
	id := uuid.UUID(sum[:16])
	const versionByte, variantByte = 6, 8
	id[versionByte] = id[versionByte]&0x0f | hashVersion<<4
	id[variantByte] = id[variantByte]&0x3f | 0x80
	return id
}
