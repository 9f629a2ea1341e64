package results

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/internal/postgres"
)

// addLabels adds the labels of people on outputs that were given on the scale of the panel, the number of others, and where these are
// outputs of an eval-run, what its panel of the same name and scale said of them.
func (s *Reader) addLabels(ctx context.Context, r *Results, p int, in *panel.Input, outputs []outputKey) error {
	ready := &r.judged[p]
	if ready.Kind == judge.TypePreference {
		return nil
	}
	args := pgx.NamedArgs{"project": r.e.ProjectID, "id": r.e.ID, "score": ready.Name, "scale": ready.ScaleText()}
	others, err := postgres.One[struct{ Labels int }](ctx, s.db, "count labels on other scales", args)
	if err != nil {
		return err
	}
	in.OtherLabels = others.Labels
	found, err := postgres.Many[storedLabel](ctx, s.db, "list labels for statistics", args)
	if err != nil || len(found) == 0 {
		return err
	}
	at, people := map[outputKey]int{}, map[string]int{}
	for i, output := range outputs {
		at[output] = i
	}
	numbers := map[int32]bool{}
	for _, f := range found {
		output, ok := at[f.output()]
		if !ok { // after the last item that is read
			continue
		}
		if _, ok := people[f.Author]; !ok {
			people[f.Author] = len(people)
		}
		in.Labels = append(in.Labels, panel.Label{Output: output, Person: people[f.Author], Value: ready.Value(f.Value)})
		numbers[f.Number] = true
	}
	source := r.config.Sides[evaluations.SideA].EvalRunID
	if r.e.Kind != evaluations.EvalRun || source == nil {
		return nil
	}
	before, err := postgres.Many[struct {
		Number int32
		Repeat int
		Value  *float64
	}](ctx, s.db, "list scores before", pgx.NamedArgs{"id": r.e.ID, "source": source, "score": ready.Name, "scale": ready.ScaleText(), "numbers": slices.Collect(maps.Keys(numbers))})
	for _, b := range before {
		if output, ok := at[outputKey{b.Number, evaluations.SideA, b.Repeat}]; ok && b.Value != nil {
			in.Before = append(in.Before, panel.Earlier{Output: output, Value: *b.Value})
		}
	}
	return err
}

// storedLabel is a label of an output.
type storedLabel struct {
	Number       int32
	Side, Repeat int
	Author       string
	Value        float64
}

func (l *storedLabel) output() outputKey { return outputKey{l.Number, l.Side, l.Repeat} }
