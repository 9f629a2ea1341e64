package evaluations

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"

	"github.com/looptrace/looptrace/internal/postgres"
)

// addLabels adds the labels of people on outputs that were given on the scale of the panel, the number of others, and where these are outputs of an eval-run, what its panel of the same name and
// scale said of them.
func (a *attempt) addLabels(ctx context.Context, p int, in *panel.Input, places []outputPlace) error {
	ready := &a.panels[p]
	if ready.Kind == judge.TypePreference {
		return nil
	}
	args := pgx.NamedArgs{"project": a.e.ProjectID, "id": a.e.ID, "score": ready.Name, "scale": ready.scaleText()}
	others, err := postgres.One[struct{ Labels int }](ctx, a.db, "count labels on other scales", args)
	if err != nil {
		return err
	}
	in.OtherLabels = others.Labels
	found, err := postgres.Many[storedLabel](ctx, a.db, "list labels for statistics", args)
	if err != nil || len(found) == 0 {
		return err
	}
	at, people := map[outputPlace]int{}, map[string]int{}
	for i, place := range places {
		at[place] = i
	}
	numbers := map[int32]bool{}
	for _, f := range found {
		output, ok := at[f.place()]
		if !ok { // after the last item that is read
			continue
		}
		if _, ok := people[f.Author]; !ok {
			people[f.Author] = len(people)
		}
		in.Labels = append(in.Labels, panel.Label{Output: output, Person: people[f.Author], Value: ready.value(f.Value)})
		numbers[f.Number] = true
	}
	source := a.config.Sides[sideA].EvalRunID
	if a.e.Kind != EvalRun || source == nil {
		return nil
	}
	before, err := postgres.Many[struct {
		Number int32
		Repeat int
		Value  *float64
	}](ctx, a.db, "list scores before", pgx.NamedArgs{"id": a.e.ID, "source": source, "score": ready.Name, "scale": ready.scaleText(), "numbers": slices.Collect(maps.Keys(numbers))})
	for _, b := range before {
		if output, ok := at[outputPlace{b.Number, sideA, b.Repeat}]; ok && b.Value != nil {
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

func (l *storedLabel) place() outputPlace { return outputPlace{l.Number, l.Side, l.Repeat} }
