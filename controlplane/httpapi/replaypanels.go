package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// judgeWait is how long a vote on a replayed answer waits for a place. Nobody waits for it.
const judgeWait = 24 * time.Hour

// ReplayJudges returns the panels of evaluations for replays.
func ReplayJudges(judging *execute.Worker) replays.Judges { return replayJudges{judging} }

type replayJudges struct{ judging *execute.Worker }

// Panel opens a panel.
func (j replayJudges) Panel(text json.RawMessage) (replays.JudgePanel, error) {
	scoring := execute.Scoring{Panels: make([]evaluations.Panel, 1)}
	if err := json.Unmarshal(text, &scoring.Panels[0]); err != nil {
		return nil, fmt.Errorf("read the panel of a replay: %w", err)
	}
	scorer, err := j.judging.NewScorer(&scoring)
	if err != nil {
		return nil, ofOnePanel(err)
	}
	first, err := scoring.Panels[0].Judges[0].Read()
	if err != nil {
		return nil, err
	}
	if first.Scale.Type == judge.Categorical && first.Pass == nil {
		return nil, problem.InvalidField("body.panel.judges[0].pass", "is missing: without labels that pass, nobody knows which answers are good")
	}
	return &replayPanel{scorer, &scoring.Panels[0]}, nil
}

type replayPanel struct {
	scorer *execute.Scorer
	panel  *evaluations.Panel
}

// Stored is the panel as it is kept.
func (p *replayPanel) Stored() (json.RawMessage, error) {
	text, err := json.Marshal(p.panel)
	if err != nil {
		return nil, fmt.Errorf("encode the panel of a replay: %w", err)
	}
	return text, nil
}

// Estimate says what votes take.
func (p *replayPanel) Estimate(ctx context.Context, grant access.Grant, sample *grader.Sample, answers int64) (*replays.Estimate, error) {
	e, err := p.scorer.Estimate(ctx, grant, []*grader.Sample{sample}, answers)
	if err != nil {
		return nil, ofOnePanel(err)
	}
	return &replays.Estimate{Calls: e.Calls, Low: e.Low, High: e.High, Unpriced: e.UnpricedModels}, nil
}

// Most is the most that the missing votes can cost.
func (p *replayPanel) Most(ctx context.Context, j *replays.Judging) (providers.Money, error) {
	request, err := scoreRequestOf(j)
	if err != nil {
		return 0, err
	}
	return p.scorer.Most(ctx, request)
}

// Judge asks for the votes that are missing.
func (p *replayPanel) Judge(ctx context.Context, j *replays.Judging) (*replays.Judged, error) {
	request, err := scoreRequestOf(j)
	if err != nil {
		return nil, err
	}
	scored, err := p.scorer.Score(ctx, request)
	if err != nil {
		return nil, err
	}
	said := &replays.Judged{Spent: scored.Spent, Unaffordable: scored.Unaffordable, Stopped: scored.Stopped, Busy: scored.Busy}
	score := &scored.Scores[0]
	if score.Missing || score.Value == nil {
		said.Why = cmp.Or(score.Error, score.Reason, "The judges gave no score.")
		return said, nil
	}
	said.Outcome = score.Value
	return said, nil
}

// scoreRequestOf asks for the score of a replayed answer.
func scoreRequestOf(j *replays.Judging) (*execute.ScoreRequest, error) {
	votes := make([]evaluations.Vote, len(j.Votes))
	for i := range j.Votes {
		if err := json.Unmarshal(j.Votes[i], &votes[i]); err != nil {
			return nil, fmt.Errorf("read a vote of replay %s: %w", j.Replay, err)
		}
	}
	return &execute.ScoreRequest{
		Sample: j.Sample, Votes: votes, MaxCost: j.MaxCost, AllowUnpriced: j.AllowUnpriced, About: j.About,
		Caller: completions.Caller{
			Projects: access.OfJob(j.Project), Project: j.Project, Feature: providers.FeatureReplay, Source: runmodel.SourceEvaluation, User: j.User, KeyName: j.KeyName,
			Evaluation: &j.Replay, Attempts: j.Attempts, MaxWait: judgeWait,
		},
		Keep: func(ctx context.Context, v *evaluations.Vote) error {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("encode a vote of replay %s: %w", j.Replay, err)
			}
			return j.Keep(ctx, fmt.Sprintf("%d.%d", v.Judge, v.Vote), text)
		},
	}, nil
}

// ofOnePanel returns an error about the first of several panels as one about the only one.
func ofOnePanel(err error) error {
	refused := new(problem.Error)
	if !errors.As(err, &refused) || len(refused.Fields) == 0 {
		return err
	}
	renamed := *refused
	renamed.Fields = make([]problem.Field, len(refused.Fields))
	for i, field := range refused.Fields {
		field.Location = strings.Replace(field.Location, "body.panels[0]", "body.panel", 1)
		renamed.Fields[i] = field
	}
	return &renamed
}

// panelOf reads the panel of a request, nil for none.
func (h replayHandlers) panelOf(ctx context.Context, asked *contract.Panel, in func() (uuid.UUID, error)) (json.RawMessage, error) {
	if asked == nil {
		return nil, nil
	}
	id, err := in()
	if err != nil {
		return nil, err
	}
	panels, err := h.judges.panels(ctx, id, &[]contract.Panel{*asked})
	if err != nil {
		return nil, ofOnePanel(err)
	}
	text, err := json.Marshal(panels[0])
	if err != nil {
		return nil, fmt.Errorf("encode the panel of a replay: %w", err)
	}
	return text, nil
}

// panelRead is a panel as an answer has it, nil for none.
func panelRead(text json.RawMessage) (*contract.PanelRead, error) {
	if len(text) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	var stored evaluations.Panel
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("read the panel of a replay: %w", err)
	}
	list, err := panelsRead([]evaluations.Panel{stored}, true)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}
