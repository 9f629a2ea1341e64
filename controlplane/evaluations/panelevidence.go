package evaluations

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/judge"
	"github.com/looptrace/looptrace/internal/panel"
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

// anchorScores returns what a panel says of anchors now, beside what a panel of the same name said of them then. It is nil without anchors.
func (a *attempt) anchorScores(ctx context.Context, p int, votes map[voteKey]*voteFact) (*panel.Anchors, error) {
	chosen, ready := a.config.Anchors, &a.panels[p]
	if chosen == nil || len(chosen.Outputs) == 0 || ready.Kind == judge.TypePreference {
		return nil, nil //nolint:nilnil // it has none
	}
	then, err := postgres.Many[struct {
		Number     int32
		Repeat     int
		Score      *float64
		FinishedAt *time.Time
	}](ctx, a.db, "list scores of anchors", pgx.NamedArgs{"project": a.e.ProjectID, "id": chosen.EvalRunID, "score": ready.Name})
	if err != nil || len(then) == 0 { // it was deleted
		return nil, err
	}
	in := ready.input(uint64(a.e.Seed))
	for i, o := range chosen.Outputs {
		in.Outputs = append(in.Outputs, panel.Output{Item: int(o.Number), Length: math.NaN()})
		for j := range ready.regular() {
			cast := panel.Vote{Output: int32(i), Judge: int32(j), Repeat: 1, Status: panel.Pending, Cost: math.NaN(), Duration: math.NaN()}
			if v := votes[voteKey{Number: int32(-1 - i), Side: sideA, Repeat: o.Repeat, Panel: p, Judge: j, Vote: 1}]; v != nil {
				ready.fill(&cast, v)
			}
			in.Votes = append(in.Votes, cast)
		}
	}
	_, now, err := panel.Measure(*in)
	if err != nil {
		return nil, fmt.Errorf("measure anchors: %w", err)
	}
	anchors := &panel.Anchors{EvalRunID: chosen.EvalRunID.String()}
	for i, o := range chosen.Outputs {
		one := panel.Anchor{Item: int(o.Number), Then: math.NaN(), Now: math.NaN()}
		if now[i].Score != nil {
			one.Now = *now[i].Score
		}
		for _, t := range then {
			if t.Number == o.Number && t.Repeat == o.Repeat && t.Score != nil {
				one.Then = *t.Score
			}
		}
		anchors.Scores = append(anchors.Scores, one)
	}
	if then[0].FinishedAt != nil {
		anchors.At = *then[0].FinishedAt
	}
	return anchors, nil
}

// storedLabel is a label of an output.
type storedLabel struct {
	Number       int32
	Side, Repeat int
	Author       string
	Value        float64
}

func (l *storedLabel) place() outputPlace { return outputPlace{l.Number, l.Side, l.Repeat} }
