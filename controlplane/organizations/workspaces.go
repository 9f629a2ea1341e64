package organizations

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// ErrNameTaken is returned if another workspace of the organization has the name.
var ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This organization already has a workspace with this name."}

// Workspace is a workspace of an organization.
type Workspace struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Name           string
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Workspaces returns one page of the workspaces that the caller belongs to, sorted by name. If the grant has an
// organization, they are those in it.
func (s *Service) Workspaces(ctx context.Context, grant access.Grant, page postgres.Page) (list []Workspace, more bool, err error) {
	var seen []uuid.UUID
	for i := range grant.Principal.Workspaces {
		w := &grant.Principal.Workspaces[i]
		if grant.Target.Organization == uuid.Nil || grant.Target.Organization == w.OrganizationID {
			seen = append(seen, w.ID)
		}
	}
	return postgres.List[Workspace](ctx, s.db, "list workspaces", page, pgx.NamedArgs{"workspaces": seen})
}

// Workspace returns the workspace of the grant.
func (s *Service) Workspace(ctx context.Context, grant access.Grant) (Workspace, error) {
	return postgres.One[Workspace](ctx, s.db, "read workspace", pgx.NamedArgs{"workspace": grant.Target.Workspace})
}

// CreateWorkspace creates a workspace in the grant's organization. It returns [ErrNameTaken] if the name is in use.
func (s *Service) CreateWorkspace(ctx context.Context, grant access.Grant, name string) (Workspace, error) {
	name, err := validate.Name("body.name", name)
	if err != nil {
		return Workspace{}, err
	}
	now := s.now()
	w := Workspace{ID: postgres.NewID(), OrganizationID: grant.Target.Organization, Name: name, CreatedAt: now, UpdatedAt: now}
	_, err = s.db.Exec(ctx, "create workspace", pgx.NamedArgs{"workspace": w.ID, "organization": w.OrganizationID, "name": name, "now": now})
	return w, nameTaken(err)
}

// RenameWorkspace renames the workspace of the grant. It returns [ErrNameTaken] if the name is in use.
func (s *Service) RenameWorkspace(ctx context.Context, grant access.Grant, name string) (Workspace, error) {
	name, err := validate.Name("body.name", name)
	if err != nil {
		return Workspace{}, err
	}
	w, err := postgres.One[Workspace](ctx, s.db, "rename workspace", pgx.NamedArgs{"workspace": grant.Target.Workspace, "name": name, "now": s.now()})
	return w, nameTaken(err)
}

// DeleteWorkspace deletes the workspace of the grant with everything in it. confirm must be its name.
func (s *Service) DeleteWorkspace(ctx context.Context, grant access.Grant, confirm string) error {
	w, err := s.Workspace(ctx, grant)
	if err != nil {
		return err
	}
	if err := checkConfirm(confirm, w.Name); err != nil {
		return err
	}
	return s.db.LongDelete(ctx, "delete workspace", pgx.NamedArgs{"workspace": w.ID})
}

func nameTaken(err error) error {
	if postgres.Violates(err, "workspaces_organization_id_name_key") {
		return ErrNameTaken
	}
	return err
}
