package findings

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/internal/problem"
)

// Batches reads batches of replays.
type Batches interface {
	// Batches returns those of the batches that exist.
	Batches(ctx context.Context, in access.Projects, ids []uuid.UUID) ([]Batch, error)
	// FailedRuns returns the runs of a batch that were chosen because they failed.
	FailedRuns(ctx context.Context, in access.Projects, batch uuid.UUID) ([]uuid.UUID, error)
}

// Batch is a batch of replays.
type Batch struct {
	ID           uuid.UUID
	Name, Status string
	Edits        edit.Stored
	// Outcome is its grader as JSON, nil without one.
	Outcome json.RawMessage
	// Verdict is nil before the end.
	Verdict *Verdict
}

// Verdict is what a batch shows.
type Verdict struct {
	Sentence string `json:"sentence"`
	// Chosen is about the runs that failed, Good about those that were good: better, worse, cannot_tell or unknown. Good is nil without
	// good runs.
	Chosen string  `json:"chosen"`
	Good   *string `json:"good"`
}

// Agrees reports whether the status agrees with the verdict. It is nil if either decides nothing: an edit after which it cannot be told
// whether more attempts end well neither confirms a cause nor refutes it.
func (f *Finding) Agrees() *bool {
	if f.Verdict == nil || f.Status == Open {
		return nil
	}
	switch f.Verdict.Chosen {
	case "better":
		return new(f.Status == Confirmed)
	case "worse":
		return new(f.Status == Refuted)
	}
	return nil
}

func (s *Service) batchesOf(ctx context.Context, in access.Projects, ids []uuid.UUID) (map[uuid.UUID]*Batch, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := s.batches.Batches(ctx, in, ids)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	byID := make(map[uuid.UUID]*Batch, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	return byID, nil
}

// tested is how a candidate is tested.
type tested struct {
	edits edit.Stored
	// text has the edits as JSON, and outcome the grader.
	text    string
	outcome *string
}

// tested returns the edits of a candidate, which are those of its batch: a verdict about other edits says nothing about the candidate.
func (s *Service) tested(ctx context.Context, in access.Projects, batch *uuid.UUID, edits edit.Stored) (tested, error) {
	how := tested{edits: edits}
	if batch != nil {
		batches, err := s.batchesOf(ctx, in, []uuid.UUID{*batch})
		if err != nil {
			return how, err
		}
		found := batches[*batch]
		if found == nil {
			return how, problem.InvalidField("body.batch_id", "is no batch of replays of the project")
		}
		same, err := equal(edits.List, found.Edits.List)
		switch {
		case err != nil:
			return how, err
		case len(edits.List) == 0:
			how.edits = found.Edits
		case !same:
			return how, problem.InvalidField("body.batch_id", "is a batch with other edits than the candidate, so that its verdict is not about it")
		}
		if len(found.Outcome) > 0 {
			how.outcome = new(string(found.Outcome))
		}
	}
	text, err := json.Marshal(how.edits)
	if err != nil {
		return how, fmt.Errorf("encode edits: %w", err)
	}
	how.text = string(text)
	return how, nil
}

func equal(a, b []edit.Edit) (bool, error) {
	first, err := edit.Hash(a)
	if err != nil {
		return false, fmt.Errorf("compare edits: %w", err)
	}
	second, err := edit.Hash(b)
	if err != nil {
		return false, fmt.Errorf("compare edits: %w", err)
	}
	return first == second, nil
}

// KeepVerdict keeps what a batch shows in its findings, before the batch is deleted.
func (s *Service) KeepVerdict(ctx context.Context, in access.Projects, batch uuid.UUID) error {
	batches, err := s.batchesOf(ctx, in, []uuid.UUID{batch})
	if err != nil {
		return err
	}
	found := batches[batch]
	if found == nil || found.Verdict == nil {
		return nil
	}
	text, err := json.Marshal(found.Verdict)
	if err != nil {
		return fmt.Errorf("encode a verdict: %w", err)
	}
	_, err = s.db.Exec(ctx, "keep verdict", pgx.NamedArgs{"projects": in.IDs(), "batch": batch, "verdict": string(text)})
	return err
}
