package panel

import (
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// Summary is what the votes say of the panel.
type Summary struct {
	Name      string    `json:"name"`
	Kind      Kind      `json:"kind"`
	Scale     Scale     `json:"scale"`
	Aggregate Aggregate `json:"aggregate"`
	// Score is the mean score of the panel, of N items.
	Score compare.Side `json:"-"`
	// Sentence says how far the score can be trusted, Warnings what to do about it.
	Sentence string        `json:"sentence"`
	Warnings []string      `json:"warnings"`
	Votes    VoteCounts    `json:"votes"`
	Judges   []JudgeResult `json:"judges"`
	// Reliability is nil for one judge.
	Reliability *Reliability `json:"reliability"`
	// Outputs counts those that a judge was asked about, Unscored those of them without a score, Split those on which judges split,
	// Escalated those that the escalation decided.
	Outputs   int `json:"outputs"`
	Unscored  int `json:"unscored"`
	Split     int `json:"split"`
	Escalated int `json:"escalated"`
	// OtherLabels counts labels that were given on another scale, and are not used.
	OtherLabels int `json:"labels_on_other_scales"`
	// Labels is nil without labels.
	Labels *LabelsResult `json:"labels"`
	// Categories are those of a categorical scale, in its order.
	Categories []Category `json:"categories,omitempty"`
}

// Category is a category of a categorical scale. Share is of all outputs that have one, with an interval that is nil for fewer than two items.
type Category struct {
	Label   string          `json:"label"`
	Outputs int             `json:"outputs"`
	Share   float64         `json:"share"`
	CI      *stats.Interval `json:"ci"`
}

// Measure computes what the votes say: a score for each output, in their order, and the summary of the panel. An error says that the
// input does not fit together. The time grows with outputs times judges; 100,000 outputs of 3 judges take seconds, since intervals of so
// many come from fewer resamples, which the flag FewerResamples says.
func Measure(in Input) (*Summary, []OutputScore, error) {
	if in.Kind == Preference {
		in.Scale = Scale{Type: Categorical, Labels: []string{"a", "tie", "b"}}
	}
	if err := in.valid(); err != nil {
		return nil, nil, err
	}
	t := newTable(&in)
	if in.Aggregate.Removed() {
		t.final = t.stored()
	} else {
		t.verdicts = t.decideAll(t.members)
		t.final = t.escalated(t.verdicts)
	}
	s := &Summary{Name: in.Name, Kind: in.Kind, Scale: in.Scale, Aggregate: in.Aggregate, OtherLabels: in.OtherLabels, Judges: []JudgeResult{}}
	outputs, scores := make([]OutputScore, len(t.final)), make([]float64, len(t.final))
	for o, v := range t.final {
		outputs[o], scores[o] = t.outputScore(v), v.score
	}
	t.count(s)
	s.Categories = t.shares()
	s.Score = t.side(scores)
	people := t.people()
	s.Reliability = t.reliability()
	t.judgeAll(s)
	if len(in.Labels) > 0 {
		s.Labels = t.labels(people)
		for o := range outputs {
			outputs[o].People = pointer(t.said(people.rows[o]))
		}
	}
	s.Sentence, s.Warnings = t.words(s)
	return s, outputs, nil
}

func (t *table) count(s *Summary) {
	for o, v := range t.final {
		if !t.judged[o] {
			continue
		}
		s.Outputs++
		if v.reason != "" {
			s.Unscored++
		}
		if v.split {
			s.Split++
		}
		if v.escalated {
			s.Escalated++
		}
	}
}

// shares are those of the categories in the final verdicts, nil without a categorical scale.
func (t *table) shares() []Category {
	if t.Kind == Preference || t.Scale.Type != Categorical {
		return nil
	}
	list := make([]Category, 0, len(t.Scale.Labels))
	for place, label := range t.Scale.Labels {
		c, has := Category{Label: label}, t.missing()
		for o, v := range t.final {
			if math.IsNaN(v.value) {
				continue
			}
			has[o] = indicator(int(v.value) == place)
			c.Outputs += int(has[o])
		}
		if share := t.side(has); share.Mean != nil {
			c.Share, c.CI = *share.Mean, share.CI
		}
		list = append(list, c)
	}
	return list
}

// judgeAll adds the judges, each with what the panel without it says.
func (t *table) judgeAll(s *Summary) {
	for j := range t.Judges {
		s.Judges = append(s.Judges, t.judge(j))
		s.Votes.Add(s.Judges[j].Votes)
	}
	total := 0.
	for _, r := range s.Judges {
		total += r.Cost
	}
	for j := range t.Judges {
		r := &s.Judges[j]
		if t.Aggregate.Removed() || len(t.members) < 2 && j != t.escalation {
			r.PanelAgreement = without(stats.NotApplicable, 0)
			continue
		}
		if j == t.escalation {
			r.PanelAgreement = t.against(j, t.verdicts)
			continue
		}
		others := slices.DeleteFunc(slices.Clone(t.members), func(member int) bool { return member == j })
		rest := t.decideAll(others)
		r.PanelAgreement = t.against(j, rest)
		r.Without = t.without(t.escalated(rest), r.Cost, total)
	}
}
