package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// fewestControls is the number of finished controls below which nothing is concluded from a test.
const fewestControls = 3

// Of judges an edit of one run. The package comment says which verdict is given when.
func Of(in Input) Verdict {
	t := newTrial(in)
	ts := trials{t}
	v := ts.begin()
	switch reasons := t.integrity(); {
	case len(reasons) > 0:
		v.Verdict = Invalid
		v.Reasons = append(reasons, v.Reasons...)
		if len(t.inconsistencies()) == 0 {
			ts.describe(&v, false)
		}
		v.Channels.untested()
	case t.deterministic():
		ts.describe(&v, true)
		ts.decideDeterministic(&v)
		v.Channels.untested()
		if t.Failure != nil {
			v.Channels.censored()
		}
	default:
		ts.describe(&v, !t.live())
		ts.decide(&v)
	}
	v.Sentence = v.sentence(t.DiffEmpty)
	return v
}

// begin has what is copied from the input.
func (ts trials) begin() Verdict {
	t := ts[0]
	v := Verdict{
		Alpha: known(t.Alpha), Looks: max(0, t.Looks), Reasons: []Reason{}, Drift: DriftResult{Changed: []string{}}, delta: known(t.Delta),
	}
	var designs [][2]int
	for _, t := range ts {
		v.K += len(t.controls)
		v.M += len(t.treatments)
		designs = append(designs, [2]int{len(t.controls), len(t.treatments)})
		v.Reasons = append(v.Reasons, t.reasons...)
	}
	v.AttainableP.before = stats.StratifiedAttainableP(designs).Value
	return v
}

// known is x, or 0 for a setting that is no number: the reasons name it.
func known(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// describe sets what does not decide by itself.
func (ts trials) describe(v *Verdict, exact bool) {
	v.Reproducibility = ts.reproducibility(exact)
	v.Drift = ts.drift()
	for _, t := range ts {
		for _, share := range []struct {
			into **float64
			of   stats.Value
		}{
			{&v.Exposure.TaintShare, t.taint()},
			{&v.Exposure.LiveShare, t.largerShare(func(a *Attempt) int { return a.DownstreamLive })},
		} {
			if share.of.Value != nil && (*share.into == nil || **share.into < *share.of.Value) {
				*share.into = share.of.Value
			}
		}
	}
}

// live reports whether an attempt that counts called something.
func (t *trial) live() bool {
	for _, i := range slices.Concat(t.controls, t.treatments) {
		if a := &t.Attempts[i]; a.DownstreamLive > 0 {
			return true
		}
	}
	return false
}

// untested leaves all channels without figures.
func (c *Channels) untested() {
	for _, channel := range c.all() {
		*channel.Channel = Channel{Measure: channel.measure, Flags: []stats.Flag{NotTested}}
	}
}

// censored says that nobody knows what follows a call that fails.
func (c *Channels) censored() {
	for _, channel := range c.all() {
		if channel.code != "structure" { // what was called until then is known
			channel.Flags = []stats.Flag{Unknown}
		}
	}
}

func (ts trials) decideDeterministic(v *Verdict) {
	t := ts[0]
	if f := t.Failure; f != nil {
		v.Verdict, v.scope = DeterministicEffect, f.Scope
		v.reason("call_fails", "%s", f.Text)
		v.reasonCensored(f)
		return
	}
	reason := "no_live_call"
	if t.Proven {
		reason = "proven"
	}
	switch {
	case t.DiffEmpty:
		v.Verdict = DeterministicNoEffect
	case v.taintAbove(someTaint):
		v.Verdict, reason = EffectLikely, "tainted"
	default:
		v.Verdict = DeterministicEffect
	}
	texts := map[string]string{
		"proven":       "The recording proves it without a replay.",
		"no_live_call": "All results after the edit come from the recording or from fixed rules.",
		"tainted":      "Too many of the results after the edit are of similar calls, or stale, for a proof.",
	}
	v.reason(reason, "%s", texts[reason])
}

// reasonCensored says where knowledge ends after a call that fails.
func (v *Verdict) reasonCensored(f *Failure) {
	v.reason("censored", "What follows is not in the recording, so that outcome, answer and cost are unknown. %s", f.Remedy)
}

func (v *Verdict) reason(code, format string, values ...any) {
	v.Reasons = append(v.Reasons, Reason{code, fmt.Sprintf(format, values...)})
}

func (v *Verdict) taintAbove(limit float64) bool {
	return v.Exposure.TaintShare != nil && *v.Exposure.TaintShare > limit
}

// decide goes through the rows of the table that need a test.
func (ts trials) decide(v *Verdict) {
	v.Channels = ts.channels()
	v.correct()
	found := v.significant()
	able := v.AttainableP.After != nil && *v.AttainableP.After <= v.Alpha && v.K >= fewestControls
	usual, steady := ts[0].alike(ts[0].controls)
	separate := !able && len(ts) == 1 && steady && separable(v.K, v.M, v.Alpha)
	if able || separate {
		v.Looks++
	}
	decided, uniform := ts[0].alike(ts[0].treatments)
	hint := v.hint()
	v.caveats()
	ts.madeApart(v)
	ts.caches(v)
	if earlier := ts[0].Looks; earlier > 0 {
		v.reason("look", "After %s at this replay p counts at %s or less only, so that looking again finds no effect by chance.", plural(earlier, "earlier look"), probability(v.Alpha))
	}
	switch {
	case v.comparesNothing():
		v.Verdict = Invalid
		v.Reasons = append([]Reason{{"nothing_compared", "Nothing is known of what the attempts did, so that nothing can be compared."}}, v.Reasons...)
	case len(found) > 0 && able:
		v.Verdict = EffectAttributable
		if v.Drift.Flag || v.taintAbove(someTaint) || v.because("version_unknown") != "" {
			v.Verdict = EffectLikely
		}
		for _, c := range found {
			v.reason(c.code+"_changed", "%s", c.clause())
		}
		if len(ts) == 1 {
			v.FirstAttributableStep = ts[0].firstAttributable()
		}
	case separate && uniform && decided != usual:
		v.Verdict = EffectLikely
		v.reason("decisions_apart", "All %d controls decided alike, and all %d treatments alike and otherwise.", v.K, v.M)
		v.unable()
	case v.Drift.Measured != nil && *v.Drift.Measured:
		v.Verdict = Drift
	case !able:
		v.Verdict = Underpowered
		v.unable()
		v.MoreReplaysNeeded = ts.moreForAny(v)
	case hint != nil && hint.P != nil && *hint.P <= v.Alpha:
		ts.hinted(v, hint)
	case v.equivalent() && (!v.Channels.Outcome.empty() || ts.stepsInside()):
		v.Verdict = NoEffectDetected
	case hint != nil:
		ts.hinted(v, hint)
	default:
		v.Verdict = WithinNoise
		if v.knowsDistances() {
			v.reason("inside_control_range", "Treatments are no farther from the controls than controls are from each other.")
		}
	}
}

// correct sets adjusted p values, what the design can reach, and the detectable effect.
func (v *Verdict) correct() {
	all := v.Channels.all()
	p := make([]float64, len(all))
	able := 0 // to be significant
	for i, c := range all {
		p[i] = math.NaN()
		switch {
		case c.P == nil && (c.Controls.N == 0) == (c.Treatments.N == 0):
		case c.code == "tokens" && !v.Channels.Cost.empty():
			c.flag(BesideCost)
		case c.P == nil: // would be tested if the other role had values
			v.AttainableP.channels++
		case c.least != nil && *c.least > v.Alpha:
			c.flag(CannotBeSignificant)
			v.AttainableP.channels++
		default:
			p[i] = *c.P
			able++
		}
	}
	// A design that cannot reach the level would be corrected for all channels, were it larger.
	if before := v.AttainableP.before; able > 0 || before != nil && *before <= v.Alpha {
		v.AttainableP.channels = able
	}
	tested := float64(max(1, v.AttainableP.channels))
	if v.AttainableP.before != nil {
		v.AttainableP.After = finite(min(1, *v.AttainableP.before*tested))
	}
	for i, adjusted := range stats.Holm(p) {
		c := all[i]
		c.PAdjusted = finite(adjusted)
		if c.detect != nil {
			c.detectable = c.detect(v.Alpha / tested)
			c.detect = nil // a function is no result
		}
		if c.Flags == nil {
			c.Flags = []stats.Flag{}
		}
	}
}

func (v *Verdict) knowsDistances() bool {
	return !v.Channels.Structure.has(Unknown) || !v.Channels.Answer.has(Unknown)
}

// comparesNothing reports whether no channel has values, although there are attempts of both roles.
func (v *Verdict) comparesNothing() bool {
	return v.K > 0 && v.M > 0 && !slices.ContainsFunc(v.Channels.all(), func(c namedChannel) bool { return !c.empty() })
}

func (v *Verdict) significant() (found []namedChannel) {
	for _, c := range v.Channels.all() {
		if c.PAdjusted != nil && *c.PAdjusted <= v.Alpha {
			found = append(found, c)
		}
	}
	return found
}

// hint is the channel of outcome, structure and answer that comes nearest to a finding, nil if none suggests one.
func (v *Verdict) hint() (hint *namedChannel) {
	for _, c := range v.Channels.all()[:3] {
		suggests := c.farther || c.P != nil && *c.P <= v.Alpha
		if suggests && c.P != nil && (hint == nil || *c.P < *hint.P) {
			hint = &c
		}
	}
	return hint
}

func (ts trials) hinted(v *Verdict, hint *namedChannel) {
	v.Verdict = Underpowered
	v.reason("hint", "%s", hint.clause())
	v.MoreReplaysNeeded = ts.moreForHint(v, *hint.P)
}

// equivalent reports whether outcomes, or where they are unknown all known distances, keep their bound.
func (v *Verdict) equivalent() bool {
	if !v.Channels.Outcome.has(Unknown) {
		return v.Channels.Outcome.inside
	}
	knows := false
	for _, c := range []*Channel{&v.Channels.Structure, &v.Channels.Answer} {
		if c.has(Unknown) {
			continue
		}
		knows = true
		if !c.inside {
			return false
		}
	}
	return knows
}

// caveats name what weakens a finding.
func (v *Verdict) caveats() {
	for _, change := range v.Drift.Changed {
		v.reason("changed_since_recording", "Since the recording changed: %s.", change)
	}
	if v.Drift.Measured != nil && *v.Drift.Measured {
		v.reason("drift", "Unedited replays differ more from the recording than from each other%s: effects are relative to today's controls.", times(v.Drift.ratio))
	}
	if v.taintAbove(someTaint) {
		v.reason("tainted", "%s of the results after the edit are of similar calls, or stale.", percent(*v.Exposure.TaintShare))
	}
}

// unable names why the design can show nothing.
func (v *Verdict) unable() {
	if v.K < fewestControls {
		v.reason("few_controls", "%s finished; %d are needed.", plural(v.K, "control"), fewestControls)
	}
	if after := v.AttainableP.After; after != nil && *after > v.Alpha {
		v.reason("attainable_p", "With %d and %d replays p cannot be below %s after correction for %s.", v.K, v.M, probability(*after), plural(v.AttainableP.channels, "channel"))
	}
}

// mostReplays bounds a stated number of replays: more is no advice.
const mostReplays = 1000

// moreForAny is the smallest number of replays with which a clear effect could be significant at the next look.
func (ts trials) moreForAny(v *Verdict) *Design {
	if len(ts) > 1 {
		return nil
	}
	tested, level := float64(max(1, v.AttainableP.channels)), levelOf(ts[0].all, v.Looks)
	for more := 1; more < 100; more++ {
		for m := more / 2; m >= 0; m-- {
			for _, treatments := range []int{m, more - m} {
				k := v.K + more - treatments
				p, ok := stats.AttainableP(k, v.M+treatments).Get()
				if ok && k >= fewestControls && p*tested <= level {
					return &Design{more - treatments, treatments}
				}
			}
		}
	}
	return nil
}

// moreForHint is how many more replays would find an effect as large as it looks at the next look: the quantile of p grows with the root of
// their number.
func (ts trials) moreForHint(v *Verdict, p float64) *Design {
	observed := distuv.UnitNormal.Quantile(1 - p/2)
	tested := float64(max(1, v.AttainableP.channels))
	needed := distuv.UnitNormal.Quantile(1-levelOf(ts[0].all, v.Looks)/tested/2) + distuv.UnitNormal.Quantile(power)
	by := (needed / observed) * (needed / observed)
	if !(by*float64(v.K+v.M) <= mostReplays) {
		return nil
	}
	more := func(n int) int { return max(1, int(math.Ceil(by*float64(n)))-n) }
	return &Design{more(v.K), more(v.M)}
}

// separable reports whether it is improbable that controls all decide alike and treatments alike and otherwise without an effect.
func separable(k, m int, alpha float64) bool {
	p, ok := stats.SeparationChance(k, m).Get()
	return ok && k >= fewestControls && p <= alpha
}
