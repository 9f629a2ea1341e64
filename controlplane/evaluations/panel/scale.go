package panel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// ScaleType is the type of a scale.
type ScaleType string

// Types of scales.
const (
	Binary ScaleType = "binary"
	// Ordinal: whole numbers from Min to Max, or Labels from the worst to the best.
	Ordinal ScaleType = "ordinal"
	// Categorical: Labels in no order.
	Categorical ScaleType = "categorical"
	// Numeric: numbers from Min to Max.
	Numeric ScaleType = "numeric"
)

// maxCategories is the largest number of categories that agreement is computed with.
const maxCategories = 1001

// Scale has the answers that a judge may give.
type Scale struct {
	Type     ScaleType
	Min, Max float64
	Labels   []string
	// PassAt is the lowest number, or place of a label, that passes on an ordinal or numeric scale; nil if none passes or fails.
	PassAt *float64
	// PassLabels has the places of the labels that pass on a categorical scale; none if none passes or fails.
	PassLabels []int
}

// MarshalJSON has the shape of the API's JudgeScale.
func (s Scale) MarshalJSON() ([]byte, error) {
	shape := struct {
		Type   ScaleType `json:"type"`
		Min    *float64  `json:"min,omitempty"`
		Max    *float64  `json:"max,omitempty"`
		Labels []string  `json:"labels,omitempty"`
	}{Type: s.Type, Labels: s.Labels}
	if s.Type == Numeric || s.Type == Ordinal && len(s.Labels) == 0 {
		shape.Min, shape.Max = &s.Min, &s.Max
	}
	return json.Marshal(shape)
}

func (s *Scale) valid() error {
	low, high := s.ends()
	switch {
	case s.Type != Binary && s.Type != Ordinal && s.Type != Categorical && s.Type != Numeric:
		return fmt.Errorf("the type %q of the scale is unknown", s.Type)
	case math.IsNaN(low) || math.IsInf(high-low, 0) || math.IsNaN(high) || low >= high:
		return errors.New("the scale needs two labels or more, or a max above its min")
	case s.Type == Ordinal && (low != math.Trunc(low) || high != math.Trunc(high) || high-low >= maxCategories):
		return fmt.Errorf("an ordinal scale has whole numbers, at most %d of them", maxCategories)
	case s.PassAt != nil && !(*s.PassAt >= low && *s.PassAt <= high):
		return errors.New("what passes is not on the scale")
	}
	for _, place := range s.PassLabels {
		if place < 0 || place >= len(s.Labels) {
			return errors.New("a label that passes is not on the scale")
		}
	}
	return nil
}

// ends are the lowest and the highest value.
func (s *Scale) ends() (low, high float64) {
	switch {
	case s.Type == Binary:
		return 0, 1
	case s.Type == Categorical || s.Type == Ordinal && len(s.Labels) > 0:
		return 0, float64(len(s.Labels) - 1)
	}
	return s.Min, s.Max
}

// Number is the number on the scale that has a score from 0 to 1; for scales with an order.
func (s *Scale) Number(score float64) float64 {
	low, high := s.ends()
	return low + score*(high-low)
}

// measured is the scale of measurement.
func (in *Input) measured() stats.Scale {
	switch {
	case in.nominal():
		return stats.NominalScale
	case in.Scale.Type == Ordinal:
		return stats.OrdinalScale
	}
	return stats.IntervalScale
}

// nominal reports whether values are the same or not, and no more.
func (in *Input) nominal() bool {
	return in.Kind == Preference || in.Scale.Type == Binary || in.Scale.Type == Categorical
}

// categories are those of the scale, ascending; nil for numbers.
func (in *Input) categories() []float64 {
	switch {
	case in.Kind == Preference:
		return []float64{0, .5, 1}
	case in.Scale.Type == Numeric:
		return nil
	}
	low, high := in.Scale.ends()
	var all []float64
	for x := low; x <= high; x++ {
		all = append(all, x)
	}
	return all
}

// onScale reports whether a value is an answer that the scale has.
func (in *Input) onScale(value float64) bool {
	if in.Kind == Preference {
		return value == 0 || value == .5 || value == 1
	}
	low, high := in.Scale.ends()
	return value >= low && value <= high && (in.Scale.Type == Numeric || value == math.Trunc(value))
}

// scored reports whether values have scores from 0 to 1: all but categories that do not pass or fail.
func (in *Input) scored() bool {
	return in.Kind == Preference || in.Scale.Type != Categorical || len(in.Scale.PassLabels) > 0
}

// passes reports whether scores pass or fail.
func (in *Input) passes() bool {
	switch {
	case in.Kind == Preference:
		return false
	case in.Scale.Type == Binary:
		return true
	case in.Scale.Type == Categorical:
		return len(in.Scale.PassLabels) > 0
	}
	return in.Scale.PassAt != nil
}

// normalize is the score of a value, NaN for none.
func (in *Input) normalize(value float64) float64 {
	switch {
	case math.IsNaN(value) || in.Kind == Preference || in.Scale.Type == Binary:
		return value
	case in.Scale.Type == Categorical:
		switch {
		case !in.scored():
			return math.NaN()
		case slices.Contains(in.Scale.PassLabels, int(value)):
			return 1
		}
		return 0
	}
	low, high := in.Scale.ends()
	return (value - low) / (high - low)
}

// rounding is how far sums of scores may be off.
const rounding = 1e-9

// pass is whether a score passes; nil if it neither passes nor fails, such as half a pass.
func (in *Input) pass(score float64) *bool {
	if math.IsNaN(score) || !in.passes() {
		return nil
	}
	limit := .5
	if in.Scale.PassAt != nil && (in.Scale.Type == Ordinal || in.Scale.Type == Numeric) {
		limit = in.normalize(*in.Scale.PassAt)
	} else if math.Abs(score-limit) < rounding {
		return nil
	}
	passed := score >= limit-rounding
	return &passed
}

// label is the name of a value; empty for numbers and for none.
func (in *Input) label(value float64) string {
	switch {
	case math.IsNaN(value):
		return ""
	case in.Kind == Preference:
		return map[float64]string{0: "a", .5: "tie", 1: "b"}[value]
	case in.Scale.Type == Binary:
		return map[float64]string{0: "fail", 1: "pass"}[value]
	case len(in.Scale.Labels) > 0 && in.Scale.Type != Numeric && value == math.Trunc(value):
		return in.Scale.Labels[int(value)]
	}
	return ""
}
