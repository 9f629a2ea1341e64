package agents

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// alpha is 1 - the confidence of all intervals.
const alpha = .05

// Figures are those of the runs of a release.
type Figures struct {
	// Failures is the share of failed runs among those that have ended, Duration and Cost are medians.
	Failures, DurationMs, CostUSD Figure
	Scores                        []Score
}

// Figure is a figure of Count runs with its interval. Both are nil if they are not known.
type Figure struct {
	Value *float64
	CI    *stats.Interval
	Count int
}

// Score is the mean of a score of a name.
type Score struct {
	Figure
	Name      string
	IsBoolean bool
}

// Verdict is what a difference says.
type Verdict string

// Verdicts.
const (
	Lower      Verdict = "lower"
	Higher     Verdict = "higher"
	CannotTell Verdict = "cannot_tell"
)

// Difference is the difference between two releases: of the shares of failed runs and the means of scores, and the ratio of the geometric
// means of durations and costs.
type Difference struct {
	Failures, DurationMs, CostUSD Comparison
	Scores                        []ScoreComparison
}

// Comparison is a difference or a ratio with its interval, as far as they are known.
type Comparison struct {
	Value   *float64
	CI      *stats.Interval
	Verdict Verdict
}

// ScoreComparison is the difference of a score.
type ScoreComparison struct {
	Name string
	Comparison
}

// sample are the figures of the runs of a release, one by one.
type sample struct {
	failed, ended   int
	durations, cost []float64
	scores          map[string]*scoreSample
}

type scoreSample struct {
	name      string
	numbers   []float64
	isBoolean bool
}

// compare sets the figures of releases, and their differences to those before.
func compare(releases []release, scores []runs.AgentScore) {
	byRun := make(map[uuid.UUID][]runs.AgentScore, len(scores))
	for _, score := range scores {
		byRun[score.RunID] = append(byRun[score.RunID], score)
	}
	var before sample
	for i := range releases {
		now := sampleOf(releases[i].runs, byRun)
		releases[i].Figures = now.figures()
		if i > 0 {
			releases[i].Difference = difference(&before, &now)
		}
		before = now
	}
}

func sampleOf(of []runs.AgentRun, scores map[uuid.UUID][]runs.AgentScore) sample {
	s := sample{scores: map[string]*scoreSample{}}
	for i := range of {
		run := &of[i]
		if run.Outcome != runmodel.OutcomeRunning {
			s.ended++
		}
		if run.Outcome == runmodel.OutcomeFailed {
			s.failed++
		}
		if run.DurationMs != nil {
			s.durations = append(s.durations, *run.DurationMs)
		}
		if run.CostUSD != nil {
			s.cost = append(s.cost, *run.CostUSD)
		}
		for _, score := range scores[run.RunID] {
			known := s.scores[score.Name]
			if known == nil {
				known = &scoreSample{name: score.Name, isBoolean: true}
				s.scores[score.Name] = known
			}
			known.numbers = append(known.numbers, score.Number)
			known.isBoolean = known.isBoolean && score.IsBoolean
		}
	}
	return s
}

func (s *sample) figures() Figures {
	f := Figures{DurationMs: median(s.durations), CostUSD: median(s.cost)}
	f.Failures = share(s.failed, s.ended)
	for _, score := range s.named() {
		var figure Figure
		if score.isBoolean {
			passed := 0
			for _, number := range score.numbers {
				if number == 1 {
					passed++
				}
			}
			figure = share(passed, len(score.numbers))
		} else {
			figure = figureOf(stats.MeanInterval(score.numbers, alpha), len(score.numbers))
		}
		f.Scores = append(f.Scores, Score{figure, score.name, score.isBoolean})
	}
	return f
}

// named are the scores that most runs have.
func (s *sample) named() []*scoreSample {
	list := make([]*scoreSample, 0, len(s.scores))
	for _, score := range s.scores {
		list = append(list, score)
	}
	slices.SortFunc(list, func(a, b *scoreSample) int {
		return cmp.Or(cmp.Compare(len(b.numbers), len(a.numbers)), cmp.Compare(a.name, b.name))
	})
	return list[:min(len(list), maxScoreNames)]
}

func share(x, n int) Figure {
	if n == 0 {
		return Figure{}
	}
	value := float64(x) / float64(n)
	return Figure{&value, stats.ShareInterval(float64(x), float64(n), alpha), n}
}

func median(values []float64) Figure {
	return figureOf(stats.MedianInterval(values, alpha), len(values))
}

func figureOf(e stats.Estimate, n int) Figure { return Figure{e.Value.Value, e.CI, n} }

func difference(before, now *sample) *Difference {
	d := Difference{DurationMs: ratio(before.durations, now.durations), CostUSD: ratio(before.cost, now.cost)}
	d.Failures = Comparison{Verdict: CannotTell}
	if before.ended > 0 && now.ended > 0 {
		value := float64(now.failed)/float64(now.ended) - float64(before.failed)/float64(before.ended)
		d.Failures = comparison(&value, stats.NewcombeDifference(before.failed, before.ended, now.failed, now.ended, alpha), 0)
	}
	for _, score := range now.named() {
		if old := before.scores[score.name]; old != nil {
			e := stats.WelchDifference(stats.Groups{A: old.numbers, B: score.numbers}, alpha)
			d.Scores = append(d.Scores, ScoreComparison{score.name, comparison(e.Value.Value, e.CI, 0)})
		}
	}
	return &d
}

func ratio(before, now []float64) Comparison {
	logs, flag := stats.Logarithms(stats.Groups{A: before, B: now})
	if flag != "" {
		return Comparison{Verdict: CannotTell}
	}
	e := stats.RatioOf(stats.WelchDifference(logs, alpha))
	return comparison(e.Value.Value, e.CI, 1)
}

// comparison says what a difference says. none is the value of no difference.
func comparison(value *float64, ci *stats.Interval, none float64) Comparison {
	c := Comparison{value, ci, CannotTell}
	switch {
	case ci == nil:
	case ci[1] < none:
		c.Verdict = Lower
	case ci[0] > none:
		c.Verdict = Higher
	}
	return c
}
