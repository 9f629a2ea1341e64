package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// namedChannel is a channel with its words.
type namedChannel struct {
	*Channel
	code    string
	name    string
	measure Measure
}

// all are the channels in the order in which they matter to people.
func (c *Channels) all() []namedChannel {
	return []namedChannel{
		{&c.Outcome, "outcome", "outcome", Difference},
		{&c.Answer, "answer", "answer", Distance},
		{&c.Structure, "structure", "tool calls", Distance},
		{&c.Cost, "cost", "cost", Ratio},
		{&c.Latency, "latency", "duration", Ratio},
		{&c.Tokens, "tokens", "tokens", Ratio},
	}
}

// clause says what the figures of a channel are, as a sentence.
func (c namedChannel) clause() string {
	text := c.figures()
	switch {
	case c.P == nil:
		return text + "."
	case c.PAdjusted == nil:
		return fmt.Sprintf("%s (p = %s).", text, probability(*c.P))
	case *c.PAdjusted > *c.P:
		return fmt.Sprintf("%s (p = %s, %s after correction).", text, probability(*c.P), probability(*c.PAdjusted))
	}
	return fmt.Sprintf("%s (p = %s).", text, probability(*c.P))
}

func (c namedChannel) figures() string {
	a, b := c.Controls, c.Treatments
	switch {
	case c.Measure == Distance && c.across != nil && a.Mean != nil:
		return fmt.Sprintf("The %s of edited and unedited replays differ by %s on average, those of two unedited ones by %s", plurals[c.code], figure(*c.across), figure(*a.Mean))
	case c.Measure == Distance && c.across != nil:
		return fmt.Sprintf("The %s of edited and unedited replays differ by %s on average", plurals[c.code], figure(*c.across))
	case c.Test == Fisher && a.Mean != nil && b.Mean != nil:
		return fmt.Sprintf("%d of %d unedited replays succeeded, and %d of %d edited ones", count(a), a.N, count(b), b.N)
	case c.Measure == Difference && a.Mean != nil && b.Mean != nil:
		return fmt.Sprintf("The mean outcome of unedited replays is %s, and that of edited ones %s", figure(*a.Mean), figure(*b.Mean))
	case c.Measure == Ratio && c.Effect != nil && c.CI != nil:
		return fmt.Sprintf("The %s of edited replays is %s times that of unedited ones (%s to %s)", c.noun(), figure(*c.Effect), figure(c.CI[0]), figure(c.CI[1]))
	case c.Measure == Ratio && c.Effect != nil:
		return fmt.Sprintf("The %s of edited replays is %s times that of unedited ones", c.noun(), figure(*c.Effect))
	}
	return fmt.Sprintf("The %s of edited replays is unknown", c.noun())
}

// noun is singular.
func (c namedChannel) noun() string {
	if c.code == "tokens" {
		return "number of tokens"
	}
	return c.name
}

// plurals of channels of distances.
var plurals = map[string]string{"answer": "answers", "structure": "tool calls"}

// count is the number of successes.
func count(s Side) int { return int(math.Round(*s.Mean * float64(s.N))) }

// sentence says the verdict to someone who knows nothing of statistics, and what was not compared.
func (v *Verdict) sentence(empty bool) string {
	text := v.verdict(empty)
	if v.Verdict == Invalid || v.Verdict == DeterministicEffect || v.Verdict == DeterministicNoEffect {
		return text
	}
	texts := []string{text}
	for _, r := range v.Reasons {
		if r.Code == "other_model" || r.Code == "made_apart" || r.Code == "look" {
			texts = append(texts, r.Text)
		}
	}
	return strings.Join(texts, " ")
}

func (v *Verdict) verdict(empty bool) string {
	switch v.Verdict {
	case Invalid:
		return "The replay says nothing about the edit. " + v.Reasons[0].Text
	case DeterministicNoEffect:
		if v.because("proven") != "" {
			return "The edit has no effect on this run: the recording proves it without a replay."
		}
		return "The edit has no effect on this run: all results after it come from the recording or from fixed rules, and nothing differs."
	case DeterministicEffect:
		if v.scope != "" {
			return fmt.Sprintf("The edit changed %s, which the recording proves. %s %s", v.scope, v.because("call_fails"), v.because("censored"))
		}
		return "The edit changed the run: all results after it come from the recording or from fixed rules, so that nothing else can have."
	case EffectAttributable:
		return v.changed("The edit changed the") + v.firstStep()
	case EffectLikely:
		return v.likely()
	case Drift:
		return fmt.Sprintf("Cannot compare with the recording: today's unedited replays differ more from it than from each other%s, so that the model or its surroundings may have changed. Among today's replays no effect of the edit was found.", times(v.Drift.ratio))
	case NoEffectDetected:
		return v.none()
	case Underpowered:
		return v.cannotTell()
	case WithinNoise:
		if empty {
			return fmt.Sprintf("No difference was seen: the %s did what the recorded run did. %s", plural(v.M, "edited replay"), v.blind())
		}
		if !v.knowsDistances() {
			return fmt.Sprintf("No difference beyond noise between %d edited and %d unedited replays, of which neither tool calls nor answers are known. %s", v.M, v.K, v.blind())
		}
		return fmt.Sprintf("No difference beyond noise: edited replays differ from unedited ones no more than these differ from each other (%d and %d replays). %s", v.M, v.K, v.blind())
	}
	return ""
}

// because is the text of the first reason with one of the codes.
func (v *Verdict) because(codes ...string) string {
	for _, r := range v.Reasons {
		for _, code := range codes {
			if r.Code == code {
				return r.Text
			}
		}
	}
	return ""
}

// changed names the channels with an effect, and the figures of the first.
func (v *Verdict) changed(begin string) string {
	found := v.significant()
	text := begin + " " + found[0].name + ". " + found[0].clause()
	if len(found) == 1 {
		return text
	}
	names := make([]string, 0, len(found)-1)
	for _, c := range found[1:] {
		names = append(names, c.name)
	}
	return text + " It also changed the " + list(names) + "."
}

func (v *Verdict) firstStep() string {
	if v.FirstAttributableStep == nil {
		return ""
	}
	name := v.FirstAttributableStep.Name
	if name == "" {
		name = v.FirstAttributableStep.ID
	}
	return fmt.Sprintf(" The first step that differs is %s.", quote(name))
}

func (v *Verdict) likely() string {
	switch {
	case len(v.significant()) > 0:
		return v.changed("The edit probably changed the") + v.firstStep() + " But: " + lower(v.because("drift", "changed_since_recording", "tainted", "version_unknown"))
	case v.because("decisions_apart") != "":
		return fmt.Sprintf("The edit probably changed the run: %s But that may be chance with so few replays.", lower(v.because("decisions_apart")))
	}
	return "The edit probably changed the run. But: " + lower(v.because("tainted"))
}

func (v *Verdict) none() string {
	if c := v.Channels.Outcome; !c.has(Unknown) {
		if c.Test == Fisher {
			return fmt.Sprintf("No effect found: the success rate of edited replays (%d of %d) is within %s points of that of unedited ones (%d of %d), with %s confidence.",
				count(c.Treatments), c.Treatments.N, figure(100*v.delta), count(c.Controls), c.Controls.N, percent(1-2*v.Alpha))
		}
		return fmt.Sprintf("No effect found: the mean outcome of edited replays is within %s of that of unedited ones, with %s confidence.", figure(v.delta), percent(1-2*v.Alpha))
	}
	return fmt.Sprintf("No effect found: edited replays differ from unedited ones hardly more than these from each other, with %s confidence. Whether they succeed is unknown.", percent(1-v.Alpha))
}

func (v *Verdict) cannotTell() string {
	text := fmt.Sprintf("Cannot tell: with %d unedited and %d edited replays ", v.K, v.M)
	if hint := v.because("hint"); hint != "" {
		text += "a difference is not beyond chance. " + hint
		if more := v.MoreReplaysNeeded; more != nil {
			text += fmt.Sprintf(" About %d more (%s) would show a difference as large as this.", more.Controls+more.Treatments, more.words())
		}
		return text
	}
	text += "not even a clear effect could be told from chance."
	if unfinished := v.because("unfinished"); unfinished != "" {
		text += " " + unfinished
	}
	if more := v.MoreReplaysNeeded; more != nil {
		text += fmt.Sprintf(" %d more (%s) would show a clear one.", more.Controls+more.Treatments, more.words())
	} else if v.Runs != nil {
		text += " Replay the edit on more runs."
	}
	return text
}

func (d Design) words() string {
	switch {
	case d.Controls == 0:
		return fmt.Sprintf("%d edited", d.Treatments)
	case d.Treatments == 0:
		return fmt.Sprintf("%d unedited", d.Controls)
	}
	return fmt.Sprintf("%d unedited, %d edited", d.Controls, d.Treatments)
}

// blind says what may have been missed.
func (v *Verdict) blind() string {
	c := v.Channels.Outcome
	switch {
	case c.has(Unknown):
		return "Whether they succeed is unknown."
	case c.detectable != nil && c.Test == Fisher:
		return fmt.Sprintf("A change of the success rate by less than %s points can go unnoticed with so few.", figure(100**c.detectable))
	case c.detectable != nil:
		return fmt.Sprintf("A change of the outcome by less than %s can go unnoticed with so few.", figure(*c.detectable))
	}
	return "A change of the outcome can go unnoticed with so few."
}

func lower(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}

func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func percent(share float64) string { return strconv.Itoa(int(math.Round(100*share))) + "%" }

// figure has three significant digits.
func figure(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

func probability(p float64) string {
	if p < .001 {
		return "0.001 or less"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

func times(ratio *float64) string {
	if ratio == nil {
		return ""
	}
	return fmt.Sprintf(" (%s times)", figure(*ratio))
}

// longestName is the number of characters of recorded text in a sentence.
const longestName = 80

func cut(text string) string { return utf8text.Cut(text, longestName) }

// quote marks text that is not ours.
func quote(text string) string { return strconv.Quote(cut(text)) }
