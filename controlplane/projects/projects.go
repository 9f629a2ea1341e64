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
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/validate"
)

//go:embed queries.sql
var queries string

// ErrNameTaken is returned if another project of the workspace has the name.
var ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "The workspace has a project of this name."}

// Project is a project of a workspace.
type Project struct {
	ID          uuid.UUID
	WorkspaceID uuid.UUID
	Name        string
	CreatedAt   time.Time
	UpdatedAt   time.Time
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
	now := s.now()
	p := Project{ID: postgres.NewID(), WorkspaceID: grant.Target.Workspace, Name: name, CreatedAt: now, UpdatedAt: now}
	_, err = s.db.Exec(ctx, "create project", pgx.NamedArgs{"id": p.ID, "workspace": p.WorkspaceID, "name": name, "now": now})
	return p, nameTaken(err)
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

func nameTaken(err error) error {
	if postgres.Violates(err, "projects_workspace_id_name_key") {
		return ErrNameTaken
	}
	return err
}
