// Package datasets manages datasets: items with inputs and reference outputs, in numbered revisions. A revision stores what
// it changes, and a read at a revision is exact for ever.
package datasets

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

var (
	//go:embed queries.sql
	queries string
	//go:embed imports.sql
	importQueries string
)

// ErrNameTaken is returned if the project has a dataset of the name.
var ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This project already has a dataset with this name."}

// Service manages datasets.
type Service struct {
	db     postgres.DB
	jobs   *work.Queue
	limits Limits
	now    func() time.Time
}

// New returns a service on the database, which does its imports as jobs of the queue. now is the clock.
func New(pool *pgxpool.Pool, queue *work.Queue, limits Limits, now func() time.Time) *Service {
	s := &Service{postgres.NewDB(pool, queries+importQueries), queue, limits, postgres.Clock(now)}
	work.Register(queue, s.runImport)
	// An attempt that was replaced may have ended the job of the one that replaced it, which was killed later.
	queue.Recover(work.Kind{
		Name: "import", DB: s.db, List: "list lost imports", SetJob: "set job",
		Job: func(lost work.Lost) river.JobArgs { return importArgs{lost.ID} },
	})
	return s
}

// Author is who made something. Both fields are nil for a deleted user.
type Author struct {
	// AuthorEmail is the address of a user.
	AuthorEmail *string
	// AuthorKey is the name of a key.
	AuthorKey *string
}

// Dataset is a named dataset.
type Dataset struct {
	ID          uuid.UUID
	ProjectID   uuid.UUID
	Name        string
	Description string
	// InputSchema and ReferenceOutputSchema are JSON Schemas, nil for none.
	InputSchema, ReferenceOutputSchema *string
	// Revision is the newest revision, 0 for none. ItemCount is that of its items.
	Revision  int
	ItemCount int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Author
}

// Filter selects datasets. Empty fields select all.
type Filter struct {
	Name   string
	Search string
	// SourceRunID selects datasets with an item from the run in their newest revision. Nil selects all.
	SourceRunID *uuid.UUID
}

// List returns a page of datasets sorted by name.
func (s *Service) List(ctx context.Context, grant access.Grant, filter Filter, page postgres.Page) ([]Dataset, bool, error) {
	return postgres.List[Dataset](ctx, s.db, "list datasets", page, pgx.NamedArgs{
		"projects": grant.IDs(), "name": filter.Name, "search": postgres.Containing(filter.Search), "source_run": filter.SourceRunID,
	})
}

// Get returns a dataset.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Dataset, error) {
	return s.get(ctx, s.db, grant, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, grant access.Grant, id uuid.UUID) (Dataset, error) {
	return postgres.One[Dataset](ctx, db, "get dataset", pgx.NamedArgs{"projects": grant.IDs(), "dataset": id})
}

// Change is an update of a dataset. Fields that are nil do not change. A schema that is JSON null is removed.
type Change struct {
	Name                               *string
	Description                        *string
	InputSchema, ReferenceOutputSchema json.RawMessage
}

// Create creates an empty dataset. It returns [ErrNameTaken] if the name is in use.
func (s *Service) Create(ctx context.Context, grant access.Grant, change Change) (Dataset, error) {
	project, err := grant.Project()
	if err != nil {
		return Dataset{}, err
	}
	if _, err := change.clean(); err != nil {
		return Dataset{}, err
	}
	id := postgres.NewID()
	var created Dataset
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := tx.Exec(ctx, "create dataset", pgx.NamedArgs{
			"id": id, "project": project, "name": change.Name, "description": change.Description,
			"input_schema": schemaText(change.InputSchema), "reference_output_schema": schemaText(change.ReferenceOutputSchema),
			"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
		}); err != nil {
			return err
		}
		created, err = s.get(ctx, tx, grant, id)
		return err
	})
	return created, nameTaken(err)
}

// Update changes a dataset. A new schema must fit all items of the newest revision.
func (s *Service) Update(ctx context.Context, grant access.Grant, id uuid.UUID, change Change) (Dataset, error) {
	schemas, err := change.clean()
	if err != nil {
		return Dataset{}, err
	}
	var updated Dataset
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{
			"projects": grant.IDs(), "dataset": id, "name": change.Name, "description": change.Description,
			"has_input_schema": change.InputSchema != nil, "input_schema": schemaText(change.InputSchema),
			"has_reference_output_schema": change.ReferenceOutputSchema != nil, "reference_output_schema": schemaText(change.ReferenceOutputSchema),
			"now": s.now(),
		}
		if err := changeRow(ctx, tx, postgres.DB.Delete, "update dataset", args); err != nil {
			return err
		}
		if err := s.checkItems(ctx, tx, id, schemas); err != nil {
			return err
		}
		updated, err = s.get(ctx, tx, grant, id)
		return err
	})
	return updated, nameTaken(err)
}

// checkItems checks the items of the newest revision against new schemas.
func (s *Service) checkItems(ctx context.Context, tx postgres.DB, dataset uuid.UUID, schemas schemas) error {
	if schemas.input == nil && schemas.referenceOutput == nil {
		return nil
	}
	const step, maxFields = 1000, 100
	var errs []error
	for after := int64(0); ; {
		items, err := postgres.Many[Item](ctx, tx, "list items after", pgx.NamedArgs{"dataset": dataset, "after": after, "limit": step})
		if err != nil {
			return err
		}
		for i := range items {
			for _, message := range schemas.check(ctx, json.RawMessage(items[i].Input), json.RawMessage(items[i].ReferenceOutput)) {
				errs = append(errs, problem.InvalidField("body.schema."+message.part, "does not fit the item "+items[i].name()+": "+message.text))
			}
			if err := ctx.Err(); err != nil {
				return err //nolint:wrapcheck // what it ended is no misfit
			}
			if len(errs) >= maxFields {
				return errors.Join(errs[:maxFields]...)
			}
		}
		if len(items) < step {
			return errors.Join(errs...)
		}
		after = items[len(items)-1].Ordinal
	}
}

// errInUse is returned for a dataset that evaluations refer to.
var errInUse = &problem.Error{
	Kind: problem.Conflict, Code: "dataset_in_use", Detail: "Comparisons or eval-runs use this dataset. Delete them first, because their results need it.",
}

// Delete deletes a dataset with all its revisions. It returns an error if an evaluation refers to it.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	if _, err := s.Get(ctx, grant, id); err != nil { // unlike the deletion, it does not wait long for a database that does not answer
		return err
	}
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return changeRow(ctx, s.db.On(tx), postgres.DB.LongDelete, "delete dataset", pgx.NamedArgs{"projects": grant.IDs(), "dataset": id})
	})
	if postgres.Violates(err, "evaluations_dataset_id_fkey") {
		return errInUse
	}
	return err
}

// changeRow changes the row of a dataset. It returns [errBusy] if another write takes long.
func changeRow(
	ctx context.Context, tx postgres.DB, change func(postgres.DB, context.Context, string, pgx.NamedArgs) error, name string, args pgx.NamedArgs,
) error {
	if _, err := tx.Exec(ctx, "limit locks", nil); err != nil {
		return err
	}
	err := change(tx, ctx, name, args)
	if postgres.Locked(err) {
		return errBusy
	}
	return err
}

// clean normalizes the change for storage, and returns an error for each invalid field.
func (c *Change) clean() (schemas, error) {
	var errs []error
	if c.Name != nil {
		name, err := validate.Name("body.name", *c.Name)
		c.Name = &name
		errs = append(errs, err)
	}
	if c.Description != nil {
		errs = append(errs, validate.Text("body.description", *c.Description))
	}
	var (
		read schemas
		err  error
	)
	read.input, err = readSchema("body.schema.input", c.InputSchema)
	errs = append(errs, err)
	read.referenceOutput, err = readSchema("body.schema.reference_output", c.ReferenceOutputSchema)
	errs = append(errs, err)
	return read, errors.Join(errs...)
}

func schemaText(schema json.RawMessage) *string {
	if jsontext.IsNull(schema) {
		return nil
	}
	text := string(schema)
	return &text
}

func nameTaken(err error) error {
	if postgres.Violates(err, "datasets_name_key") {
		return ErrNameTaken
	}
	return err
}
