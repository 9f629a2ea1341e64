package panel

import (
	"math"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// Reason is why an output has no score.
type Reason string

// Reasons.
const (
	// NotJudged: no judge was asked, since there is no output.
	NotJudged Reason = "not_judged"
	// TooFewVotes: less than half of the judges gave a valid vote.
	TooFewVotes Reason = "too_few_votes"
	// Tie: two values have equally many votes.
	Tie Reason = "tie"
)

// OutputScore is what the panel says of an output.
type OutputScore struct {
	// Score is from 0 to 1; nil for none, for which Reason says why, and for categories that do not pass or fail.
	Score *float64 `json:"score"`
	// Value is the number on the scale, or the place of the category, as in [Vote]; nil for none.
	Value *float64 `json:"value"`
	// Label is the name of the category, empty for none and for numbers.
	Label  string `json:"label"`
	Pass   *bool  `json:"pass"`
	Reason Reason `json:"reason"`
	// Split reports whether the judges split, Escalated whether the escalation decided.
	Split     bool `json:"split"`
	Escalated bool `json:"escalated"`
	// Judges counts those that make the score, Valid those of them with a valid vote.
	Judges int `json:"judges"`
	Valid  int `json:"valid"`
	// People is what people say of the output, from 0 to 1; nil without labels.
	People *float64 `json:"-"`
}

// verdict is an [OutputScore] with NaN for none.
type verdict struct {
	score, value     float64
	reason           Reason
	split, escalated bool
	valid            int
}

func noVerdict(reason Reason) verdict {
	return verdict{score: math.NaN(), value: math.NaN(), reason: reason}
}

// ofValue is the verdict of a value.
func (in *Input) ofValue(value float64) verdict {
	return verdict{score: in.normalize(value), value: value}
}

// ofScore is the verdict of a score, on a scale with an order. Half a pass is neither of both.
func (in *Input) ofScore(score float64) verdict {
	v := verdict{score: max(0, min(1, score)), value: in.Scale.Number(score)}
	if in.Scale.Type == Binary {
		switch {
		case math.Abs(score-.5) < rounding:
			v.value = math.NaN()
		case score > .5:
			v.value = 1
		default:
			v.value = 0
		}
	}
	return v
}

// Splits reports whether judges with these values split, so that an escalation is asked: on a nominal or binary scale, or for a
// preference, if two values differ; else if they are apart by half of the scale or more, or if one passes and one fails. NaN is a
// missing value.
func (in *Input) Splits(values []float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low >= high { // or none
		return false
	}
	if in.nominal() {
		return true
	}
	first, last := in.normalize(low), in.normalize(high)
	if last-first >= .5-rounding {
		return true
	}
	a, b := in.pass(first), in.pass(last)
	return a != nil && b != nil && *a != *b
}

// decide is the verdict of the values of judges, NaN for none.
func (in *Input) decide(values []float64) verdict {
	valid := 0
	for _, v := range values {
		if !math.IsNaN(v) {
			valid++
		}
	}
	v := noVerdict(TooFewVotes)
	if valid > 0 && 2*valid >= len(values) {
		v = in.aggregate(values)
	}
	v.valid, v.split = valid, in.Splits(values)
	return v
}

// aggregate is the verdict of values of which one is there.
func (in *Input) aggregate(values []float64) verdict {
	if in.Aggregate == Majority {
		if value := in.majority(values); !math.IsNaN(value) {
			return in.ofValue(value)
		}
		return noVerdict(Tie)
	}
	scores := make([]float64, len(values))
	for i, v := range values {
		scores[i] = in.normalize(v)
	}
	score := stats.Mean(scores)
	if in.Aggregate == Minimum {
		score = stats.Minimum(scores)
	}
	return in.ofScore(number(score))
}

// decideAll are the verdicts of some judges on all outputs, without what an escalation decides.
func (t *table) decideAll(judges []int) []verdict {
	verdicts := make([]verdict, len(t.Outputs))
	values := make([]float64, len(judges))
	for o := range t.Outputs {
		if !t.judged[o] {
			verdicts[o] = noVerdict(NotJudged)
			continue
		}
		for i, j := range judges {
			values[i] = t.values[j][o]
		}
		verdicts[o] = t.decide(values)
	}
	return verdicts
}

// stored are the verdicts of an aggregate that was removed.
func (t *table) stored() []verdict {
	verdicts := make([]verdict, len(t.Outputs))
	for o, s := range t.Stored {
		switch {
		case !t.judged[o]:
			verdicts[o] = noVerdict(NotJudged)
			continue
		case s.Score == nil && s.Value == nil && s.Reason == "":
			s.Reason = TooFewVotes
		}
		verdicts[o] = verdict{score: number(stats.Value{Value: s.Score}), value: number(stats.Value{Value: s.Value}), reason: s.Reason, split: s.Split, escalated: s.Escalated, valid: s.Valid}
	}
	return verdicts
}

// escalated are verdicts with those that the escalation decides where the judges split and it gave a valid vote.
func (t *table) escalated(verdicts []verdict) []verdict {
	if t.escalation < 0 {
		return verdicts
	}
	final := make([]verdict, len(verdicts))
	for o, v := range verdicts {
		final[o] = v
		if value := t.values[t.escalation][o]; v.split && !math.IsNaN(value) {
			final[o] = t.ofValue(value)
			final[o].valid, final[o].split, final[o].escalated = v.valid, true, true
		}
	}
	return final
}

// outputScore is a verdict for others.
func (t *table) outputScore(v verdict) OutputScore {
	return OutputScore{
		Score: pointer(v.score), Value: pointer(v.value), Label: t.label(v.value), Pass: t.pass(v.score), Reason: v.reason,
		Split: v.split, Escalated: v.escalated, Judges: len(t.members), Valid: v.valid,
	}
}
