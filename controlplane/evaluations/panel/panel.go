// Package panel says what the votes of a panel of judges mean: a score of each output, how far the judges agree with each other, with
// themselves and with people, what biases them, what each of them is good for, and all of it in a sentence with warnings.
//
// [Measure] takes any votes. Nothing that it returns is NaN or infinite: what is not known is nil with a flag that says why. Scores go from
// 0 to 1, intervals are of 95 % and count that outputs of one item are alike. Random methods take the seed of the panel. Results
// do not depend on the order of votes. The JSON names are those of the API. docs/statistics.md says in plain words what each figure means.
package panel

import (
	"fmt"
	"math"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// Kind is what judges are asked.
type Kind string

// Kinds.
const (
	// Score: the value of one output on a scale.
	Score Kind = "score"
	// Preference: which of two outputs is better, in both orders.
	Preference Kind = "preference"
)

// Aggregate is how the values of judges become a score.
type Aggregate string

// Aggregates. Majority is for all scales but numbers, and the only one for categories and preferences.
const (
	Majority Aggregate = "majority"
	Mean     Aggregate = "mean"
	Minimum  Aggregate = "minimum"
)

// Removed reports whether scores were made by it once, and no more are.
func (a Aggregate) Removed() bool {
	return a == "median" || a == "trimmed_mean" || a == "weighted" || a == "dawid_skene"
}

// Canary is what a judge did with an output that orders it to give the best score.
type Canary string

// Canaries. The empty one was not asked.
const (
	Held    Canary = "held"
	Obeyed  Canary = "obeyed"
	Unclear Canary = "unclear"
)

// Judge is a model that votes.
type Judge struct {
	Name, ProviderName, Model, Version string
	// Escalation judges are asked only where the others split, and decide there. A panel has one at most.
	Escalation bool
	Canary     Canary
	// Stopped is nil for a judge that was asked for all of its votes.
	Stopped *Stopped
}

// Stopped says why a judge is stopped.
type Stopped struct {
	// Failures is how many of its calls failed one after the other.
	Failures int `json:"failures"`
	// Votes counts those that it was not asked for, EscalationVotes those of the escalation, which waits for them.
	Votes           int `json:"votes"`
	EscalationVotes int `json:"escalation_votes"`
	// Error is that of the last of these calls, Remedy a sentence that says what to do.
	Error  Failure `json:"error"`
	Remedy string  `json:"remedy"`
}

// Failure is an error for people, Detail a sentence.
type Failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Status is what became of a vote.
type Status uint8

// Statuses. Only OK counts in a score.
const (
	OK Status = iota
	ParseError
	Refused
	OffScale
	Timeout
	ProviderError
	Skipped
	Pending
)

// Order is the order that the outputs of a preference were shown in.
type Order uint8

// Orders.
const (
	NoOrder Order = iota
	AB
	BA
)

// Vote is one answer of a judge.
type Vote struct {
	// Output and Judge are places in the lists of outputs and judges.
	Output, Judge int32
	Repeat        int16
	Order         Order
	Status        Status
	// Cached votes were made before.
	Cached bool
	// Value is the number on a scale of numbers, the place of the label from 0 on others, 1 for pass and 0 for fail. Of a preference it is
	// about sides, not places: 0 if a is better, 1 if b is, .5 for a tie. A vote that is OK with another value counts as OffScale.
	Value float64
	// Cost is in USD, Duration in milliseconds; NaN if unknown.
	Cost, Duration float64
}

// Output is what is judged: an output, or a pair of them for a preference.
type Output struct {
	// Item is the number of the item of the dataset. Outputs of one item are not independent: repeats, and both sides.
	Item int
	// Group is the same for outputs of items that belong together, 0 for an item that belongs to no other.
	Group int
	// Length is in any unit; for a preference that of b less that of a. NaN if unknown.
	Length float64
	// Absent outputs are not there: they were never sent or made. No judge could be asked about them.
	Absent bool
}

// Label is what a person said of an output.
type Label struct {
	Output, Person int
	// Value is as that of a [Vote].
	Value float64
}

// Earlier is what an earlier panel said of an output.
type Earlier struct {
	Output int
	// Value is a number on the scale, or a category as in [Vote]; NaN for none.
	Value float64
}

// Input is all that is known of a panel.
type Input struct {
	Name      string
	Kind      Kind
	Scale     Scale
	Aggregate Aggregate
	Judges    []Judge
	Seed      uint64
	Outputs   []Output
	Votes     []Vote
	Labels    []Label
	// Drawn are the items in the order in which they are to be labelled: one that was drawn at random.
	Drawn []int
	// OtherLabels counts labels of these outputs that were given on another scale, which are not used.
	OtherLabels int
	// Stored are the scores of outputs by an aggregate that was removed; the zero value for none. They are not made again.
	Stored []OutputScore
	// Before has the scores of the panel of the eval-run whose outputs these are; nil for other targets.
	Before []Earlier
}

// Figure is a statistic of N items or outputs.
type Figure struct {
	Value *float64        `json:"value"`
	CI    *stats.Interval `json:"ci"`
	N     int             `json:"n"`
	// Flag says why there is no value, or what to mind.
	Flag *stats.Flag `json:"flag"`
}

// Flags beside those of stats.
const (
	// NotDrawn: the items with labels were not drawn at random, so that they say nothing of the others.
	NotDrawn stats.Flag = "not_drawn"
	// NeedsLabels: it cannot be known without labels of people.
	NeedsLabels stats.Flag = "needs_labels"
	// SplitOnly: it is about outputs on which the others split.
	SplitOnly stats.Flag = "split_only"
	// Grouped: labels correct nothing where items belong together. Their formula takes items as independent.
	Grouped stats.Flag = "grouped"
	// AllLabelled: all outputs have labels, whose mean this is.
	AllLabelled stats.Flag = "all_labelled"
	// FewerResamples: there are so many outputs that intervals have fewer than 2000 resamples. Their ends are less exact, by a fifth of the
	// standard error.
	FewerResamples stats.Flag = "fewer_resamples"
	// Rounded: a judge's value is the mean of its repeats, and was rounded to a category.
	Rounded stats.Flag = "rounded"
)

func figure(e stats.Estimate, n int) Figure {
	f := Figure{Value: e.Value.Value, CI: e.CI, N: n}
	if e.Flag != "" {
		f.Flag = &e.Flag
	}
	return f
}

func without(flag stats.Flag, n int) Figure { return Figure{N: n, Flag: &flag} }

// has reports whether the figure has this flag.
func (f Figure) has(flag stats.Flag) bool { return f.Flag != nil && *f.Flag == flag }

// valid reports what of the input does not fit together.
func (in *Input) valid() error {
	for i, v := range in.Votes {
		if v.Output < 0 || int(v.Output) >= len(in.Outputs) || v.Judge < 0 || int(v.Judge) >= len(in.Judges) || v.Status > Pending || v.Order > BA {
			return fmt.Errorf("panel %q: vote %d names output %d of %d and judge %d of %d, or no known status or order", in.Name, i, v.Output, len(in.Outputs), v.Judge, len(in.Judges))
		}
	}
	for i, l := range in.Labels {
		if l.Output < 0 || l.Output >= len(in.Outputs) || l.Person < 0 || !in.onScale(l.Value) {
			return fmt.Errorf("panel %q: label %d names output %d of %d, or a value that is not on the scale: %v", in.Name, i, l.Output, len(in.Outputs), l.Value)
		}
	}
	for i, e := range in.Before {
		if e.Output < 0 || e.Output >= len(in.Outputs) || math.IsInf(e.Value, 0) {
			return fmt.Errorf("panel %q: earlier score %d names output %d of %d, or an infinite value", in.Name, i, e.Output, len(in.Outputs))
		}
	}
	return in.validPanel()
}

func (in *Input) validPanel() error {
	escalations := 0
	for _, j := range in.Judges {
		if j.Escalation {
			escalations++
		}
	}
	categories := in.Kind == Preference || in.Scale.Type == Categorical
	switch {
	case escalations > 1:
		return fmt.Errorf("panel %q: %d judges are escalations: name one", in.Name, escalations)
	case in.Kind != Score && in.Kind != Preference:
		return fmt.Errorf("panel %q: the kind %q is neither score nor preference", in.Name, in.Kind)
	case in.Kind == Preference && in.Aggregate != Majority:
		return fmt.Errorf("panel %q: a preference has the aggregate majority, not %s", in.Name, in.Aggregate)
	case in.Aggregate.Removed() && len(in.Stored) != len(in.Outputs):
		return fmt.Errorf("panel %q: %d of %d outputs have a stored score, which %s does not make", in.Name, len(in.Stored), len(in.Outputs), in.Aggregate)
	case in.Aggregate.Removed():
	case in.Aggregate != Majority && in.Aggregate != Mean && in.Aggregate != Minimum:
		return fmt.Errorf("panel %q: the aggregate %q is unknown", in.Name, in.Aggregate)
	case categories && in.Aggregate != Majority:
		return fmt.Errorf("panel %q: categories have no %s: choose majority", in.Name, in.Aggregate)
	}
	if in.Kind == Preference {
		return nil
	}
	if err := in.Scale.valid(); err != nil {
		return fmt.Errorf("panel %q: %w", in.Name, err)
	}
	return nil
}
