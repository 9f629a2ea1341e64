package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/findings"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
)

type findingHandlers struct {
	findings *findings.Service
	replayed replayHandlers
}

// ListFindings lists findings.
func (h findingHandlers) ListFindings(ctx context.Context, req contract.ListFindingsRequestObject) (contract.ListFindingsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.findings.List(ctx, grantOf(ctx), findings.Filter{
		Fingerprints: valueOf(req.Params.Fingerprint, nil), RunID: req.Params.RunId, BatchID: req.Params.BatchId, Status: findings.Status(valueOf(req.Params.Status, "")),
	}, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListFindings200JSONResponse{Data: make([]contract.Finding, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = findingOf(&found[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// CreateFinding keeps a finding.
func (h findingHandlers) CreateFinding(ctx context.Context, req contract.CreateFindingRequestObject) (contract.CreateFindingResponseObject, error) {
	body := req.Body
	edits, err := h.replayed.edits(ctx, "body.candidate.edits", valueOf(body.Candidate.Edits, nil), func() (uuid.UUID, error) { return body.ProjectId, nil })
	if err != nil {
		return nil, err
	}
	created, err := h.findings.Create(ctx, grantOf(ctx), &findings.Wanted{
		Fingerprint: body.Fingerprint, BatchID: body.BatchId, Status: findings.Status(valueOf(body.Status, contract.FindingStatusOpen)), Note: valueOf(body.Note, ""),
		Candidate: findings.Candidate{Kind: string(body.Candidate.Kind), Title: body.Candidate.Title, Key: valueOf(body.Candidate.Key, ""), Edits: edit.Stored{List: edits}},
	})
	if err != nil {
		return nil, err
	}
	answer, err := findingOf(&created)
	return contract.CreateFinding201JSONResponse{
		Body: answer, Headers: contract.CreateFinding201ResponseHeaders{Location: new("/v1/findings/" + created.ID.String())},
	}, err
}

// GetFinding reads a finding.
func (h findingHandlers) GetFinding(ctx context.Context, req contract.GetFindingRequestObject) (contract.GetFindingResponseObject, error) {
	found, err := h.findings.Get(ctx, grantOf(ctx), req.FindingId)
	if err != nil {
		return nil, err
	}
	answer, err := findingOf(&found)
	return contract.GetFinding200JSONResponse(answer), err
}

// UpdateFinding changes a finding.
func (h findingHandlers) UpdateFinding(ctx context.Context, req contract.UpdateFindingRequestObject) (contract.UpdateFindingResponseObject, error) {
	change := findings.Change{Note: req.Body.Note, BatchID: req.Body.BatchId, BaseRevision: req.Body.BaseRevision}
	if req.Body.Status != nil {
		change.Status = new(findings.Status(*req.Body.Status))
	}
	changed, err := h.findings.Update(ctx, grantOf(ctx), req.FindingId, change)
	if err != nil {
		return nil, err
	}
	answer, err := findingOf(&changed)
	return contract.UpdateFinding200JSONResponse(answer), err
}

// DeleteFinding deletes a finding.
func (h findingHandlers) DeleteFinding(ctx context.Context, req contract.DeleteFindingRequestObject) (contract.DeleteFindingResponseObject, error) {
	return contract.DeleteFinding204Response{}, h.findings.Delete(ctx, grantOf(ctx), req.FindingId)
}

// PromoteFinding makes a version of a prompt and items of a dataset of a finding, or says what that would do.
func (h findingHandlers) PromoteFinding(ctx context.Context, req contract.PromoteFindingRequestObject) (contract.PromoteFindingResponseObject, error) {
	wanted := findings.Promotion{Plan: valueOf(req.Body.Plan, false)}
	if p := req.Body.Prompt; p != nil {
		wanted.Prompt, wanted.Base = &findings.Named{ID: p.Id, Name: p.Name}, p.BaseVersion
	}
	if d := req.Body.Dataset; d != nil {
		wanted.Dataset = &findings.Named{ID: d.Id, Name: d.Name}
	}
	done, err := h.findings.Promote(ctx, grantOf(ctx), req.FindingId, &wanted)
	if err != nil {
		return nil, err
	}
	answer := contract.PromoteFinding200JSONResponse{}
	if answer.Finding, err = findingOf(&done.Finding); err != nil {
		return nil, err
	}
	if p := done.Prompt; p != nil {
		answer.Prompt = &contract.FindingPromotedPrompt{
			Id: p.ID, Name: p.Name, BaseVersion: p.Base, Version: p.Version, IsNew: p.IsNew, Changes: list(p.Changes), LeftOut: list(p.LeftOut),
		}
	}
	if d := done.Dataset; d != nil {
		answer.Dataset = &contract.FindingPromotedDataset{
			Id: d.ID, Name: d.Name, Revision: d.Revision, Runs: d.Runs, Added: d.Added, Unchanged: d.Unchanged, Skipped: make([]contract.RunSkipped, len(d.Skipped)),
		}
		for i, skipped := range d.Skipped {
			answer.Dataset.Skipped[i] = contract.RunSkipped{RunId: skipped.RunID, Reason: skipped.Reason}
		}
	}
	if g := done.Gate; g != nil {
		gate := contract.FindingGate{Name: g.Name, Metric: g.Metric, Grader: g.Grader, Python: g.Python, Command: g.Command}
		for part, to := range map[*json.RawMessage]*map[string]any{&g.EvalRun: &gate.EvalRun, &g.GateCheck: &gate.Gate} {
			if err := json.Unmarshal(*part, to); err != nil {
				return nil, fmt.Errorf("read the gate of finding %s: %w", done.Finding.ID, err)
			}
		}
		answer.Gate = &gate
	}
	return answer, nil
}

func findingOf(f *findings.Finding) (contract.Finding, error) {
	answer := contract.Finding{
		Id: f.ID, ProjectId: f.ProjectID, Fingerprint: f.Fingerprint, Status: contract.FindingStatus(f.Status), AgreesWithVerdict: f.Agrees(), Note: f.Note,
		Candidate: contract.FindingCandidate{Kind: contract.CandidateKind(f.Candidate.Kind), Title: f.Candidate.Title, Key: f.Candidate.Key, Edits: []contract.ReplayStoredEdit{}},
		CreatedBy: contract.Author{Email: f.CreatedBy.Email, Key: f.CreatedBy.Key}, CreatedAt: f.CreatedAt.UTC(),
		ChangedBy: contract.Author{Email: f.ChangedBy.Email, Key: f.ChangedBy.Key}, ChangedAt: f.ChangedAt.UTC(), Revision: f.Revision,
	}
	if b := f.Batch; b != nil {
		answer.Batch = &contract.FindingBatch{Id: b.ID, Name: b.Name, Status: contract.ReplayStatus(b.Status)}
	}
	if len(f.Outcome) > 0 {
		answer.Outcome = &f.Outcome
	}
	if v := f.Verdict; v != nil {
		answer.Verdict = &contract.FindingVerdict{Sentence: v.Sentence, Chosen: contract.FindingVerdictPart(v.Chosen)}
		if v.Good != nil {
			answer.Verdict.Good = new(contract.FindingVerdictPart(*v.Good))
		}
	}
	if f.PromptID != nil {
		answer.PromotedPrompt = &contract.FindingPromptVersion{Id: *f.PromptID, Version: valueOf(f.PromptVersion, 0)}
	}
	if f.DatasetID != nil {
		answer.PromotedDataset = &contract.FindingDataset{Id: *f.DatasetID, Revision: valueOf(f.DatasetRevision, 0)}
	}
	return answer, convert(f.Candidate.Edits, &answer.Candidate.Edits)
}
