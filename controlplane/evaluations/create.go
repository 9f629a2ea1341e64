package evaluations

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/jobs"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/grader"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/validate"
)

const (
	// maxExamples is how many items are named for each variable that is missing.
	maxExamples = 5
	// pilotItems is how many items the first estimates rest on.
	pilotItems = 5
)

// Wanted is a comparison to start.
type Wanted struct {
	Name          string
	Dataset       uuid.UUID
	Revision      *int
	Split         string
	Repeats       int
	Seed          int64
	Config        Config
	Primary       string
	MaxCost       *providers.Money
	AllowUnpriced bool

	// scores are those of the eval-runs among the sides.
	scores []string
}

type missingKey struct{ side, variable, reason string }

// plan is a comparison that was checked.
type plan struct {
	dataset   datasets.Dataset
	revision  int
	renderers [2]*renderer // nil for an eval-run
	graders   []*grader.Grader
	items     []plannedItem
	missing   map[missingKey]*Missing
	pilot     []datasets.Item
	estimate  Estimate
}

type plannedItem struct {
	id      uuid.UUID
	ordinal int64
	key     *string
	hash    []byte
	skipped string // why, or empty
}

// Estimate checks a comparison and estimates what it costs.
func (s *Service) Estimate(ctx context.Context, grant access.Grant, n *Wanted) (Estimate, error) {
	p, err := s.plan(ctx, grant, n)
	if err != nil {
		return Estimate{}, err
	}
	return p.estimate, nil
}

// Create starts a comparison.
func (s *Service) Create(ctx context.Context, grant access.Grant, n *Wanted) (Evaluation, error) {
	project, err := grant.Project()
	if err != nil {
		return Evaluation{}, err
	}
	p, err := s.plan(ctx, grant, n)
	if err != nil {
		return Evaluation{}, err
	}
	if p.estimate.Incompatible > 0 && !n.Config.SkipIncompatible {
		return Evaluation{}, p.incompatible()
	}
	if p.estimate.Items == p.estimate.Incompatible {
		return Evaluation{}, problem.InvalidField("body.dataset_id", "has no item that can be rendered in this revision and split")
	}
	if n.MaxCost != nil && len(p.estimate.UnpricedModels) > 0 && !n.AllowUnpriced {
		return Evaluation{}, &problem.Error{
			Kind: problem.Invalid, Code: "price_unknown",
			Detail: fmt.Sprintf("max_cost_usd needs prices, and there is none for %s. Add one in Settings → Prices, or set allow_unpriced.", strings.Join(p.estimate.UnpricedModels, " and ")),
			Fields: []problem.Field{{Location: "body.max_cost_usd", Message: "needs the prices of all models"}},
		}
	}
	return s.store(ctx, grant, project, n, p)
}

// Rerun starts a comparison like another one.
func (s *Service) Rerun(ctx context.Context, grant access.Grant, id uuid.UUID) (Evaluation, error) {
	before, err := s.Get(ctx, grant, Comparison, id)
	if err != nil {
		return Evaluation{}, err
	}
	config, err := before.ReadConfig()
	if err != nil {
		return Evaluation{}, err
	}
	n := Wanted{
		Name: before.Name, Dataset: before.DatasetID, Revision: &before.Revision, Repeats: before.Repeats, Seed: before.Seed, Config: config,
		MaxCost: before.MaxCostNanousd, AllowUnpriced: before.AllowUnpriced,
	}
	if before.Split != nil {
		n.Split = *before.Split
	}
	if before.PrimaryMetric != nil {
		n.Primary = *before.PrimaryMetric
	}
	n.Config.ReadsRuns = grant.Allows(before.ProjectID, apikey.ScopeRunsRead)
	grant.Projects = grant.Only(before.ProjectID)
	return s.Create(ctx, grant, &n)
}

// plan checks a comparison: every item is rendered with both configurations.
func (s *Service) plan(ctx context.Context, grant access.Grant, n *Wanted) (*plan, error) {
	p := &plan{missing: map[missingKey]*Missing{}}
	var err error
	if n.Name != "" {
		if err := validate.Printable("body.name", n.Name); err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
	}
	for i := range n.Config.Sides {
		side := &n.Config.Sides[i]
		if side.EvalRunID != nil {
			if err := s.useEvalRun(ctx, grant, "body."+SideNames[i], n, side); err != nil {
				return nil, err
			}
			continue
		}
		side.Repeats = n.Repeats
		if p.renderers[i], err = newRenderer("body."+SideNames[i], side); err != nil {
			return nil, err
		}
	}
	if p.graders, err = ParseGraders("body.graders", n.Config.Graders); err != nil {
		return nil, err
	}
	if err := n.choosePrimary(p.graders); err != nil {
		return nil, err
	}
	if p.dataset, err = s.datasets.Get(ctx, grant, n.Dataset); err != nil {
		if problem.Is(err, problem.NotFound) {
			err = problem.InvalidField("body.dataset_id", "is no dataset of the project")
		}
		return nil, err
	}
	if project, err := grant.Project(); err != nil || p.dataset.ProjectID != project {
		return nil, problem.InvalidField("body.dataset_id", "is no dataset of the project")
	}
	p.revision = p.dataset.Revision
	if n.Revision != nil {
		if p.revision = *n.Revision; p.revision > p.dataset.Revision {
			return nil, problem.InvalidField("body.revision", fmt.Sprintf("is not a revision of the dataset: the newest is %d", p.dataset.Revision))
		}
	}
	if err := s.renderAll(ctx, grant, n, p); err != nil {
		return nil, err
	}
	return p, s.estimate(ctx, grant, n, p)
}

// choosePrimary sets the primary metric.
func (n *Wanted) choosePrimary(graders []*grader.Grader) error {
	if n.Primary == "" && len(graders) > 0 {
		n.Primary = graders[0].Name()
	}
	switch {
	case n.Config.StopEarly && n.Primary == "":
		return problem.InvalidField("body.stop_early", "needs a score that decides: add a grader, or name a primary_metric")
	case n.Config.StopEarly && n.Config.Sides[sideA].EvalRunID != nil && n.Config.Sides[sideB].EvalRunID != nil:
		return problem.InvalidField("body.stop_early", "saves nothing: all outputs were made before")
	case n.Primary != "" && !slices.Contains(n.scores, n.Primary) && !slices.ContainsFunc(graders, func(g *grader.Grader) bool { return g.Name() == n.Primary }):
		return problem.InvalidField("body.primary_metric", "is neither the name of a grader of the comparison nor that of a score of its eval-runs")
	}
	return nil
}

// useEvalRun makes the outputs of an eval-run a side. The comparison takes its revision and split unless it names others.
func (s *Service) useEvalRun(ctx context.Context, grant access.Grant, location string, n *Wanted, side *Side) error {
	found, err := s.Get(ctx, grant, EvalRun, *side.EvalRunID)
	if project, projectErr := grant.Project(); problem.Is(err, problem.NotFound) || err == nil && (projectErr != nil || found.ProjectID != project) {
		return problem.InvalidField(location+".eval_run_id", "is no eval-run of the project")
	}
	switch {
	case err != nil:
		return err
	case found.DatasetID != n.Dataset:
		return problem.InvalidField(location+".eval_run_id", "is an eval-run of another dataset")
	case found.unfinished(): // the comparison needs its results, not its summary
		return &problem.Error{Kind: problem.Conflict, Code: "evaluation_running", Detail: fmt.Sprintf("The eval-run %q still runs. Finish it first.", found.Name)}
	}
	scores, err := found.evalRunScores()
	if err != nil {
		return err
	}
	n.scores = append(n.scores, scores...)
	if n.Revision == nil {
		n.Revision = &found.Revision
		if n.Split == "" {
			n.Split = text(found.Split)
		}
	}
	side.Repeats = found.Repeats
	if side.Name == "" {
		side.Name = strings.Join(slices.DeleteFunc([]string{found.Name, text(found.Branch), text(found.Commit)}, func(s string) bool { return s == "" }), " ")
	}
	return nil
}

// renderAll renders all items.
func (s *Service) renderAll(ctx context.Context, grant access.Grant, n *Wanted, p *plan) error {
	query := datasets.ItemsQuery{Revision: &p.revision, Split: n.Split}
	err := s.datasets.Export(ctx, grant, n.Dataset, query, func(item *datasets.Item) error {
		if len(p.items) >= min(maxItems, maxOutputs/n.Config.repeats()) {
			return problem.InvalidField("body.dataset_id", fmt.Sprintf("has too many items in this revision and split: an evaluation has at most %d items and %d outputs", maxItems, maxOutputs))
		}
		planned := plannedItem{id: item.ItemID, ordinal: item.Ordinal, key: item.Key, hash: item.ContentHash}
		for i, r := range p.renderers {
			if r == nil {
				continue
			}
			_, _, err := r.render(item)
			if err == nil {
				continue
			}
			refused := problem.Of(err)
			if refused == nil {
				return err
			}
			planned.skipped = p.note(SideNames[i], item, refused)
		}
		if planned.skipped == "" && len(p.pilot) < pilotItems {
			p.pilot = append(p.pilot, *item)
		}
		p.items = append(p.items, planned)
		return nil
	})
	if err != nil {
		return err
	}
	if len(p.items) == 0 {
		return problem.InvalidField("body.dataset_id", "has no items in this revision and split")
	}
	return nil
}

// note notes why an item cannot be rendered, and returns it as text.
func (p *plan) note(side string, item *datasets.Item, refused *problem.Error) string {
	reasons := make([]string, len(refused.Fields))
	for i, field := range refused.Fields {
		name := strings.TrimPrefix(strings.TrimPrefix(field.Location, "body.variables."), "body.placeholders.")
		reasons[i] = fmt.Sprintf("%s: %s %s", side, name, field.Message)
		key := missingKey{side, name, field.Message}
		m := p.missing[key]
		if m == nil {
			m = &Missing{Side: side, Variable: name, Reason: field.Message}
			p.missing[key] = m
		}
		m.Items++
		if len(m.Examples) < maxExamples {
			example := item.ItemID.String()
			if item.Key != nil {
				example = *item.Key
			}
			m.Examples = append(m.Examples, example)
		}
	}
	return strings.Join(reasons, "; ")
}

// incompatible is the error for items that cannot be rendered.
func (p *plan) incompatible() error {
	fields := make([]problem.Field, len(p.estimate.Missing))
	for i, m := range p.estimate.Missing {
		fields[i] = problem.Field{
			Location: "body." + m.Side + ".variables_map." + m.Variable,
			Message:  fmt.Sprintf("%s in %d items, such as %s", m.Reason, m.Items, strings.Join(m.Examples, ", ")),
		}
	}
	return &problem.Error{
		Kind: problem.Invalid, Code: "items_incompatible", Fields: fields,
		Detail: fmt.Sprintf("%d of %d items cannot be rendered. Say with variables_map where the values are, mend the items, or skip them with on_incompatible.", p.estimate.Incompatible, p.estimate.Items),
	}
}

// store stores a comparison with its items, in the order in which they run, and adds its job.
func (s *Service) store(ctx context.Context, grant access.Grant, project uuid.UUID, n *Wanted, p *plan) (Evaluation, error) {
	name := n.Name
	if name == "" {
		name = n.Config.Sides[sideB].Name + " against " + n.Config.Sides[sideA].Name
		name = string([]rune(name)[:min(len([]rune(name)), maxName)])
	}
	config, err := json.Marshal(n.Config)
	if err != nil {
		return Evaluation{}, fmt.Errorf("encode the configuration: %w", err)
	}
	estimate, err := json.Marshal(p.estimate)
	if err != nil {
		return Evaluation{}, fmt.Errorf("encode the estimate: %w", err)
	}
	rand.New(rand.NewPCG(uint64(n.Seed), 0)).Shuffle(len(p.items), func(i, j int) { //nolint:gosec // an order that the seed repeats
		p.items[i], p.items[j] = p.items[j], p.items[i]
	})
	id := postgres.NewID()
	each := int64(n.Config.repeats())
	skipped := p.estimate.Incompatible * each
	args := pgx.NamedArgs{
		"id": id, "project": project, "kind": Comparison, "status": StatusQueued, "name": name, "dataset": n.Dataset, "revision": p.revision, "split": orNull(n.Split), "items": len(p.items),
		"repeats": n.Repeats, "seed": n.Seed, "config": string(config), "primary": orNull(n.Primary), "max_cost": n.MaxCost, "allow_unpriced": n.AllowUnpriced,
		"total": int64(len(p.items)) * each, "skipped": skipped, "estimate": string(estimate),
		"a_eval_run": n.Config.Sides[sideA].EvalRunID, "b_eval_run": n.Config.Sides[sideB].EvalRunID, "branch": nil, "commit": nil, "metadata": "{}",
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(), "started": nil,
	}
	var created Evaluation
	err = s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := s.db.On(tx)
		var err error
		if args["job"], err = s.jobs.Add(ctx, tx, jobArgs{id, jobs.Calls}); err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		if _, err := db.Exec(ctx, "create evaluation", args); err != nil {
			return err
		}
		if err := storeItems(ctx, tx, id, p.items); err != nil {
			return err
		}
		created, err = s.get(ctx, db, grant.Projects, Comparison, id)
		return err
	})
	return created, err
}

// storeItems stores items, whose places are their numbers.
func storeItems(ctx context.Context, tx pgx.Tx, evaluation uuid.UUID, items []plannedItem) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"evaluation_items"}, []string{"evaluation_id", "number", "item_id", "ordinal", "key", "content_hash", "status", "reason"},
		pgx.CopyFromSlice(len(items), func(i int) ([]any, error) {
			item := &items[i]
			status := ItemPending
			if item.skipped != "" {
				status = ItemSkipped
			}
			return []any{evaluation, i + 1, item.id, item.ordinal, item.key, item.hash, string(status), orNull(item.skipped)}, nil
		}))
	if err != nil {
		return fmt.Errorf("store the items: %w", err)
	}
	return nil
}

// maxName is the length of a name.
const maxName = 200

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
