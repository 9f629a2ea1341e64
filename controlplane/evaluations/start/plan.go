package start

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

type missingKey struct{ side, variable, reason string }

// plan is an evaluation that was checked.
type plan struct {
	dataset   datasets.Dataset
	revision  int
	renderers [2]*evaluations.Renderer // nil for outputs that are there
	panels    []evaluations.ReadyPanel
	graders   []*grader.Grader
	items     []plannedItem
	missing   map[missingKey]*evaluations.Missing
	pilot     []datasets.Item
	// groupBy is the path by which items belong together, grouped whether an item has a value there.
	groupBy  []string
	grouped  bool
	estimate evaluations.Estimate
}

type plannedItem struct {
	id      uuid.UUID
	ordinal int64
	key     *string
	hash    []byte
	skipped string // why, or empty
}

// itemsOf returns the items of an evaluation.
func (s *Starter) itemsOf(ctx context.Context, id uuid.UUID) ([]uuid.UUID, error) {
	found, err := postgres.Many[struct{ ItemID uuid.UUID }](ctx, s.db, "list item ids", pgx.NamedArgs{"id": id})
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].ItemID
	}
	return ids, err
}

// plan checks an evaluation: every item is rendered with its configurations and prompts of judges.
func (s *Starter) plan(ctx context.Context, grant access.Grant, n *Wanted) (*plan, error) {
	p := &plan{missing: map[missingKey]*evaluations.Missing{}}
	var err error
	if err := n.checkTexts(); err != nil {
		return nil, err
	}
	if n.Config.GroupBy != "" {
		if p.groupBy, err = evaluations.ItemPath("body.group_by", n.Config.GroupBy); err != nil {
			return nil, err
		}
	}
	if err := s.planSides(ctx, grant, n, p); err != nil {
		return nil, err
	}
	if p.graders, err = evaluations.ParseGraders("body.graders", n.Config.Graders); err != nil {
		return nil, err
	}
	if err := evaluations.CheckRemoved("body.panels", n.Config.Panels); err != nil {
		return nil, err
	}
	if p.panels, err = n.Config.ReadPanels("body.panels", n.Kind); err != nil {
		return nil, err
	}
	if err := evaluations.CheckPasses("body.panels", p.panels); err != nil {
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
	if n.Config.Target.Type == evaluations.TargetRuns {
		err = p.takeRuns(n)
	} else {
		err = s.renderAll(ctx, grant, n, p)
	}
	if err != nil {
		return nil, err
	}
	return p, s.estimate(ctx, grant, n, p)
}

// planSides checks where the outputs come from.
func (s *Starter) planSides(ctx context.Context, grant access.Grant, n *Wanted, p *plan) error {
	for i := range n.Config.Sides {
		side, location := &n.Config.Sides[i], "body."+evaluations.SideNames[i]
		if n.Kind == evaluations.EvalRun {
			location = "body.target"
		}
		switch {
		case n.Kind == evaluations.EvalRun && i == evaluations.SideB:
		case side.EvalRunID != nil:
			if err := s.useEvalRun(ctx, grant, location, n, side); err != nil {
				return err
			}
		case n.sent():
			side.Repeats = n.Repeats
		case side.Reference:
			if n.Repeats > 1 {
				return problem.InvalidField("body.repeats", "must be 1: an item has one reference output")
			}
			side.Repeats = 1
		default:
			side.Repeats = n.Repeats
			if n.Kind == evaluations.EvalRun {
				location += ".config"
			}
			var err error
			if p.renderers[i], err = evaluations.NewRenderer(location, side); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTexts checks what an evaluation says of itself.
func (n *Wanted) checkTexts() error {
	for location, text := range map[string]string{"body.name": n.Name, "body.branch": n.Branch, "body.commit": n.Commit, "body.split": n.Split, "body.primary_metric": n.Primary} {
		if text == "" {
			continue
		}
		if err := validate.Printable(location, text); err != nil {
			return err //nolint:wrapcheck // it is for the client
		}
	}
	for key, value := range n.Metadata {
		if utf8text.Storable(key+value) != key+value {
			return problem.InvalidField("body.metadata."+key, "has characters that cannot be stored")
		}
	}
	return nil
}

// choosePrimary sets the primary metric.
func (n *Wanted) choosePrimary(graders []*grader.Grader) error {
	var names []string
	for i := range n.Config.Panels {
		names = append(names, n.Config.Panels[i].Name)
	}
	for _, g := range graders {
		if slices.Contains(names, g.Name()) {
			return problem.InvalidField("body.graders", fmt.Sprintf("has a grader %q, which is the name of a panel: give each its own name", g.Name()))
		}
		names = append(names, g.Name())
	}
	if n.Primary == "" && len(names) > 0 {
		n.Primary = names[0]
	}
	if n.sent() { // it may be a score of theirs
		if evaluations.IsMeasured(n.Primary) {
			return problem.InvalidField("body.primary_metric", fmt.Sprintf("is %q, which is no score", n.Primary))
		}
		return nil
	}
	switch {
	case n.Config.StopEarly && n.Primary == "":
		return problem.InvalidField("body.stop_early", "needs a score that decides: add a grader, or name a primary_metric")
	case n.Config.StopEarly && n.Config.Sides[evaluations.SideA].EvalRunID != nil && n.Config.Sides[evaluations.SideB].EvalRunID != nil:
		return problem.InvalidField("body.stop_early", "saves nothing: all outputs were made before")
	case n.Primary != "" && !slices.Contains(n.scores, n.Primary) && !slices.Contains(names, n.Primary):
		return problem.InvalidField("body.primary_metric", "is neither the name of a panel or grader of the evaluation nor that of a score of its eval-runs")
	}
	return nil
}

// useEvalRun makes the outputs of an eval-run a side. The comparison takes its revision and split unless it names others.
func (s *Starter) useEvalRun(ctx context.Context, grant access.Grant, location string, n *Wanted, side *evaluations.Side) error {
	found, err := s.sourceRun(ctx, grant, location+".eval_run_id", *side.EvalRunID)
	if err != nil {
		return err
	}
	if found.DatasetID != n.Dataset {
		return problem.InvalidField(location+".eval_run_id", "is an eval-run of another dataset")
	}
	scores, err := results.EvalRunScores(&found)
	if err != nil {
		return err
	}
	n.scores = append(n.scores, scores...)
	if side.Labelled {
		if n.Items, err = s.labelledItems(ctx, &found); err != nil {
			return err
		}
		if len(n.Items) == 0 {
			return problem.InvalidField(location+".labelled", "needs labels, and no output of the eval-run has one: label some first")
		}
	}
	if n.Kind == evaluations.EvalRun {
		n.Repeats = found.Repeats
	}
	if n.Revision == nil {
		n.Revision = &found.Revision
		if n.Split == "" {
			n.Split = optional.Value(found.Split)
		}
	}
	side.Repeats = found.Repeats
	if side.Name == "" {
		side.Name = strings.Join(slices.DeleteFunc([]string{found.Name, optional.Value(found.Branch), optional.Value(found.Commit)}, func(s string) bool { return s == "" }), " ")
	}
	return nil
}

// renderAll renders all items.
func (s *Starter) renderAll(ctx context.Context, grant access.Grant, n *Wanted, p *plan) error {
	wanted := map[uuid.UUID]bool{}
	for _, id := range n.Items {
		wanted[id] = true
	}
	query := datasets.ItemsQuery{Revision: &p.revision, Split: n.Split}
	err := s.datasets.Export(ctx, grant, n.Dataset, query, func(item *datasets.Item) error {
		if len(n.Items) > 0 && !wanted[item.ItemID] {
			return nil
		}
		delete(wanted, item.ItemID)
		if len(p.items) >= min(maxItems, maxOutputs/n.Config.Repeats()) {
			return problem.InvalidField("body.dataset_id", fmt.Sprintf("has too many items in this revision and split: an evaluation has at most %d items and %d outputs", maxItems, maxOutputs))
		}
		if len(p.groupBy) > 0 && !p.grouped {
			var err error
			if _, p.grouped, err = evaluations.ValueAt(item, p.groupBy); err != nil {
				return err
			}
		}
		planned := plannedItem{id: item.ItemID, ordinal: item.Ordinal, key: item.Key, hash: item.ContentHash}
		for i, r := range p.renderers {
			if r == nil {
				continue
			}
			_, _, err := r.Render(item)
			if err == nil {
				continue
			}
			refused := problem.Of(err)
			if refused == nil {
				return err
			}
			planned.skipped = p.note(evaluations.SideNames[i], item, refused)
		}
		if planned.skipped == "" && !n.sent() {
			planned.skipped = p.judgeable(item)
		}
		if planned.skipped == "" && len(p.pilot) < evaluations.PilotItems {
			p.pilot = append(p.pilot, *item)
		}
		p.items = append(p.items, planned)
		return nil
	})
	if err != nil {
		return err
	}
	for i, id := range n.Items {
		if wanted[id] && n.Config.Sides[evaluations.SideA].EvalRunID == nil {
			return problem.InvalidField(fmt.Sprintf("body.item_ids[%d]", i), "is no item of this revision and split")
		}
	}
	if len(p.items) == 0 {
		return problem.InvalidField("body.dataset_id", "has no items in this revision and split")
	}
	if len(p.groupBy) > 0 && !p.grouped {
		return problem.InvalidField("body.group_by", "is a path at which no item has a value")
	}
	return nil
}

// judgeable returns why a judge cannot be asked about an output of an item, empty if it can.
func (p *plan) judgeable(item *datasets.Item) string {
	for i := range p.panels {
		for j := range p.panels[i].All {
			one := &p.panels[i].All[j]
			_, err := one.Try(evaluations.JudgeItem(item))
			if refused := problem.Of(err); refused != nil {
				return p.note(p.panels[i].Name+"/"+one.Name, item, refused)
			}
		}
	}
	return ""
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
			m = &evaluations.Missing{Side: side, Variable: name, Reason: field.Message}
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
		Detail: fmt.Sprintf("%d of %d items cannot be rendered. Say with variables_map where the values are, fix the items, or skip them with on_incompatible.", p.estimate.Incompatible, p.estimate.Items),
	}
}

const (
	// maxItems and maxOutputs limit an evaluation.
	maxItems, maxOutputs = 100_000, 1_000_000
)

// sent reports whether the outputs of an eval-run are sent to it, before its job runs.
func (n *Wanted) sent() bool { return n.Config.Sent(n.Kind) }

// sourceRun returns an eval-run of the project that has ended: its results are needed, not its summary.
func (s *Starter) sourceRun(ctx context.Context, grant access.Grant, location string, id uuid.UUID) (evaluations.Evaluation, error) {
	found, err := s.evaluations.Get(ctx, grant, evaluations.EvalRun, id)
	if project, projectErr := grant.Project(); problem.Is(err, problem.NotFound) || err == nil && (projectErr != nil || found.ProjectID != project) {
		return found, problem.InvalidField(location, "is no eval-run of the project")
	}
	if err == nil && found.Unfinished() {
		return found, &problem.Error{Kind: problem.Conflict, Code: "evaluation_running", Detail: fmt.Sprintf("The eval-run %q still runs. Finish it first.", found.Name)}
	}
	return found, err
}

// labelledItems returns the items of which an output of an eval-run has a label.
func (s *Starter) labelledItems(ctx context.Context, e *evaluations.Evaluation) ([]uuid.UUID, error) {
	found, err := postgres.Many[struct{ ItemID uuid.UUID }](ctx, s.db, "list labelled items", pgx.NamedArgs{"project": e.ProjectID, "id": e.ID})
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].ItemID
	}
	return ids, err
}
