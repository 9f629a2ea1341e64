// Package start plans, estimates, starts and resumes evaluations, and takes results that other programs send.
package start

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

//go:embed queries.sql
var queries string

const (
	// maxExamples is how many items are named for each variable that is missing.
	maxExamples = 5
)

// gradingTime is the GradingTime of a new starter. One grader may take as long again before it ends.
const gradingTime = 10 * time.Second

// Starter starts and resumes evaluations, and takes results that other programs send.
type Starter struct {
	// GradingTime is how long a request grades results from outside. A job grades the rest.
	GradingTime time.Duration

	db          postgres.DB
	jobs        *work.Queue
	evaluations *evaluations.Service
	results     *results.Reader
	datasets    *datasets.Service
	providers   *providers.Service
	now         func() time.Time
}

// New returns a starter on the database, whose jobs a worker does. now is the clock.
func New(
	pool *pgxpool.Pool, queue *work.Queue, stored *evaluations.Service, read *results.Reader, sets *datasets.Service, models *providers.Service, now func() time.Time,
) *Starter {
	return &Starter{gradingTime, postgres.NewDB(pool, queries), queue, stored, read, sets, models, postgres.Clock(now)}
}

// Wanted is an evaluation to start.
type Wanted struct {
	Kind     evaluations.Type
	Name     string
	Dataset  uuid.UUID
	Revision *int
	Split    string
	// Items are the only ones, nil for all.
	Items         []uuid.UUID
	Repeats       int
	Seed          int64
	Config        evaluations.Config
	Primary       string
	MaxCost       *providers.Money
	AllowUnpriced bool
	// Branch, Commit and Metadata are what an eval-run says of itself.
	Branch, Commit string
	Metadata       map[string]string

	// Runs are those whose outputs are evaluated, for [TargetRuns].
	Runs []RecordedRun

	// scores are those of the eval-runs among the sides.
	scores []string
}

// Estimate checks an evaluation, and estimates what it costs and what it may show.
func (s *Starter) Estimate(ctx context.Context, grant access.Grant, n *Wanted, goal Goal) (evaluations.Estimate, *Forecast, error) {
	p, err := s.plan(ctx, grant, n)
	if err != nil {
		return evaluations.Estimate{}, nil, err
	}
	forecast, err := s.forecast(ctx, grant, n, p, goal)
	return p.estimate, forecast, err
}

// Create starts an evaluation.
func (s *Starter) Create(ctx context.Context, grant access.Grant, n *Wanted) (evaluations.Evaluation, error) {
	project, err := grant.Project()
	if err != nil {
		return evaluations.Evaluation{}, err
	}
	p, err := s.plan(ctx, grant, n)
	if err != nil {
		return evaluations.Evaluation{}, err
	}
	if p.estimate.Incompatible > 0 && !n.Config.SkipIncompatible {
		return evaluations.Evaluation{}, p.incompatible()
	}
	if p.estimate.Items == p.estimate.Incompatible {
		return evaluations.Evaluation{}, problem.InvalidField("body.dataset_id", "has no item that can be rendered in this revision and split")
	}
	if n.MaxCost != nil && len(p.estimate.UnpricedModels) > 0 && !n.AllowUnpriced {
		return evaluations.Evaluation{}, &problem.Error{
			Kind: problem.Invalid, Code: "price_unknown",
			Detail: fmt.Sprintf("max_cost_usd needs prices, and there is none for %s. Add one in Settings → Prices, or set allow_unpriced.", strings.Join(p.estimate.UnpricedModels, " and ")),
			Fields: []problem.Field{{Location: "body.max_cost_usd", Message: "needs the prices of all models"}},
		}
	}
	return s.store(ctx, grant, project, n, p)
}

// Rerun starts an evaluation like another one.
func (s *Starter) Rerun(ctx context.Context, grant access.Grant, kind evaluations.Type, id uuid.UUID) (evaluations.Evaluation, error) {
	before, err := s.evaluations.Get(ctx, grant, kind, id)
	if err != nil {
		return evaluations.Evaluation{}, err
	}
	config, err := before.ReadConfig()
	if err != nil {
		return evaluations.Evaluation{}, err
	}
	if config.Sent(kind) {
		return evaluations.Evaluation{}, errSent(&config)
	}
	n := Wanted{
		Kind: kind, Name: before.Name, Branch: optional.Value(before.Branch), Commit: optional.Value(before.Commit), Dataset: before.DatasetID, Revision: &before.Revision, Repeats: before.Repeats, Seed: before.Seed, Config: config,
		MaxCost: before.MaxCostNanousd, AllowUnpriced: before.AllowUnpriced,
	}
	if before.Split != nil {
		n.Split = *before.Split
	}
	if err := json.Unmarshal([]byte(before.Metadata), &n.Metadata); err != nil {
		return evaluations.Evaluation{}, fmt.Errorf("read the metadata of evaluation %s: %w", before.ID, err)
	}
	if kind == evaluations.EvalRun { // the items that it had, which may be some of the split
		if n.Items, err = s.itemsOf(ctx, id); err != nil {
			return evaluations.Evaluation{}, err
		}
	}
	if before.PrimaryMetric != nil {
		n.Primary = *before.PrimaryMetric
	}
	n.Config.ReadsRuns = grant.Allows(before.ProjectID, apikey.ScopeRunsRead)
	grant.Projects = grant.Only(before.ProjectID)
	return s.Create(ctx, grant, &n)
}

// store stores an evaluation with its items, in the order in which they run, and adds its job. Where results are sent to it, they have the
// order of the dataset, and the job comes later.
func (s *Starter) store(ctx context.Context, grant access.Grant, project uuid.UUID, n *Wanted, p *plan) (evaluations.Evaluation, error) {
	id := postgres.NewID()
	if !n.sent() {
		rand.New(rand.NewPCG(uint64(n.Seed), 0)).Shuffle(len(p.items), func(i, j int) { //nolint:gosec // an order that the seed repeats
			p.items[i], p.items[j] = p.items[j], p.items[i]
		})
	}
	var created evaluations.Evaluation
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := s.db.On(tx)
		var results []storedResult
		if n.Config.Target.Type == evaluations.TargetRuns {
			var err error
			if results, err = s.writeRuns(ctx, tx, grant, n, p); err != nil {
				return err
			}
		}
		args, err := n.row(id, project, p, s.now())
		if err != nil {
			return err
		}
		args["author"], args["author_key"] = grant.CreatedBy(), grant.CreatedByKey()
		if !n.sent() {
			if args["job"], err = s.jobs.Add(ctx, tx, project, evaluations.NewJob(id, work.Calls)); err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
		}
		if _, err := db.Exec(ctx, "create evaluation", args); err != nil {
			return err
		}
		if err := storeItems(ctx, tx, id, p.items); err != nil {
			return err
		}
		if created, err = s.evaluations.GetIn(ctx, tx, grant, n.Kind, id); err != nil || n.Config.Target.Type != evaluations.TargetRuns {
			return err
		}
		if err := s.storeRuns(ctx, tx, &created, &n.Config, results); err != nil {
			return err
		}
		created, err = s.evaluations.GetIn(ctx, tx, grant, n.Kind, id)
		return err
	})
	return created, err
}

// row returns what is stored of an evaluation that starts, without its author.
func (n *Wanted) row(id, project uuid.UUID, p *plan, now time.Time) (pgx.NamedArgs, error) {
	name := n.Name
	if name == "" {
		name = utf8text.Cut(n.Config.Sides[evaluations.SideB].Name+" against "+n.Config.Sides[evaluations.SideA].Name, maxName)
	}
	texts := map[string]string{}
	for part, value := range map[string]any{"config": n.Config, "estimate": p.estimate, "metadata": n.Metadata} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode the %s: %w", part, err)
		}
		texts[part] = string(text)
	}
	if n.Metadata == nil {
		texts["metadata"] = "{}"
	}
	each := int64(n.Config.Repeats())
	votes := each * votesOfOutput(p.panels)
	args := pgx.NamedArgs{
		"id": id, "project": project, "kind": n.Kind, "status": evaluations.StatusQueued, "name": name, "dataset": n.Dataset, "revision": p.revision, "split": optional.NonZero(n.Split), "items": len(p.items),
		"repeats": n.Repeats, "seed": n.Seed, "config": texts["config"], "primary": optional.NonZero(n.Primary), "max_cost": n.MaxCost, "allow_unpriced": n.AllowUnpriced,
		"total": int64(len(p.items)) * each, "skipped": p.estimate.Incompatible * each, "votes": int64(len(p.items)) * votes, "votes_skipped": p.estimate.Incompatible * votes,
		"estimate": texts["estimate"], "a_eval_run": nil, "b_eval_run": nil, "source_eval_run": nil, "branch": optional.NonZero(n.Branch), "commit": optional.NonZero(n.Commit),
		"metadata": texts["metadata"], "now": now, "started": nil, "job": nil,
	}
	switch {
	case n.sent():
		args["status"], args["started"] = evaluations.StatusRunning, now
	case n.Kind == evaluations.Comparison:
		args["a_eval_run"], args["b_eval_run"] = n.Config.Sides[evaluations.SideA].EvalRunID, n.Config.Sides[evaluations.SideB].EvalRunID
	default:
		args["source_eval_run"] = n.Config.Sides[evaluations.SideA].EvalRunID
	}
	return args, nil
}

// storeItems stores items, numbered in their order.
func storeItems(ctx context.Context, tx pgx.Tx, evaluation uuid.UUID, items []plannedItem) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"evaluation_items"}, []string{"evaluation_id", "number", "item_id", "ordinal", "key", "content_hash", "status", "reason"},
		pgx.CopyFromSlice(len(items), func(i int) ([]any, error) {
			item := &items[i]
			status := evaluations.ItemPending
			if item.skipped != "" {
				status = evaluations.ItemSkipped
			}
			return []any{evaluation, i + 1, item.id, item.ordinal, item.key, item.hash, string(status), optional.NonZero(item.skipped)}, nil
		}))
	if err != nil {
		return fmt.Errorf("store the items: %w", err)
	}
	return nil
}

// maxName is the length of a name.
const maxName = 200

// votesOfOutput returns how many votes an output of a side has. Those of a preference are about both sides: half of them count for each.
func votesOfOutput(panels []evaluations.ReadyPanel) int64 {
	votes := 0
	for i := range panels {
		for j := range panels[i].All {
			votes += panels[i].All[j].Repeats // a preference has two orders, and outputs of two sides
		}
	}
	return int64(votes)
}
