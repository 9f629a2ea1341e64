package evaluations

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
)

// Orders are those that a vote is asked in: whether b comes first.
func (p *ReadyPanel) Orders() []bool {
	if p.Kind == judge.TypePreference {
		return []bool{false, true}
	}
	return []bool{false}
}

func (p *ReadyPanel) order(swapped bool) panel.Order {
	switch {
	case p.Kind != judge.TypePreference:
		return panel.NoOrder
	case swapped:
		return panel.BA
	}
	return panel.AB
}

// Input returns the panel without outputs.
func (p *ReadyPanel) Input(seed uint64) *panel.Input {
	in := &panel.Input{Name: p.Name, Kind: panel.Kind(p.Kind), Aggregate: p.Aggregate, Seed: seed, Judges: make([]panel.Judge, len(p.All))}
	for j := range p.All {
		one := &p.All[j]
		in.Judges[j] = panel.Judge{
			Name: one.Name, ProviderName: one.Stored.ProviderName, Model: one.Config.Model, Version: one.Stored.Version,
			Escalation: j == len(p.Judges),
		}
	}
	if s := p.Scale; s != nil {
		in.Scale = panel.Scale{Type: panel.ScaleType(s.Type), Labels: s.Labels}
		if s.Min != nil && s.Max != nil {
			in.Scale.Min, in.Scale.Max = *s.Min, *s.Max
		}
		in.Scale.PassAt, in.Scale.PassLabels = p.passing()
	}
	return in
}

// passing returns what passes, by the first judge: the lowest number, or index of a label, or the indexes of labels.
func (p *ReadyPanel) passing() (*float64, []int) {
	d := p.All[0].Definition()
	switch pass := d.Pass; {
	case pass == nil || d.Scale.Type == judge.Binary:
		return nil, nil
	case pass.AtLeast != nil:
		return pass.AtLeast, nil
	case pass.Label != "":
		return new(float64(slices.Index(d.Scale.Labels, pass.Label))), nil
	default:
		indexes := make([]int, len(pass.Labels))
		for i, label := range pass.Labels {
			indexes[i] = slices.Index(d.Scale.Labels, label)
		}
		return nil, indexes
	}
}

// Value returns the value of a vote as a panel takes it: labels count from 0, and preferences go from 0 for a to 1 for b.
func (p *ReadyPanel) Value(value float64) float64 {
	switch {
	case p.Kind == judge.TypePreference:
		return (value + 1) / 2 //nolint:mnd // from -1 to 1
	case p.Scale.Type == judge.Ordinal && len(p.Scale.Labels) > 0:
		return value - 1
	}
	return value
}

// ScaleText is the scale as JSON, as labels keep it. Panels of other eval-runs with the same name may have another scale.
func (p *ReadyPanel) ScaleText() string {
	text, err := json.Marshal(p.Scale)
	if err != nil { // it came from JSON
		panic(fmt.Sprintf("encode the scale of a panel: %v", err))
	}
	return string(text)
}

// Vote returns a vote of a judge as a panel takes it, before anything is known of it but a status.
func (p *ReadyPanel) Vote(j, vote int, swapped bool, status panel.Status) panel.Vote {
	return panel.Vote{Judge: int32(j), Repeat: int16(vote), Order: p.order(swapped), Status: status, Cost: math.NaN(), Duration: math.NaN()}
}

// SetVote fills in what a judge said.
func (p *ReadyPanel) SetVote(cast *panel.Vote, status judge.Status, value *float64) {
	cast.Status = statuses[status]
	if value != nil {
		cast.Value = p.Value(*value)
	}
}

var statuses = map[judge.Status]panel.Status{
	judge.StatusOK: panel.OK, judge.StatusParseError: panel.ParseError, judge.StatusRefused: panel.Refused, judge.StatusOffScale: panel.OffScale,
	judge.StatusTimeout: panel.Timeout, judge.StatusProviderError: panel.ProviderError,
}
