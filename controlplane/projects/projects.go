// Package projects manages projects and their ingest limits. Runs, prices and views belong to a project.
package projects

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// ErrNameTaken is returned if another project of the workspace has the name.
var ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This workspace already has a project with this name."}

// ErrSamplesExist is returned if the workspace has a project with samples.
var ErrSamplesExist = &problem.Error{
	Kind: problem.Conflict, Code: "samples_exist", Detail: "This workspace already has a project with sample data. Delete it to load the samples again.",
}

// sampleName is the name of a project with samples.
const sampleName = "Samples"

// errSampleNameTaken is returned if a project with samples cannot have its name.
var errSampleNameTaken = &problem.Error{
	Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "The workspace has a project of the name " + sampleName + ". Rename it, then load the samples.",
}

// Project is a project of a workspace.
type Project struct {
	ID          uuid.UUID
	WorkspaceID uuid.UUID
	Name        string
	// Sample is whether it has the samples that Looptrace loads.
	Sample    bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Service manages projects.
type Service struct {
	db  postgres.DB
	now func() time.Time
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), postgres.Clock(now)}
}

// List returns one page of the projects, sorted by name.
func (s *Service) List(ctx context.Context, seen access.Projects, page postgres.Page) (list []Project, more bool, err error) {
	return postgres.List[Project](ctx, s.db, "list projects", page, pgx.NamedArgs{"projects": seen.IDs()})
}

// Get returns the project of the grant.
func (s *Service) Get(ctx context.Context, grant access.Grant) (Project, error) {
	id, err := grant.Project()
	if err != nil {
		return Project{}, err
	}
	return postgres.One[Project](ctx, s.db, "read project", pgx.NamedArgs{"project": id})
}

// Create creates a project in the grant's workspace. It returns [ErrNameTaken] if the name is in use.
func (s *Service) Create(ctx context.Context, grant access.Grant, name string) (Project, error) {
	name, err := validate.Name("body.name", name)
	if err != nil {
		return Project{}, err
	}
	p, err := s.create(ctx, grant, name, false)
	return p, nameTaken(err)
}

// CreateSample creates the project for samples in the grant's workspace. It returns [ErrSamplesExist] if the workspace has one.
func (s *Service) CreateSample(ctx context.Context, grant access.Grant) (Project, error) {
	p, err := s.create(ctx, grant, sampleName, true)
	switch {
	case postgres.Violates(err, "projects_sample_key"):
		return p, ErrSamplesExist
	case !postgres.Violates(err, projectNameKey):
		return p, err
	}
	// Both have the name and the mark, and PostgreSQL names only the first.
	exists, err := postgres.One[struct{ Exists bool }](ctx, s.db, "has sample project", pgx.NamedArgs{"workspace": p.WorkspaceID})
	switch {
	case err != nil:
		return p, err
	case exists.Exists:
		return p, ErrSamplesExist
	default:
		return p, errSampleNameTaken
	}
}

func (s *Service) create(ctx context.Context, grant access.Grant, name string, sample bool) (Project, error) {
	now := s.now()
	p := Project{ID: postgres.NewID(), WorkspaceID: grant.Target.Workspace, Name: name, Sample: sample, CreatedAt: now, UpdatedAt: now}
	_, err := s.db.Exec(ctx, "create project", pgx.NamedArgs{"id": p.ID, "workspace": p.WorkspaceID, "name": name, "sample": sample, "now": now})
	return p, err
}

// Rename renames a project. It returns [ErrNameTaken] if the name is in use.
func (s *Service) Rename(ctx context.Context, grant access.Grant, name string) (Project, error) {
	id, err := grant.Project()
	if err != nil {
		return Project{}, err
	}
	if name, err = validate.Name("body.name", name); err != nil {
		return Project{}, err
	}
	p, err := postgres.One[Project](ctx, s.db, "rename project", pgx.NamedArgs{"project": id, "name": name, "now": s.now()})
	return p, nameTaken(err)
}

// Delete deletes the project of the grant with its keys, prices and views. Its runs are deleted by [Service.Purge].
// confirm must be the name of the project.
func (s *Service) Delete(ctx context.Context, grant access.Grant, confirm string) error {
	project, err := s.Get(ctx, grant)
	if err != nil {
		return err
	}
	if confirm != project.Name {
		return problem.InvalidField("query.confirm", "must be the name of what is to be deleted: "+strconv.Quote(project.Name))
	}
	return s.db.LongDelete(ctx, "delete project", pgx.NamedArgs{"project": project.ID})
}

// purgeDelays are the delays after each purge of a deleted project, but the last. Data that was queued when the project
// was deleted may be written days later, if ClickHouse was down.
var purgeDelays = []time.Duration{time.Hour, 7 * 24 * time.Hour}

// Purge calls purge, which deletes the data of a project from ClickHouse, for each deleted project whose turn it is.
// Several processes may do it at once.
func (s *Service) Purge(ctx context.Context, purge func(ctx context.Context, project uuid.UUID) error) error {
	now := s.now()
	due, err := postgres.Many[struct {
		ProjectID uuid.UUID
		Purges    int
	}](ctx, s.db, "list due purges", pgx.NamedArgs{"now": now})
	if err != nil {
		return err
	}
	var errs []error
	for _, project := range due {
		if err := purge(ctx, project.ProjectID); err != nil {
			errs = append(errs, fmt.Errorf("purge deleted project %s: %w", project.ProjectID, err)) // the others go on
			continue
		}
		args := pgx.NamedArgs{"project": project.ProjectID, "purges": project.Purges}
		name := "end purges"
		if project.Purges < len(purgeDelays) {
			name, args["next"] = "note purge", now.Add(purgeDelays[project.Purges])
		}
		if _, err := s.db.Exec(ctx, name, args); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

const projectNameKey = "projects_workspace_id_name_key"

func nameTaken(err error) error {
	if postgres.Violates(err, projectNameKey) {
		return ErrNameTaken
	}
	return err
}
