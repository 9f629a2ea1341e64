package batches

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/replays/verdict"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// Result is what a batch shows.
type Result struct {
	Sentence string      `json:"sentence"`
	Chosen   PartResult  `json:"chosen"`
	Good     *PartResult `json:"good"` // nil without good runs
	// Looks are the looks at this batch so far that could have found an effect, with this one if it could.
	Looks int                      `json:"looks"`
	Cost  providers.EvaluationCost `json:"cost"`
}

// BatchVerdict is whether more attempts end well with the edit than without it.
type BatchVerdict string

// The verdicts. Unknown is that of a part without outcomes.
const (
	Better     BatchVerdict = "better"
	Worse      BatchVerdict = "worse"
	CannotTell BatchVerdict = "cannot_tell"
	Unknown    BatchVerdict = "unknown"
)

// PartResult is what the runs of a part show.
type PartResult struct {
	Verdict BatchVerdict `json:"verdict"`
	// Edited and Unedited are the attempts of which it is known how they ended.
	Edited   AttemptEnds `json:"edited"`
	Unedited AttemptEnds `json:"unedited"`
	// Difference is the mean over runs of the share of edited attempts that end well less that of unedited ones, with its interval.
	Difference *float64        `json:"difference"`
	CI         *stats.Interval `json:"ci"`
	Confidence float64         `json:"confidence"`
	// Runs counts runs by what became of them.
	Runs map[RunOutcome]int `json:"runs"`
	// Effect is the verdict over all channels, of which Difference is that of outcomes.
	Effect verdict.Verdict `json:"effect"`
}

// AttemptEnds counts attempts. Sum is that of their outcomes: with a grader that passes or fails, how many end well.
type AttemptEnds struct {
	Attempts int     `json:"attempts"`
	Sum      float64 `json:"sum"`
}

func (e *AttemptEnds) add(outcome float64) {
	e.Attempts++
	e.Sum += outcome
}

// endsWell is the outcome from which an attempt ends well.
const endsWell = 0.5

// ends returns the edited and unedited attempts that have an outcome, and how many of them end well.
func ends(in *verdict.Input) (edited, unedited AttemptEnds, editedWell, uneditedWell int) {
	for i := range in.Attempts {
		a := &in.Attempts[i]
		if a.Unfinished != "" || a.Outcome == nil {
			continue
		}
		well := 0
		if *a.Outcome >= endsWell {
			well = 1
		}
		if a.Role == verdict.Treatment {
			edited.add(*a.Outcome)
			editedWell += well
		} else {
			unedited.add(*a.Outcome)
			uneditedWell += well
		}
	}
	return edited, unedited, editedWell, uneditedWell
}

// outcomeOf says what became of a run.
func outcomeOf(part Part, in *verdict.Input) RunOutcome {
	edited, unedited, editedWell, uneditedWell := ends(in)
	switch {
	case edited.Attempts == 0 || unedited.Attempts == 0:
		return OutcomeUnknown
	case editedWell > 0 && editedWell < edited.Attempts:
		return Mixed
	}
	switch all := editedWell > 0; {
	case part == Chosen && !all:
		return StillFailing
	case part == Chosen && uneditedWell > 0:
		return RecoversUnedited
	case part == Chosen:
		return Repaired
	case all:
		return Kept
	case uneditedWell == unedited.Attempts:
		return Broken
	}
	return FailsUnedited
}

// resultOf says what the evidence shows.
func resultOf(evidence map[Part][]verdict.Input, counts map[Part]map[RunOutcome]int, graded bool, cost providers.EvaluationCost) *Result {
	r := &Result{Chosen: partOf(evidence[Chosen], counts[Chosen]), Cost: cost}
	r.Looks = r.Chosen.Effect.Looks
	texts := []string{r.Chosen.repairs(graded)}
	if len(counts[Good]) > 0 {
		r.Good = new(partOf(evidence[Good], counts[Good]))
		texts = append(texts, r.Good.breaks())
	}
	r.Sentence = strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " ")
	return r
}

func partOf(evidence []verdict.Input, counts map[RunOutcome]int) PartResult {
	p := PartResult{Verdict: Unknown, Runs: counts, Effect: verdict.Stratified(evidence)}
	for i := range evidence {
		edited, unedited, _, _ := ends(&evidence[i])
		if edited.Attempts == 0 || unedited.Attempts == 0 { // it is not compared
			continue
		}
		p.Edited.Attempts, p.Edited.Sum = p.Edited.Attempts+edited.Attempts, p.Edited.Sum+edited.Sum
		p.Unedited.Attempts, p.Unedited.Sum = p.Unedited.Attempts+unedited.Attempts, p.Unedited.Sum+unedited.Sum
	}
	c := &p.Effect.Channels.Outcome
	p.Difference, p.CI, p.Confidence = c.Effect, c.CI, 1-p.Effect.Alpha
	if p.Difference == nil {
		return p
	}
	p.Verdict = CannotTell
	found := c.PAdjusted != nil && *c.PAdjusted <= p.Effect.Alpha && p.CI != nil &&
		(p.Effect.Verdict == verdict.EffectAttributable || p.Effect.Verdict == verdict.EffectLikely)
	switch {
	case found && p.CI[0] > 0:
		p.Verdict = Better
	case found && p.CI[1] < 0:
		p.Verdict = Worse
	}
	return p
}

// figures are the attempts of both roles, never one without the other: chosen runs failed, so that some end well unedited.
func (p *PartResult) figures() string {
	if p.Edited.Sum == math.Trunc(p.Edited.Sum) && p.Unedited.Sum == math.Trunc(p.Unedited.Sum) {
		return fmt.Sprintf("with the edit %.0f of %d attempts end well, unedited %.0f of %d", p.Edited.Sum, p.Edited.Attempts, p.Unedited.Sum, p.Unedited.Attempts)
	}
	return fmt.Sprintf("with the edit the mean outcome of %d attempts is %.2f, unedited %.2f of %d",
		p.Edited.Attempts, p.Edited.Sum/float64(p.Edited.Attempts), p.Unedited.Sum/float64(p.Unedited.Attempts), p.Unedited.Attempts)
}

// interval is that of the difference, in points.
func (p *PartResult) interval() string {
	if p.CI == nil {
		return "the difference has no interval"
	}
	return fmt.Sprintf("difference %s to %s points", points(p.CI[0]), points(p.CI[1]))
}

// points writes a share with one digit after the point, as the page does.
func points(share float64) string {
	text := strconv.FormatFloat(math.Abs(math.Round(share*1000)/10), 'f', -1, 64)
	switch {
	case text == "0":
		return text
	case share < 0:
		return "−" + text
	}
	return "+" + text
}

// repairs says whether the edit repairs the chosen runs.
func (p *PartResult) repairs(graded bool) string {
	text := ""
	switch p.Verdict {
	case Better:
		text = fmt.Sprintf("The edit repairs failed runs: %s (%s).", p.figures(), p.interval())
	case Worse:
		text = fmt.Sprintf("With the edit fewer attempts end well: %s (%s).", p.figures(), p.interval())
	case CannotTell:
		text = fmt.Sprintf("Whether the edit repairs failed runs cannot be told: %s (%s).", p.figures(), p.interval())
	case Unknown:
		text = "Whether the edit repairs failed runs is unknown: no run has an outcome both with and without it."
		if !graded {
			text = "Whether the edit repairs failed runs is unknown: the batch has no grader of outcomes."
		}
	}
	switch {
	case p.Verdict == Unknown || p.Effect.Verdict == verdict.Drift:
		text += " " + p.Effect.Sentence
	case p.Effect.Verdict == verdict.EffectLikely:
		texts := []string{text}
		for _, r := range p.Effect.Reasons {
			if slices.Contains(doubts, r.Code) {
				texts = append(texts, r.Text)
			}
		}
		text = strings.Join(texts, " ")
	}
	return text + p.leftOut("chosen")
}

// doubts are the codes of reasons why an effect is likely only.
var doubts = []string{"drift", "changed_since_recording", "tainted", "version_unknown"}

// breaks says what the edit does to runs that ended well.
func (p *PartResult) breaks() string {
	text := "What it does to good runs is unknown."
	switch p.Verdict {
	case Worse:
		text = fmt.Sprintf("It breaks good runs: %s (%s).", p.figures(), p.interval())
	case Better, CannotTell:
		text = fmt.Sprintf("Of good runs %s (%s)", p.figures(), p.interval())
		if p.CI != nil && p.CI[0] < 0 {
			text += fmt.Sprintf(": it breaks at most %.0f%% of attempts", math.Round(-p.CI[0]*100))
		}
		text += "."
	case Unknown:
	}
	return text + p.leftOut("good")
}

// leftOut says how many runs are not compared.
func (p *PartResult) leftOut(part string) string {
	all := 0
	for _, n := range p.Runs {
		all += n
	}
	text := ""
	if n := p.Runs[NotReplayable]; n > 0 {
		text += fmt.Sprintf(" %d of %d %s runs cannot be replayed.", n, all, part)
	}
	if n := p.Runs[OutcomeUnknown]; n > 0 && p.Verdict != Unknown {
		text += fmt.Sprintf(" Of %d of %d %s runs the outcome is unknown.", n, all, part)
	}
	return text
}
