package evaluations

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Vote is a vote of a judge on an output.
type Vote struct {
	VoteKey
	PanelName, JudgeName string
	Escalated            bool
	// Order is ab or ba for a preference, else empty.
	Order  judge.Order
	Status judge.Status
	// Value is on the scale of the judge, nil for categories and preferences. Score is from 0 to 1.
	Value, Score                     *float64
	Label                            *string
	Pass                             *bool
	Reason                           string
	Raw, ErrorCode, ErrorDetail      *string
	Truncated, Cached                bool
	Requests                         int
	Model                            *string
	RunID                            *uuid.UUID
	DurationMS                       *float64
	Input, Output                    *int64
	CacheRead, CacheWrite, Reasoning *int64
	CostNanousd                      *int64
	CreatedAt                        time.Time
}

// Shown returns a vote with the names of its panel and judge, and its score.
func (p *ReadyPanel) Shown(v *VoteRow) Vote {
	out := Vote{
		VoteKey: v.VoteKey, PanelName: p.Name, JudgeName: p.All[v.Judge].Name, Escalated: v.Judge == len(p.Judges), Status: v.Status, Value: v.Value, Label: v.Label,
		Reason: v.Reason, Raw: v.Raw, ErrorCode: v.ErrorCode, ErrorDetail: v.ErrorDetail, Truncated: v.Truncated, Cached: v.Cached, Requests: v.Requests, Model: v.Model,
		RunID: v.RunID, DurationMS: v.DurationMS, Input: v.Input, Output: v.OutputTokens, CacheRead: v.CacheRead, CacheWrite: v.CacheWrite, Reasoning: v.Reasoning,
		CostNanousd: v.Cost, CreatedAt: v.CreatedAt,
	}
	if p.Kind == judge.TypePreference {
		out.Order = judge.OrderAB
		if v.Swapped {
			out.Order = judge.OrderBA
		}
	}
	if v.Value == nil {
		return out
	}
	out.Score, out.Pass = p.Input(0).Rate(p.Value(*v.Value))
	if p.Scale == nil || p.Scale.Type == judge.Categorical {
		out.Value = nil
	}
	return out
}

// addVotes adds the votes on items.
func (s *Service) addVotes(ctx context.Context, e *Evaluation, numbers []int32, byNumber map[int32]*Item) error {
	config, err := e.ReadConfig()
	if err != nil || len(config.Panels) == 0 {
		return err
	}
	panels, err := config.ReadPanels("panels", e.Kind)
	if err != nil {
		return err
	}
	rows, err := postgres.Many[VoteRow](ctx, s.db, "list votes", pgx.NamedArgs{"id": e.ID, "numbers": numbers})
	if err != nil {
		return err
	}
	for i := range rows {
		item := byNumber[rows[i].Number]
		item.Votes = append(item.Votes, panels[rows[i].Panel].Shown(&rows[i]))
	}
	return nil
}

// Winner returns the winner of a preference on a repeat of an item, by the score of the panel: a, b or tie, nil if there is none.
func (i *Item) Winner(name string, repeat int) (*string, error) {
	for o := range i.Outputs {
		if i.Outputs[o].Side != SideB || i.Outputs[o].Repeat != repeat {
			continue
		}
		scores, err := i.Outputs[o].ReadScores()
		if err != nil {
			return nil, err
		}
		for _, s := range scores {
			if s.Name == name && s.Value != nil {
				return new(panel.Winner(*s.Value)), nil
			}
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// FailedTransiently reports whether the failure of a vote may end by itself, such as a rate limit.
func (v *Vote) FailedTransiently() bool {
	return v.ErrorCode != nil && (v.Status == judge.StatusProviderError || v.Status == judge.StatusTimeout) && transient[*v.ErrorCode]
}

// transient has the codes of failures that may end by themselves.
var transient = map[string]bool{
	"provider_rate_limited": true, "provider_overloaded": true, "provider_error": true, "provider_timeout": true, "provider_unreachable": true,
	"provider_broken_answer": true,
}

// FailedPermanently reports whether the failure of a vote lasts until a person changes something.
func (v *Vote) FailedPermanently() bool {
	return v.ErrorCode != nil && providers.IsPermanent(*v.ErrorCode)
}
