package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

type judgeHandlers struct {
	evaluations EvaluationServices
	prompts     *prompts.Service
}

// ListJudges lists the ready-made judges.
func (judgeHandlers) ListJudges(context.Context, contract.ListJudgesRequestObject) (contract.ListJudgesResponseObject, error) {
	list, err := judge.ReadyJudges()
	if err != nil {
		return nil, fmt.Errorf("read the ready-made judges: %w", err)
	}
	answer := contract.ListJudges200JSONResponse{}
	return answer, convert(map[string]any{"data": list}, &answer)
}

// defaultTryCost is the most that a try of a judge may cost whose request does not say.
const defaultTryCost = 1

// TestJudge tries a judge.
func (h judgeHandlers) TestJudge(ctx context.Context, req contract.TestJudgeRequestObject) (contract.TestJudgeResponseObject, error) {
	grant := grantOf(ctx)
	stored, err := h.judge(ctx, req.Body.ProjectId, "body.judge", string(judge.TypeScore), 1, &req.Body.Judge)
	if err != nil {
		return nil, err
	}
	samples := make([]execute.JudgeSample, len(req.Body.Samples))
	for i, s := range req.Body.Samples {
		samples[i] = execute.JudgeSample{
			Item:   judge.Item{Input: valueOf(s.Input, nil), ReferenceOutput: valueOf(s.ReferenceOutput, nil), Metadata: valueOf(s.Metadata, nil)},
			Output: judge.Output{Text: valueOf(s.Output, nil)},
		}
	}
	votes, canary, finding, err := h.evaluations.TryJudge(ctx, grant, stored, samples, providers.MoneyOf(valueOf(req.Body.MaxCostUsd, defaultTryCost)))
	if err != nil {
		return nil, err
	}
	answer := contract.TestJudge200JSONResponse{
		Votes: make([]contract.JudgeTestVote, len(votes)), Canary: triedOf(&canary), CanaryResult: contract.JudgeTestResultCanaryResult(finding),
	}
	for i := range votes {
		answer.Votes[i] = triedOf(&votes[i])
	}
	return answer, nil
}

func triedOf(t *execute.Tried) contract.JudgeTestVote {
	return contract.JudgeTestVote{Sent: t.Question.Messages, Vote: voteOf(&t.Vote)}
}

// panels reads the panels of an evaluation to start, with the contents of the prompts and ready-made judges that they name.
func (h judgeHandlers) panels(ctx context.Context, project uuid.UUID, list *[]contract.Panel) ([]evaluations.Panel, error) {
	panels := make([]evaluations.Panel, len(valueOf(list, nil)))
	for i := range panels {
		p, at := &(*list)[i], fmt.Sprintf("body.panels[%d]", i)
		kind := string(valueOf(p.Kind, contract.PanelKindScore))
		panels[i] = evaluations.Panel{
			Name: p.Name, Kind: judge.Type(kind), Aggregate: panel.Aggregate(valueOf(p.Aggregate, "")),
			Judges: make([]evaluations.Judge, len(p.Judges)),
		}
		repeats := valueOf(p.Repeats, 1)
		for j := range p.Judges {
			stored, err := h.judge(ctx, project, fmt.Sprintf("%s.judges[%d]", at, j), kind, repeats, &p.Judges[j])
			if err != nil {
				return nil, err
			}
			panels[i].Judges[j] = *stored
		}
		if p.Escalation != nil {
			stored, err := h.judge(ctx, project, at+".escalation", kind, repeats, p.Escalation)
			if err != nil {
				return nil, err
			}
			panels[i].Escalation = stored
		}
	}
	return panels, nil
}

// judge reads a judge at a location of the request.
func (h judgeHandlers) judge(ctx context.Context, project uuid.UUID, at, kind string, repeats int, j *contract.Judge) (*evaluations.Judge, error) {
	stored := &evaluations.Judge{ReadyMade: valueOf(j.ReadyMade, "")}
	definition := map[string]any{
		"name": j.Name, "type": kind, "provider_id": j.ProviderId, "model_config": j.ModelConfig, "repeats": valueOf(j.Repeats, repeats),
	}
	for member, value := range map[string]any{"rubric": j.Rubric, "scale": j.Scale, "pass": j.Pass} {
		if text, err := json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encode a judge: %w", err)
		} else if !jsontext.IsNull(text) {
			definition[member] = json.RawMessage(text)
		}
	}
	given := 0
	for _, is := range []bool{j.Rubric != nil, j.Prompt != nil, j.ReadyMade != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, problem.InvalidField(at, "must have one of rubric, prompt and ready_made")
	case j.ReadyMade != nil:
		if err := useReadyMade(definition, at, *j.ReadyMade); err != nil {
			return nil, err
		}
	case j.Prompt != nil:
		version, err := versionOf(ctx, h.prompts, project, at+".prompt", j.Prompt)
		if err != nil {
			return nil, err
		}
		definition["prompt"] = map[string]any{"id": version.PromptID, "version": version.Version}
		stored.Content = &version.Content
		stored.Prompt = &recording.Prompt{ID: version.PromptID.String(), Name: version.Name, Version: version.Version, Alias: valueOf(j.Prompt.Alias, "")}
	}
	var err error
	if stored.Definition, err = json.Marshal(definition); err != nil {
		return nil, fmt.Errorf("encode a judge: %w", err)
	}
	return stored, nil
}

// useReadyMade gives a definition the rubric of a ready-made judge, and its scale unless it has its own.
func useReadyMade(definition map[string]any, at, id string) error {
	list, err := judge.ReadyJudges()
	if err != nil {
		return fmt.Errorf("read the ready-made judges: %w", err)
	}
	for _, ready := range list {
		if ready.ID != id {
			continue
		}
		definition["rubric"] = ready.Rubric
		if definition["scale"] == nil {
			definition["scale"] = ready.Scale
			if definition["pass"] == nil && ready.Pass != nil {
				definition["pass"] = ready.Pass
			}
		}
		return nil
	}
	return problem.InvalidField(at+".ready_made", "is no ready-made judge: GET /v1/judges lists them")
}

// panelsRead returns the panels of an evaluation, with the texts of judges if it is whole.
func panelsRead(panels []evaluations.Panel, whole bool) ([]contract.PanelRead, error) {
	list := make([]contract.PanelRead, len(panels))
	for i := range panels {
		p := &panels[i]
		list[i] = contract.PanelRead{
			Name: p.Name, Kind: contract.PanelReadKind(p.Kind), Aggregate: string(p.Aggregate), Judges: make([]contract.JudgeRead, len(p.Judges)),
		}
		var err error
		for j := range p.Judges {
			if list[i].Judges[j], err = judgeRead(&p.Judges[j], whole); err != nil {
				return nil, err
			}
		}
		if p.Escalation != nil {
			one, err := judgeRead(p.Escalation, whole)
			if err != nil {
				return nil, err
			}
			list[i].Escalation = &one
		}
	}
	return list, nil
}

func judgeRead(j *evaluations.Judge, whole bool) (contract.JudgeRead, error) {
	read := contract.JudgeRead{ProviderName: j.ProviderName, Version: j.Version, ReadyMade: known(j.ReadyMade)}
	d, err := j.Read()
	if err != nil {
		return read, err
	}
	read.Name, read.ProviderId, read.ModelConfig, read.Repeats = d.Name, d.ProviderID, d.ModelConfig, d.Repeats
	if whole {
		read.Rubric = known(d.Rubric)
	}
	if j.Prompt != nil {
		id, err := uuid.Parse(j.Prompt.ID)
		if err != nil {
			return read, fmt.Errorf("read the prompt of a judge: %w", err)
		}
		read.Prompt = &contract.EvaluationPrompt{Id: id, Name: j.Prompt.Name, Version: j.Prompt.Version}
		if whole && j.Content != nil {
			read.Messages = &j.Content.Messages
		}
	}
	if d.Scale != nil {
		err = convert(d.Scale, &read.Scale)
	}
	if d.Pass != nil {
		err = errors.Join(err, convert(d.Pass, &read.Pass))
	}
	return read, err
}

func voteOf(v *evaluations.Vote) contract.Vote {
	vote := contract.Vote{
		Panel: v.PanelName, Judge: v.JudgeName, Repeat: v.Vote, Escalated: v.Escalated, Status: contract.VoteStatus(v.Status), Value: v.Value, Label: v.Label, Score: v.Score,
		Pass: v.Pass, Reason: v.Reason, Raw: v.Raw, Truncated: v.Truncated, Cached: v.Cached, Requests: v.Requests, Model: v.Model, RunId: v.RunID, DurationMs: v.DurationMS,
		CreatedAt: v.CreatedAt.UTC(),
		Usage: contract.CompletionUsage{
			InputTokens: v.Input, OutputTokens: v.Output, CacheReadInputTokens: v.CacheRead, CacheWriteInputTokens: v.CacheWrite, ReasoningOutputTokens: v.Reasoning,
		},
	}
	if v.Order != "" {
		vote.Order = new(contract.VoteOrder(v.Order))
	}
	if v.ErrorCode != nil {
		vote.Error = &contract.EvaluationFailure{Code: *v.ErrorCode, Detail: valueOf(v.ErrorDetail, "")}
	}
	if v.CostNanousd != nil {
		vote.CostUsd = new(float64(*v.CostNanousd) / 1e9)
	}
	return vote
}

func voteProgressOf(e *evaluations.Evaluation) *contract.VoteProgress {
	if e.VotesTotal == 0 {
		return nil
	}
	return &contract.VoteProgress{Total: e.VotesTotal, Done: e.VotesDone, Failed: e.VotesFailed, Skipped: e.VotesSkipped}
}

func labelOf(l *evaluations.Label) contract.Label {
	label := contract.Label{
		Panel: l.Score, Repeat: l.Repeat, Author: contract.Author{Email: l.Email, Key: l.KeyName}, Label: l.Label, Score: l.Rating, Pass: l.Pass, Note: l.Note, CreatedAt: l.CreatedAt.UTC(),
	}
	if l.Numeric {
		label.Value = &l.Value
	}
	return label
}
