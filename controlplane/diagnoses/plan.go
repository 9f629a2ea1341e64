package diagnoses

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// groupWindow is in which time the runs of a group are looked for.
	groupWindow = 90 * 24 * time.Hour
	// failedRuns is how many failed runs of a group the model sees.
	failedRuns = 3
	// maxName is how many characters of a name are used.
	maxName = 120
)

// Wanted is a diagnosis to make.
type Wanted struct {
	Project uuid.UUID
	// Fingerprint names a group of failed runs.
	Fingerprint   string
	Provider      uuid.UUID
	Model         string
	MaxCost       *providers.Money
	AllowUnpriced bool
}

// Estimate is what a diagnosis is expected to take.
type Estimate struct {
	InputTokens int64 `json:"input_tokens"`
	// Low is the cost of the question alone, High that of two questions with the longest answers: the model is asked again if the first cannot
	// be read. Both are nil if the model has no price.
	Low  *providers.Money `json:"low"`
	High *providers.Money `json:"high"`
}

// Plan says what the model would be asked, and what that would cost. It calls nothing.
func (s *Service) Plan(ctx context.Context, grant access.Grant, n *Wanted) (*Config, error) {
	config, _, err := s.plan(ctx, grant, n)
	return config, err
}

// Create starts a diagnosis.
func (s *Service) Create(ctx context.Context, grant access.Grant, n *Wanted) (created Diagnosis, err error) {
	config, name, err := s.plan(ctx, grant, n)
	if err != nil {
		return created, err
	}
	if n.MaxCost != nil && config.Estimate.Low == nil && !n.AllowUnpriced {
		return created, &problem.Error{
			Kind: problem.Invalid, Code: "price_unknown",
			Detail: fmt.Sprintf("A cost cap needs the price of the model, and there is none for %s. Add one in Settings → Prices, or allow models without a price.", n.Model),
			Fields: []problem.Field{{Location: "body.max_cost_usd", Message: "needs the price of the model"}},
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return created, fmt.Errorf("encode the configuration: %w", err)
	}
	args := pgx.NamedArgs{
		"id": postgres.NewID(), "project": n.Project, "name": name, "fingerprint": n.Fingerprint, "config": string(text), "max_cost": n.MaxCost, "allow_unpriced": n.AllowUnpriced,
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		id := args["id"].(uuid.UUID)
		if args["job"], err = s.jobs.Add(ctx, tx.PGX(), n.Project, jobArgs{id}); err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		if _, err := tx.Exec(ctx, "create diagnosis", args); err != nil {
			return err
		}
		created, err = s.get(ctx, tx, grant.Projects, id)
		return err
	})
	return created, err
}

// plan chooses the runs, and writes the question to measure it.
func (s *Service) plan(ctx context.Context, grant access.Grant, n *Wanted) (*Config, string, error) {
	in := grant.Only(n.Project)
	connection, err := s.providers.Connect(ctx, in, n.Provider, n.Model)
	if problem.Is(err, problem.NotFound) {
		err = problem.InvalidField("body.provider_id", "is no connection of the project")
	}
	if err != nil {
		return nil, "", err //nolint:wrapcheck // it is for the client
	}
	config := &Config{ProviderID: n.Provider, ProviderName: connection.Provider.Name, Model: n.Model, PromptVersion: promptVersion}
	name, err := s.choose(ctx, in, n, config)
	if err != nil {
		return nil, "", err
	}
	asked, err := s.ask(ctx, in, config)
	if err != nil {
		return nil, "", err
	}
	config.Estimate.InputTokens = asked.tokens
	low, high := connection.Estimate(asked.tokens, new(int64(maxOutput)))
	config.Estimate.Low = low
	if high != nil {
		config.Estimate.High = new(2 * *high)
	}
	return config, name, nil
}

// choose sets the group and the runs. It returns a name for the diagnosis.
func (s *Service) choose(ctx context.Context, in access.Projects, n *Wanted, config *Config) (name string, err error) {
	group, err := s.group(ctx, in, n)
	if err != nil {
		return "", err
	}
	config.Group = s.groupText(group)
	for i := range group.Sample[:min(len(group.Sample), failedRuns)] {
		config.Runs = append(config.Runs, askedRun(&group.Sample[i].Run, false))
	}
	good, err := s.goodRun(ctx, in, n.Project, &group.Sample[0].Run)
	if good != nil {
		config.Runs = append(config.Runs, askedRun(good, true))
	}
	return agentview.SafeName(group.Class) + " in " + cmp.Or(agentview.SafeName(group.StepName), "a step"), err
}

func askedRun(run *runmodel.Run, good bool) AskedRun {
	return AskedRun{RunID: run.RunID, Name: line(run.Name, maxName), Good: good}
}

// group reads a group with some of its runs.
func (s *Service) group(ctx context.Context, in access.Projects, n *Wanted) (*failures.Group, error) {
	page, err := s.groups.Get(ctx, in, runs.Filter{ProjectID: n.Project}, groupWindow, n.Fingerprint)
	if errors.Is(err, runs.ErrNotFound) {
		err = problem.InvalidField("body.fingerprint", "is that of no run of the last 90 days")
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	group := &page.Groups[0]
	if len(group.Sample) > 0 {
		return group, nil
	}
	// All of its runs are too large to be compared.
	list, err := s.runs.List(ctx, in, runs.ListQuery{Filter: runs.Filter{ProjectID: n.Project, Fingerprint: n.Fingerprint, Window: groupWindow}, Order: runs.NewestFirst, Limit: failedRuns})
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	for i := range list.Runs {
		group.Sample = append(group.Sample, failures.Run{Run: list.Runs[i].Run})
	}
	if len(group.Sample) == 0 { // they were deleted meanwhile
		return nil, problem.InvalidField("body.fingerprint", "is that of no run of the last 90 days")
	}
	return group, nil
}

// goodRun returns the newest run of the same agent, or of the same name without an agent, that started before a failed run and ended well, nil
// if there is none.
func (s *Service) goodRun(ctx context.Context, in access.Projects, project uuid.UUID, failed *runmodel.Run) (*runmodel.Run, error) {
	filter := runs.Filter{
		ProjectID: project, StartBefore: failed.StartTime, Outcomes: []string{runmodel.OutcomeSucceeded, runmodel.OutcomeRecovered}, AgentName: failed.AgentName, Source: failed.Source,
	}
	if failed.AgentName == "" {
		filter.Name = failed.Name
	}
	page, err := s.runs.List(ctx, in, runs.ListQuery{Filter: filter, Order: runs.NewestFirst, Limit: 1})
	if err != nil || len(page.Runs) == 0 {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	return &page.Runs[0].Run, nil
}
