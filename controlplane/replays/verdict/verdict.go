// Package verdict says whether an edit of a replayed run had an effect.
//
// An agent that runs twice seldom takes the same steps. So a difference between a recorded run and its edited replay says nothing; what
// says something is whether edited replays (treatments) differ from unedited ones (controls) more than these differ from each other.
// [Of] judges an edit of one run, [Stratified] the same edit of many runs.
//
// Both take any input. Nothing that they return is NaN or infinite, and an unknown figure is nil with a flag that says why, never 0. The
// same input gives the same bytes of JSON, and the order of attempts does not matter. docs/statistics.md says in plain words what each
// verdict means.
//
// # The verdict
//
// The first row that holds is the verdict. Gates come first; a claim that an edit has no effect comes after all that would make it
// worthless.
//
//   - [Invalid]: the input contradicts itself; the recording or the engine is at fault ([Input.Integrity], a difference outside of the
//     steps downstream of the edit where a prefix was copied, a live call or a control that differs in a [Cassette]); no treatment
//     finished, or none got to the edited step; nothing is known of what attempts did; or more than half of the downstream calls have similar or stale results.
//   - [DeterministicNoEffect], [DeterministicEffect]: it is proven, or no treatment made a live downstream call. What
//     differs then comes from the edit by construction. No controls are needed. If more than a tenth of the results are similar or
//     stale ones, then what differs is [EffectLikely] only. If the recording proves that a call fails and ends there
//     ([Input.Failure]), then the effect is on that call and the next request, and what comes after is unknown.
//   - [EffectAttributable]: p after Holm's correction is at most alpha for a channel, with three controls or more.
//   - [EffectLikely]: the same, but the surroundings changed, today's controls no longer reproduce the recording, more than a tenth
//     of the results are tainted, or some attempts were made at another time and nobody knows by which version of the model. Or the design can show nothing, but all controls decided alike, and all treatments alike and
//     otherwise: this needs three controls, two treatments, and a chance below alpha for any agent without an effect.
//   - [Drift]: today's controls measurably no longer reproduce the recording. A changed fingerprint alone is no such measurement.
//   - [Underpowered]: less than three controls finished, or the smallest p that the design can reach is above alpha after correction.
//     Also if there is a hint that is not enough: p of outcome, structure or answer is at most alpha before correction only, or
//     treatments are farther from the controls than any control is, and the outcome's bound does not hold.
//   - [NoEffectDetected]: the interval at 1-2 alpha of the difference of outcomes is within delta. If outcomes are unknown, then the
//     interval at 1-alpha of the energy of each known distance ends below delta times the mean distance of controls: E grows with the
//     square of the share of runs that changed, so that delta means about the same share. And at each step the interval at 1-2 alpha of the
//     difference of shares of runs that decide something is within delta. Distances never overrule known outcomes.
//   - [WithinNoise]: everything else.
//
// # Attempts of other times
//
// Controls may be those of an earlier replay, and attempts may be added later. Costs and durations are compared only within a batch, whose
// attempts were made together. Attempts that were made apart from the other role do not count if another model or version answered them.
//
// # Corrections
//
// Alpha is spent over the looks at a replay ([Verdict.Alpha]). Intervals and bounds have the level of the look, too.
//
// Holm's correction is over the channels outcome, structure, answer, cost and latency. Tokens stand in where no cost can be compared. A channel
// whose values could not be significant with any labels does not count, because it cannot be a false finding.
package verdict

import (
	"github.com/looptrace/looptrace/controlplane/stats"
)

// Kind is a verdict in a word.
type Kind string

// Verdicts.
const (
	Invalid               Kind = "invalid"
	DeterministicNoEffect Kind = "deterministic_no_effect"
	DeterministicEffect   Kind = "deterministic_effect"
	EffectAttributable    Kind = "effect_attributable"
	EffectLikely          Kind = "effect_likely"
	NoEffectDetected      Kind = "no_effect_detected"
	WithinNoise           Kind = "within_noise"
	Underpowered          Kind = "underpowered"
	Drift                 Kind = "drift"
)

// Reason is why a verdict is what it is, or what to mind about it. Text is a sentence.
type Reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Verdict is what is known about the effect of an edit.
type Verdict struct {
	Verdict  Kind     `json:"verdict"`
	Sentence string   `json:"sentence"`
	Reasons  []Reason `json:"reasons"`
	// K and M are the controls and treatments that count.
	K           int        `json:"k"`
	M           int        `json:"m"`
	AttainableP Attainable `json:"attainable_p"`
	Channels    Channels   `json:"channels"`
	// Reproducibility is how often controls do the same as the recording.
	Reproducibility Reproducibility `json:"reproducibility"`
	Drift           DriftResult     `json:"drift"`
	Exposure        ExposureResult  `json:"exposure"`
	// FirstAttributableStep is the first one at which treatments differ from controls, given that an effect was found.
	FirstAttributableStep *Place `json:"first_attributable_step"`
	// MoreReplaysNeeded is beside an underpowered verdict: for a clear effect to be significant, or where there is a hint, for an effect as
	// large as it looks to be found in 80% of cases. Nil if nobody can tell.
	MoreReplaysNeeded *Design `json:"more_replays_needed"`
	// Alpha is the level of this look: four fifths of that of all looks at the first one, and half of what is left at each later one. So
	// whoever adds replays until there is an effect is misled no more often than the level of all looks.
	Alpha float64 `json:"alpha"`
	// Looks are the looks at this replay so far that could have found an effect, with this one if it could.
	Looks int `json:"looks"`
	// Runs is only of [Stratified].
	Runs *Runs `json:"-"`

	// scope is what changed, where the recording does not say what came after. Empty if the verdict is about all of the run.
	scope string
	// delta is the change of outcomes that is no matter.
	delta float64
}

// Attainable is the smallest p that a design can reach after the correction. Nil without controls or treatments.
type Attainable struct {
	After *float64 `json:"after"`

	// before is without the correction. channels are those that were tested, or if the design is too small for any test, those that a
	// larger one would test.
	before   *float64
	channels int
}

// Channels are the sides on which an effect may show.
type Channels struct {
	Outcome   Channel `json:"outcome"`
	Structure Channel `json:"structure"`
	Answer    Channel `json:"answer"`
	Cost      Channel `json:"cost"`
	Latency   Channel `json:"latency"`
	Tokens    Channel `json:"tokens"`
}

// Test is how the p value of a channel was found.
type Test string

// Tests.
const (
	// Fisher is [stats.FisherExact], of successes.
	Fisher Test = "fisher_exact"
	// Means is [stats.GroupMeans], of scores.
	Means Test = "permutation_of_means"
	// Logs is [stats.GroupMeans] of logarithms.
	Logs Test = "permutation_of_log_means"
	// Energy is [stats.EnergyTest].
	Energy Test = "energy_permutation"
)

// Measure is the unit of an effect.
type Measure string

// Measures: the difference of means, the ratio of geometric means, and [stats.MeanDistances.Energy].
const (
	Difference Measure = "difference"
	Ratio      Measure = "ratio"
	Distance   Measure = "energy_distance"
)

// Flags beside those of package stats.
const (
	// Unknown: no control or no treatment has a value. PartlyUnknown: some have none, and do not count.
	Unknown       stats.Flag = "unknown"
	PartlyUnknown stats.Flag = "partly_unknown"
	// NotTested: the verdict needs no test.
	NotTested stats.Flag = "not_tested"
	// CannotBeSignificant: whatever the labels, these values are not; the channel is outside of the correction.
	CannotBeSignificant stats.Flag = "cannot_be_significant"
	// BesideCost: tokens are tested where nothing is known of the cost.
	BesideCost stats.Flag = "beside_cost"
	// MadeApart: some attempts have values, but were made at another time than those of the other role, and do not count.
	MadeApart stats.Flag = "made_apart"
)

// Channel is the effect on one side.
type Channel struct {
	P         *float64 `json:"p"`
	PAdjusted *float64 `json:"p_adjusted"`
	Test      Test     `json:"test"`
	Measure   Measure  `json:"measure"`
	// Effect is of treatments against controls, with its interval at 1-alpha.
	Effect     *float64        `json:"effect"`
	CI         *stats.Interval `json:"ci"`
	Controls   Side            `json:"controls"`
	Treatments Side            `json:"treatments"`
	// Flags say why a figure is nil, or what to mind.
	Flags []stats.Flag `json:"flags"`

	// least is the smallest p that the values can have. inside says that the interval at 1-2 alpha keeps the bound.
	least  *float64
	inside bool
	// detect computes detectable, which is the true effect that is found in 80% of cases, with the level of the channel after correction.
	// Only of outcomes; nil if even the largest would not be found.
	detect     func(level float64) *float64
	detectable *float64
	// across is the mean distance of a control and a treatment; only of distances.
	across *float64
	// farther says that the mean treatment is farther from the controls than any control is.
	farther bool
}

// Side is one of the two groups. Mean is that of scores, the geometric one of amounts, or the mean distance between two of the group.
type Side struct {
	Mean *float64 `json:"mean"`
	N    int      `json:"n"`
}

// Place is a step.
type Place struct {
	// Position is its place among the steps, from 0.
	Position int    `json:"position"`
	ID       string `json:"id"`
	Name     string `json:"name"`
}

// Class is how far a recording can be reproduced.
type Class string

// Classes. Stable: all bytes of all controls; DecisionStable: all decisions; OutcomeStable: all outcomes.
const (
	ExactByConstruction Class = "exact_by_construction"
	Stable              Class = "stable"
	DecisionStable      Class = "decision_stable"
	OutcomeStable       Class = "outcome_stable"
	Unstable            Class = "unstable"
)

// Reproducibility is how often controls do what the recording did. Class is nil if nothing is known.
type Reproducibility struct {
	Class *Class `json:"class"`
}

// DriftResult is whether today's controls still reproduce the recording. Flag is set if that is measured, or if the surroundings changed.
type DriftResult struct {
	Flag bool `json:"flag"`
	// Measured: the recording is farther from the controls than any of them from the others, and the ratio is above 1.5, or above 3 with
	// fewer than 10 controls. Nil if unknown, as with fewer than 5.
	Measured *bool    `json:"measured"`
	Changed  []string `json:"changed"`

	// ratio is the mean distance of the recording and a control to that of two controls, nil if that is 0.
	ratio *float64
}

// ExposureResult is how much of what came after the edit was called, and how much was made up. The shares are of downstream calls of the
// attempts that count, the larger one of both roles; nil if there are no calls.
type ExposureResult struct {
	LiveShare  *float64 `json:"live_share"`
	TaintShare *float64 `json:"taint_share"`
}

// Runs counts the runs of one edit: those that count, those that were decided without a model, and those that are left out.
type Runs struct {
	Counted, DeterministicEffect, DeterministicNoEffect, LeftOut int
	LeftOutReasons                                               []Reason
}
