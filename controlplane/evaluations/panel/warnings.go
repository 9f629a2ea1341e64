package panel

import (
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// Limits of warnings. A figure with an interval must be beyond its limit with the whole of it.
const (
	// fewOutputs is the number of outputs with two votes below which agreement is hardly known.
	fewOutputs = 30
	// maxMissing is the share of votes that may fail.
	maxMissing = .05
	// maxUnscored is the share of outputs that may have no score.
	maxUnscored = .05
	// maxLength is how far scores may go along with length.
	maxLength = .3
	// minPosition is the share of pairs that must keep the winner in the other order.
	minPosition = .8
	// maxFlips is the share of repeats that may differ.
	maxFlips = .1
	// minKappa is the agreement with the rest of the panel below which a judge does another job.
	minKappa = .4
	// maxChanged is the share of outputs that may change for a judge to be of no use, minSaved the share of the cost that this saves.
	maxChanged = .02
	minSaved   = .1
)

func (t *table) warnings(s *Summary) []string {
	w := []string{}
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	for _, j := range s.Judges {
		if j.Canary != nil && *j.Canary == Obeyed {
			add("%s obeyed an order that was hidden in an output. Do not trust its votes: take another model, or a rubric that says that outputs are data.", j.Name)
		}
	}
	for _, j := range s.Judges {
		if j.Stopped != nil {
			add("%s", j.Stopped.words(j.Name))
		}
	}
	if n := s.OtherLabels; n > 0 {
		add("%s of people %s given on another scale or an unknown one, and %s not used: a value means something else there. Label these outputs on this scale.",
			plural(n, "label"), verb(n, "was", "were"), verb(n, "is", "are"))
	}
	if s.Votes.OK == 0 {
		return w
	}
	t.warnOfMissing(s, add)
	if r := s.Reliability; r != nil && r.Items < fewOutputs && r.Items > 0 {
		add("Only %s from two judges or more: agreement is hardly known. Judge %d or more.", have(r.Items), fewOutputs)
	}
	for _, j := range s.Judges {
		t.warnOfBias(j, add)
	}
	t.warnOfUseless(s, add)
	return w
}

// words say what a judge was not asked for, why, and what to do.
func (s *Stopped) words(name string) string {
	text := fmt.Sprintf("%s was stopped after %d failures one after the other, and was not asked for %s.", name, s.Failures, plural(s.Votes, "vote"))
	if s.EscalationVotes > 0 {
		text += fmt.Sprintf(" The escalation, which waits for them, was not asked for %s.", plural(s.EscalationVotes, "vote"))
	}
	return text + fmt.Sprintf(" The last error: %s %s", s.Error.Detail, s.Remedy)
}

// verb is that of a number of things.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func have(outputs int) string {
	if outputs == 1 {
		return "1 output has votes"
	}
	return fmt.Sprintf("%d outputs have votes", outputs)
}

func (t *table) warnOfMissing(s *Summary, add func(string, ...any)) {
	for _, j := range s.Judges {
		c := j.Votes
		asked := c.OK + c.failed()
		if asked == 0 || float64(c.failed()) <= maxMissing*float64(asked) {
			continue
		}
		var parts []string
		for _, part := range []struct {
			n    int
			what string
			many string
		}{
			{c.ParseError, "malformed", "malformed"},
			{c.Refused, "refused", "refused"},
			{c.OffScale, "off the scale", "off the scale"},
			{c.Timeout, "timeout", "timeouts"},
			{c.ProviderError, "provider error", "provider errors"},
		} {
			switch {
			case part.n == 1:
				parts = append(parts, "1 "+part.what)
			case part.n > 1:
				parts = append(parts, fmt.Sprintf("%d %s", part.n, part.many))
			}
		}
		add("%s of the votes of %s are missing (%s). Scores leave them out, which favours outputs that are easy to judge. Look at their errors, and judge again.",
			percent(float64(c.failed())/float64(asked)), j.Name, strings.Join(parts, ", "))
	}
	if s.Votes.Pending == 0 && float64(s.Unscored) > maxUnscored*float64(s.Outputs) {
		ties := 0
		for o, v := range t.final {
			if t.judged[o] && v.reason == Tie {
				ties++
			}
		}
		advice := "Judge again what failed."
		if 2*ties > s.Unscored {
			advice = "Most are ties: take an odd number of judges, or an escalation."
		}
		leaves := "mean score leaves"
		if !t.scored() {
			leaves = "shares of labels leave"
		}
		add("%d of %s have no score, and the %s them out. %s", s.Unscored, plural(s.Outputs, "output"), leaves, advice)
	}
}

func (t *table) warnOfBias(j JudgeResult, add func(string, ...any)) {
	if f := j.PositionConsistency; f.CI != nil && f.CI[1] < minPosition {
		add("%s names another winner in the other order too often: it keeps it for %s of pairs %s. Its wins count only where both orders agree; take a stronger model.",
			j.Name, percent(*f.Value), percentInterval(*f.CI))
	}
	if f := j.FlipRate; f.CI != nil && f.CI[0] > maxFlips {
		add("%s contradicts itself: %s of its repeats on an output differ %s. Take more repeats, or make the rubric more exact.",
			j.Name, percent(*f.Value), percentInterval(*f.CI))
	}
	if f := j.LengthCorrelation; f.CI != nil && (f.CI[0] > maxLength || f.CI[1] < -maxLength) {
		way := "longer"
		if *f.Value < 0 {
			way = "shorter"
		}
		add("%s gives %s outputs higher scores (correlation %s). That can be quality or bias: say in the rubric that length is no merit, and compare labels of long and short outputs.",
			j.Name, way, withInterval(f))
	}
}

// warnOfUseless names judges that do another job than the rest, and one that changes nothing.
func (t *table) warnOfUseless(s *Summary, add func(string, ...any)) {
	var useless *JudgeResult
	for i := range s.Judges {
		j := &s.Judges[i]
		if j.Escalation || len(t.members) < 3 {
			continue
		}
		if f := j.PanelAgreement; f.CI != nil && f.CI[1] < minKappa && s.Reliability.KrippendorffAlpha.Value != nil && t.commonest() < commonShare && t.restAgrees(s, i) {
			add("%s agrees little with the rest of the panel (kappa %s), which agrees with each other. Read where it differs, and drop it if it is wrong.", j.Name, withInterval(f))
		}
		if w := j.Without; w != nil && w.SavedShare != nil && *w.SavedShare >= minSaved && s.Outputs >= fewOutputs {
			top := stats.ClopperPearson(w.Changed, s.Outputs, alpha)
			if top != nil && top[1] <= maxChanged && (useless == nil || w.Saved > useless.Without.Saved) {
				useless = j
			}
		}
	}
	if useless != nil {
		add("Without %s, %d of %s change by more than 5 points, and %s of the cost is saved. You can drop it.",
			useless.Name, useless.Without.Changed, plural(s.Outputs, "score"), percent(*useless.Without.SavedShare))
	}
}

// restAgrees reports whether all other members agree better with the rest than this one, beyond its interval.
func (t *table) restAgrees(s *Summary, judge int) bool {
	for i, j := range s.Judges {
		if i == judge || j.Escalation {
			continue
		}
		if f := j.PanelAgreement; f.Value == nil || *f.Value <= s.Judges[judge].PanelAgreement.CI[1] {
			return false
		}
	}
	return true
}
