package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/causes"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

type candidateHandlers struct {
	causes *causes.Service
}

// ListFailureCandidates says what failed runs of a group have that good runs do not have.
func (h candidateHandlers) ListFailureCandidates(ctx context.Context, req contract.ListFailureCandidatesRequestObject) (contract.ListFailureCandidatesResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	window := failureWindow(&filter)
	found, err := h.causes.Find(ctx, grantOf(ctx).Projects, filter, window, req.Fingerprint)
	if err != nil {
		return nil, err
	}
	answer := contract.ListFailureCandidates200JSONResponse{
		Now: found.Now, Start: found.From, Failed: candidateRunsOf(found.Failed), Good: candidateRunsOf(found.Good), Tested: found.Tested,
		Candidates:  make([]contract.Candidate, len(found.Candidates)),
		FirstFailed: candidateRunOf(found.FirstFailed), Differences: make([]contract.CandidateDifference, len(found.Differences)),
	}
	if found.LastGood != nil {
		answer.LastGood = new(candidateRunOf(*found.LastGood))
	}
	for i := range found.Candidates {
		if answer.Candidates[i], err = candidateOf(&found.Candidates[i]); err != nil {
			return nil, err
		}
	}
	for i, d := range found.Differences {
		answer.Differences[i] = contract.CandidateDifference{Kind: contract.CandidateKind(d.Kind), Key: d.Key, Title: d.Title}
	}
	return answer, nil
}

func candidateRunsOf(r causes.Read) contract.CandidateRuns {
	return contract.CandidateRuns{Read: r.Runs, Matched: count(r.Matched), TooLarge: r.TooLarge}
}

func candidateRunOf(r causes.RunRef) contract.CandidateRun {
	return contract.CandidateRun{RunId: r.ID, StartTime: r.Start.UTC()}
}

func candidateOf(c *causes.Candidate) (contract.Candidate, error) {
	candidate := contract.Candidate{
		Kind: contract.CandidateKind(c.Kind), Title: c.Title, Key: c.Key,
		Failed: contract.CandidateShare{Count: c.Failed.Count, Of: c.Failed.Of}, Good: contract.CandidateShare{Count: c.Good.Count, Of: c.Good.Of},
		Difference: c.Difference, Ci: c.CI[:], PAdjusted: c.PAdjusted, Separates: c.Separates(), MovesWith: list(c.MovesWith), WhyNoEdit: known(c.WhyNoEdit),
	}
	if len(c.Edits) == 0 {
		return candidate, nil
	}
	edits := make([]contract.ReplayEdit, len(c.Edits))
	for i := range c.Edits {
		var err error
		if edits[i], err = json.Marshal(c.Edits[i]); err != nil {
			return candidate, fmt.Errorf("encode an edit: %w", err)
		}
	}
	candidate.Edits = &edits
	return candidate, nil
}
