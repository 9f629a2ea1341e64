// Package findings keeps what people learnt about groups of failed runs: candidates for a cause, with what a batch of replays showed about
// them. It promotes a finding to a version of a prompt and to a dataset. docs/findings.md has the rules.
package findings

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

//go:embed queries.sql
var queries string

// Status is what people hold of a finding.
type Status string

// The statuses.
const (
	Open      Status = "open"
	Confirmed Status = "confirmed"
	Refuted   Status = "refuted"
)

// Store reads runs.
type Store interface {
	Get(ctx context.Context, projects access.Projects, runID uuid.UUID) (runs.Run, error)
	FailuresSince(ctx context.Context, projects access.Projects, project uuid.UUID, now time.Time, since map[string]time.Time) ([]runs.FailureSince, error)
}

// history is how far back a run of a group is looked for.
const history = 90 * 24 * time.Hour

// Candidate is what may be the cause of a group's failures.
type Candidate struct {
	Kind, Title string
	// Key is the same for the same candidate of a group.
	Key string
	// Edits test it. A candidate without edits cannot be tested by replays.
	Edits edit.Stored
}

// Author is who made something. Both fields are nil for a deleted user.
type Author struct{ Email, Key *string }

// Finding is a candidate of a group of failed runs, with what was learnt about it.
type Finding struct {
	ID, ProjectID uuid.UUID
	Fingerprint   string
	Candidate     Candidate
	// Batch is nil if there is none, and after its deletion.
	Batch *Batch
	// Outcome is the batch's grader as JSON, nil without one.
	Outcome json.RawMessage
	// Verdict is nil before the end of the batch. It stays when the batch is deleted.
	Verdict *Verdict
	Status  Status
	// Note is nil if there is none.
	Note *string
	// PromptID, PromptVersion, DatasetID and DatasetRevision are what it was promoted to.
	PromptID        *uuid.UUID
	PromptVersion   *int
	DatasetID       *uuid.UUID
	DatasetRevision *int
	CreatedBy       Author
	CreatedAt       time.Time
	ChangedBy       Author
	ChangedAt       time.Time
	// Revision counts the changes, from 1.
	Revision int
}

// row is a finding as it is stored.
type row struct {
	ID, ProjectID                 uuid.UUID
	Fingerprint, Kind, Title, Key string
	Edits                         string
	BatchID                       *uuid.UUID
	Outcome, Verdict              *string
	Status                        Status
	Note                          *string
	PromptID                      *uuid.UUID
	PromptVersion                 *int
	DatasetID                     *uuid.UUID
	DatasetRevision               *int
	CreatedAt, ChangedAt          time.Time
	Revision                      int
	AuthorEmail, AuthorKey        *string
	ChangerEmail, ChangerKey      *string
}

// finding reads a row. A batch that exists tells its verdict.
func (r *row) finding(batches map[uuid.UUID]*Batch) (Finding, error) {
	f := Finding{
		ID: r.ID, ProjectID: r.ProjectID, Fingerprint: r.Fingerprint, Candidate: Candidate{Kind: r.Kind, Title: r.Title, Key: r.Key}, Status: r.Status, Note: r.Note,
		PromptID: r.PromptID, DatasetID: r.DatasetID, CreatedBy: Author{r.AuthorEmail, r.AuthorKey}, CreatedAt: r.CreatedAt,
		ChangedBy: Author{r.ChangerEmail, r.ChangerKey}, ChangedAt: r.ChangedAt, Revision: r.Revision,
	}
	if r.PromptID != nil { // the numbers of a deleted prompt or dataset say nothing
		f.PromptVersion = r.PromptVersion
	}
	if r.DatasetID != nil {
		f.DatasetRevision = r.DatasetRevision
	}
	if err := json.Unmarshal([]byte(r.Edits), &f.Candidate.Edits); err != nil {
		return f, fmt.Errorf("read the edits of finding %s: %w", r.ID, err)
	}
	if r.Outcome != nil {
		f.Outcome = json.RawMessage(*r.Outcome)
	}
	if r.BatchID != nil && batches[*r.BatchID] != nil {
		f.Batch = batches[*r.BatchID]
		f.Verdict = f.Batch.Verdict
		return f, nil
	}
	if r.Verdict != nil {
		if err := json.Unmarshal([]byte(*r.Verdict), &f.Verdict); err != nil {
			return f, fmt.Errorf("read the verdict of finding %s: %w", r.ID, err)
		}
	}
	return f, nil
}

// Service keeps findings.
type Service struct {
	db       postgres.DB
	store    Store
	batches  Batches
	prompts  Prompts
	datasets Datasets
	now      func() time.Time
}

// New returns a service that keeps findings in the database. now is the clock.
func New(pool *pgxpool.Pool, store Store, batches Batches, prompts Prompts, datasets Datasets, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), store, batches, prompts, datasets, postgres.Clock(now)}
}

// Filter selects findings. Zero fields select all.
type Filter struct {
	Fingerprints []string
	// RunID selects the findings of the group that the run is in.
	RunID   *uuid.UUID
	BatchID *uuid.UUID
	Status  Status
}

// List returns a page of findings: confirmed ones first, then open ones; of these the newest first.
func (s *Service) List(ctx context.Context, grant access.Grant, filter Filter, page postgres.Page) ([]Finding, bool, error) {
	in, fingerprints := grant.Projects, filter.Fingerprints
	if filter.RunID != nil {
		run, err := s.store.Get(ctx, in, *filter.RunID)
		if problem.Is(err, problem.NotFound) {
			run, err = runs.Run{}, nil // it is in no group
		}
		if err != nil {
			return nil, false, err //nolint:wrapcheck // it is for the client
		}
		if run.Fingerprint == "" || len(fingerprints) > 0 && !slices.Contains(fingerprints, run.Fingerprint) {
			return nil, false, nil
		}
		in, fingerprints = in.Only(run.ProjectID), []string{run.Fingerprint}
	}
	rows, more, err := postgres.List[row](ctx, s.db, "list findings", page, pgx.NamedArgs{
		"projects": in.IDs(), "id": nil, "fingerprints": fingerprints, "batch": filter.BatchID, "status": filter.Status,
	})
	if err != nil {
		return nil, false, err
	}
	found, err := s.read(ctx, in, rows)
	return found, more, err
}

// Get returns a finding.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Finding, error) {
	stored, err := postgres.One[row](ctx, s.db, "list findings", pgx.NamedArgs{
		"projects": grant.IDs(), "id": id, "fingerprints": nil, "batch": nil, "status": "", "limit": 1, "offset": 0,
	})
	if err != nil {
		return Finding{}, err
	}
	found, err := s.read(ctx, grant.Projects, []row{stored})
	if err != nil {
		return Finding{}, err
	}
	return found[0], nil
}

// read adds what the batches of rows show.
func (s *Service) read(ctx context.Context, in access.Projects, rows []row) ([]Finding, error) {
	var ids []uuid.UUID
	for i := range rows {
		if id := rows[i].BatchID; id != nil {
			ids = append(ids, *id)
		}
	}
	batches, err := s.batchesOf(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	found := make([]Finding, len(rows))
	for i := range rows {
		if found[i], err = rows[i].finding(batches); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Wanted is a finding to keep.
type Wanted struct {
	Fingerprint string
	Candidate   Candidate
	BatchID     *uuid.UUID
	Status      Status
	Note        string
}

var (
	errStale = &problem.Error{
		Kind: problem.Conflict, Code: "stale_base_revision", Detail: "Someone changed this finding in the meantime. Look at it, then change it again.",
	}
	errExists = &problem.Error{
		Kind: problem.Conflict, Code: "finding_exists", Detail: "The group has a finding with this candidate. Change that one.",
	}
)

// Create keeps a finding. The group must have a run of the last 90 days. Edits that are not given are those of the batch.
func (s *Service) Create(ctx context.Context, grant access.Grant, wanted *Wanted) (Finding, error) {
	project, err := grant.Project()
	if err != nil {
		return Finding{}, err
	}
	c := &wanted.Candidate
	if c.Title, err = validate.Name("body.candidate.title", c.Title); err != nil {
		return Finding{}, err //nolint:wrapcheck // it is for the client
	}
	note, err := cleanNote(wanted.Note)
	if err != nil {
		return Finding{}, err
	}
	now := s.now()
	known, err := s.store.FailuresSince(ctx, grant.Projects, project, now, map[string]time.Time{wanted.Fingerprint: now.Add(-history)})
	if err != nil {
		return Finding{}, err //nolint:wrapcheck // it is for the client
	}
	if len(known) == 0 {
		return Finding{}, problem.InvalidField("body.fingerprint", "is that of no run of the project in the last 90 days")
	}
	tested, err := s.tested(ctx, grant.Only(project), wanted.BatchID, c.Edits)
	if err != nil {
		return Finding{}, err
	}
	if c.Key == "" {
		if c.Key, err = c.key(tested.edits.List); err != nil {
			return Finding{}, err
		}
	}
	if err := validate.Printable("body.candidate.key", c.Key); err != nil {
		return Finding{}, err //nolint:wrapcheck // it is for the client
	}
	id := postgres.NewID()
	_, err = s.db.Exec(ctx, "create finding", pgx.NamedArgs{
		"id": id, "project": project, "fingerprint": wanted.Fingerprint, "kind": c.Kind, "title": c.Title, "key": c.Key, "edits": tested.text,
		"batch": wanted.BatchID, "outcome": tested.outcome, "status": wanted.Status, "note": note,
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": now,
	})
	if postgres.Violates(err, "findings_key_key") {
		return Finding{}, errExists
	}
	if err != nil {
		return Finding{}, err
	}
	return s.Get(ctx, grant, id)
}

// key names a candidate whose request does not: by its edits, else by its title.
func (c *Candidate) key(edits []edit.Edit) (string, error) {
	if len(edits) == 0 {
		return c.Kind + ":" + utf8text.Bytes(c.Title, maxKeyTitle), nil
	}
	hash, err := edit.Hash(edits)
	if err != nil {
		return "", fmt.Errorf("name a candidate: %w", err)
	}
	return c.Kind + ":" + hash, nil
}

// Change is an update of a finding. Fields that are nil do not change.
type Change struct {
	Status *Status
	// Note is removed if it is blank.
	Note    *string
	BatchID *uuid.UUID
	// BaseRevision is the revision that the caller has read; nil for any.
	BaseRevision *int
}

// Update changes a finding. A change that holds already keeps its author and time.
func (s *Service) Update(ctx context.Context, grant access.Grant, id uuid.UUID, change Change) (Finding, error) {
	found, err := s.Get(ctx, grant, id)
	if err != nil {
		return Finding{}, err
	}
	args := pgx.NamedArgs{
		"projects": grant.IDs(), "id": id, "base": change.BaseRevision, "status": change.Status, "has_note": change.Note != nil, "note": nil,
		"batch": change.BatchID, "outcome": nil, "edits": nil, "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
	}
	same := change.Status == nil || *change.Status == found.Status
	if change.Note != nil {
		note, err := cleanNote(*change.Note)
		if err != nil {
			return Finding{}, err
		}
		args["note"] = note
		same = same && (note == nil) == (found.Note == nil) && (note == nil || *note == *found.Note)
	}
	if change.BatchID != nil {
		tested, err := s.tested(ctx, grant.Only(found.ProjectID), change.BatchID, found.Candidate.Edits)
		if err != nil {
			return Finding{}, err
		}
		args["outcome"], args["edits"] = tested.outcome, tested.text
		same = same && found.Batch != nil && found.Batch.ID == *change.BatchID
	}
	if same {
		return found, nil
	}
	changed, err := s.db.Exec(ctx, "update finding", args)
	if err != nil {
		return Finding{}, err
	}
	found, err = s.Get(ctx, grant, id)
	if err == nil && changed == 0 {
		err = errStale
	}
	return found, err
}

// Delete deletes a finding. What it was promoted to stays.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	return s.db.Delete(ctx, "delete finding", pgx.NamedArgs{"projects": grant.IDs(), "id": id})
}

// maxKeyTitle is how many bytes of a title a key has.
const maxKeyTitle = 800

// cleanNote returns nil for a blank note. A note may have several lines.
func cleanNote(text string) (*string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	return &text, validate.Printable("body.note", strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(text))
}
