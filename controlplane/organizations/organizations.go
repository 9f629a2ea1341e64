// Package organizations manages organizations and their workspaces. Projects belong to a workspace.
package organizations

import (
	"context"
	_ "embed"
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

// ErrLastOrganization is returned for the deletion of the only organization. Nobody could create another one.
var ErrLastOrganization = &problem.Error{
	Kind: problem.Conflict, Code: "last_organization", Detail: "This is the only organization. Create another one first.",
}

// Organization is a tenant.
type Organization struct {
	ID        uuid.UUID
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Service manages organizations and workspaces.
type Service struct {
	db  postgres.DB
	now func() time.Time
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), postgres.Clock(now)}
}

// List returns one page of the organizations that the caller belongs to, sorted by name.
func (s *Service) List(ctx context.Context, grant access.Grant, page postgres.Page) (list []Organization, more bool, err error) {
	return postgres.List[Organization](ctx, s.db, "list organizations", page, pgx.NamedArgs{"organizations": grant.Organizations()})
}

// Get returns the organization of the grant.
func (s *Service) Get(ctx context.Context, grant access.Grant) (Organization, error) {
	return postgres.One[Organization](ctx, s.db, "read organization", pgx.NamedArgs{"organization": grant.Target.Organization})
}

// Create creates an organization that the caller owns, with a workspace and a project named Default.
func (s *Service) Create(ctx context.Context, grant access.Grant, name string) (Organization, error) {
	name, err := validate.Name("body.name", name)
	if err != nil {
		return Organization{}, err
	}
	now := s.now()
	o := Organization{ID: postgres.NewID(), Name: name, CreatedAt: now, UpdatedAt: now}
	args := pgx.NamedArgs{
		"organization": o.ID, "name": name, "now": now, "user": grant.CreatedBy(), "workspace": postgres.NewID(), "project": postgres.NewID(),
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		for _, name := range []string{"create organization", "make user the owner", "create default workspace", "create default project"} {
			if _, err := tx.Exec(ctx, name, args); err != nil {
				return err
			}
		}
		return nil
	})
	return o, err
}

// Rename renames the organization of the grant.
func (s *Service) Rename(ctx context.Context, grant access.Grant, name string) (Organization, error) {
	name, err := validate.Name("body.name", name)
	if err != nil {
		return Organization{}, err
	}
	return postgres.One[Organization](ctx, s.db, "rename organization", pgx.NamedArgs{
		"organization": grant.Target.Organization, "name": name, "now": s.now(),
	})
}

// Delete deletes the organization of the grant with everything in it. confirm must be its name. It returns
// [ErrLastOrganization] for the only one.
func (s *Service) Delete(ctx context.Context, grant access.Grant, confirm string) error {
	return s.db.LongTx(ctx, func(ctx context.Context, long pgx.Tx) error {
		tx := s.db.On(long)
		// Concurrent deletions of the last two must not both succeed.
		if _, err := tx.Exec(ctx, "lock organizations", nil); err != nil {
			return err
		}
		others, err := postgres.One[struct{ Count int64 }](ctx, tx, "count other organizations", pgx.NamedArgs{"organization": grant.Target.Organization})
		if err != nil {
			return err
		}
		if others.Count == 0 {
			return ErrLastOrganization
		}
		organization, err := postgres.One[Organization](ctx, tx, "read organization", pgx.NamedArgs{"organization": grant.Target.Organization})
		if err != nil {
			return err
		}
		if err := checkConfirm(confirm, organization.Name); err != nil {
			return err
		}
		return tx.LongDelete(ctx, "delete organization", pgx.NamedArgs{"organization": organization.ID})
	})
}

func checkConfirm(confirm, name string) error {
	if confirm != name {
		return problem.InvalidField("query.confirm", "must be the name of what is to be deleted: "+strconv.Quote(name))
	}
	return nil
}

// Contents counts what goes with an organization, workspace or project.
type Contents struct {
	Name       string
	Workspaces int64
	// Keys are those that still work.
	Keys    int64
	Members int64
}

// Contents counts what goes with the deletion of the grant's target. The grant has its projects.
func (s *Service) Contents(ctx context.Context, grant access.Grant) (Contents, error) {
	given := func(id uuid.UUID) *uuid.UUID {
		if id == uuid.Nil {
			return nil
		}
		return &id
	}
	c, err := postgres.One[Contents](ctx, s.db, "count contents", pgx.NamedArgs{
		"organization": given(grant.Target.Organization), "workspace": given(grant.Target.Workspace), "project": given(grant.Target.Project),
		"projects": grant.IDs(), "now": s.now(),
	})
	if err == nil && c.Name == "" {
		return Contents{}, postgres.ErrNotFound
	}
	return c, err
}
