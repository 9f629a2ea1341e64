package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Wanted is a rule as a client wants it.
type Wanted struct {
	Name       string
	RunFilter  string
	SampleRate float64
	GroupBy    string
	Scoring    execute.Scoring
	// Kept is the scoring that is stored, nil for a new one. If it is not changed, it is not checked again: a rule whose connection was deleted
	// can still be renamed.
	Kept          *Rule
	MaxCost       *providers.Money
	AllowUnpriced bool

	sameScoring bool
}

// check checks a rule, and returns what is stored of it.
func (s *Service) check(ctx context.Context, grant access.Grant, project uuid.UUID, w *Wanted) (pgx.NamedArgs, error) {
	name, err := validate.Name("body.name", w.Name)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	if _, err := s.filter(project, w.RunFilter); err != nil {
		return nil, err
	}
	if err := checkGroupBy(w.GroupBy); err != nil {
		return nil, err
	}
	if w.Kept == nil || w.Kept.AllowUnpriced != w.AllowUnpriced {
		if _, _, err := s.estimate(ctx, grant, w, nil, 0); err != nil {
			return nil, err
		}
	}
	if err := w.checkBudget(); err != nil {
		return nil, err
	}
	scoring, err := json.Marshal(w.Scoring)
	if err != nil {
		return nil, fmt.Errorf("encode graders and panels: %w", err)
	}
	w.sameScoring = w.Kept != nil && string(scoring) == w.Kept.Scoring
	return pgx.NamedArgs{
		"name": name, "run_filter": w.RunFilter, "sample_rate": w.SampleRate, "group_by": w.GroupBy, "scoring": string(scoring), "max_cost": w.MaxCost, "allow_unpriced": w.AllowUnpriced, "now": s.now(),
	}, nil
}

// filter reads the filter of a rule.
func (s *Service) filter(project uuid.UUID, text string) (runs.Filter, error) {
	const location = "body.run_filter"
	if err := validate.Printable(location, text); err != nil && text != "" {
		return runs.Filter{}, err //nolint:wrapcheck // it is for the client
	}
	filter, err := s.filters(project, text)
	if err == nil && (filter.Source == runmodel.SourceEvaluation || filter.Source == runs.SourceAll) {
		err = problem.InvalidField(location, fmt.Sprintf("has source=%s, which has the runs of judges: a rule would judge its own runs", filter.Source))
	}
	return filter, err
}

func (w *Wanted) checkBudget() error {
	switch {
	case len(w.Scoring.Graders) == 0 && len(w.Scoring.Panels) == 0:
		return problem.InvalidField("body.graders", "must have a grader, or panels a panel: there is nothing to score with")
	case len(w.Scoring.Panels) > 0 && w.MaxCost == nil:
		return problem.InvalidField("body.max_cost_usd_per_day", "is required with panels, whose judges cost money each day")
	}
	return nil
}

// estimate checks the scoring of a rule, and estimates what a number of runs costs that are like some samples.
func (s *Service) estimate(ctx context.Context, grant access.Grant, w *Wanted, samples []*grader.Sample, outputs int64) (*execute.Scorer, *evaluations.Estimate, error) {
	scorer, err := s.judging.NewScorer(&w.Scoring)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it is for the client
	}
	estimate, err := scorer.Estimate(ctx, grant, samples, outputs)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it is for the client
	}
	if len(estimate.UnpricedModels) > 0 && !w.AllowUnpriced {
		return nil, nil, &problem.Error{
			Kind: problem.Invalid, Code: "price_unknown",
			Detail: fmt.Sprintf("max_cost_usd_per_day needs prices, and there is none for %s. Add one in Settings → Prices, or set allow_unpriced.", strings.Join(estimate.UnpricedModels, " and ")),
			Fields: []problem.Field{{Location: "body.allow_unpriced", Message: "must be set, or all models must have prices"}},
		}
	}
	return scorer, estimate, nil
}

const (
	// previewTime is how far back a preview looks, and previewed how many runs it reads.
	previewTime = 7 * 24 * time.Hour
	previewed   = 20
	// MaxExamples is how many runs a preview shows.
	MaxExamples = 5
)

// Preview is what a rule would have done.
type Preview struct {
	// Matched are the runs of the last seven days, which cover a number of Days. Sampled is about how many of them it would have taken.
	Matched, Sampled int64
	Days             float64
	// Votes are those on a run.
	Votes int64
	// Estimate is of a day.
	Estimate *evaluations.Estimate
	Examples []Example
}

// Example is a run with what is scored of it. Skipped is why it cannot be scored, or empty.
type Example struct {
	Run     runmodel.Run
	Sample  *grader.Sample
	Skipped string
}

// Preview checks a rule, and looks what it would have done in the last seven days.
func (s *Service) Preview(ctx context.Context, grant access.Grant, w *Wanted) (*Preview, error) {
	project, err := grant.Project()
	if err != nil {
		return nil, err
	}
	if _, err := s.check(ctx, grant, project, w); err != nil {
		return nil, err
	}
	filter, err := s.filter(project, w.RunFilter)
	if err != nil {
		return nil, err
	}
	filter.Window = previewTime
	newest, first, err := s.runs.Newest(ctx, grant.Projects, filter, previewed)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	p := &Preview{Matched: int64(newest.Matched), Examples: []Example{}}
	var samples []*grader.Sample
	err = s.runs.Sources(ctx, grant.Only(project), newest.Runs, nil, func(source *runs.Source) error {
		sample, skipped, err := sampleOf(source)
		if err != nil {
			return err
		}
		if skipped == "" {
			samples = append(samples, sample)
		}
		if len(p.Examples) < MaxExamples {
			p.Examples = append(p.Examples, Example{source.Run.Run, sample, skipped})
		}
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	p.Sampled = int64(float64(p.Matched)*w.SampleRate + .5)
	daily := int64(0)
	if p.Matched > 0 {
		p.Days = min(max(newest.AsOf.Sub(first), time.Hour), previewTime).Hours() / 24
		daily = max(1, int64(float64(p.Matched)*w.SampleRate/p.Days+.5))
	}
	scorer, estimate, err := s.estimate(ctx, grant, w, samples, daily)
	if err != nil {
		return nil, err
	}
	p.Votes, p.Estimate = scorer.Votes(), estimate
	return p, nil
}
