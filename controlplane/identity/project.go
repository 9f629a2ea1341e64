package identity

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Project is what runs belong to.
type Project struct {
	ID          uuid.UUID
	WorkspaceID uuid.UUID
	Name        string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Projects lists what the principal sees, by name.
func (s *Service) Projects(ctx context.Context, p *Principal, page Page) (list []Project, more bool, err error) {
	rows, err := s.store.projects(ctx, p.projectIDs(), page)
	if err != nil {
		return nil, false, err
	}
	list, more = cut(rows, page)
	return list, more, nil
}

// Project reads one project that the principal sees.
func (s *Service) Project(ctx context.Context, p *Principal, id uuid.UUID) (Project, error) {
	if err := p.authorizeSight(id); err != nil {
		return Project{}, err
	}
	return s.store.project(ctx, id)
}

// CreateProject makes a project in a workspace that the principal, a user, administers.
func (s *Service) CreateProject(ctx context.Context, p *Principal, workspace uuid.UUID, name string) (Project, error) {
	if err := s.authorizeWorkspace(ctx, p, workspace); err != nil {
		return Project{}, err
	}
	name, err := cleanName("name", name)
	if err != nil {
		return Project{}, err
	}
	now := s.now()
	project := Project{ID: newID(), WorkspaceID: workspace, Name: name, CreatedAt: now, UpdatedAt: now}
	if err := s.store.createProject(ctx, project); err != nil {
		return Project{}, err
	}
	return project, nil
}

// UpdateProject gives a project another name; without one it changes nothing.
func (s *Service) UpdateProject(ctx context.Context, p *Principal, id uuid.UUID, name *string) (Project, error) {
	if err := p.Authorize(id, apikey.ScopeAdmin); err != nil {
		return Project{}, err
	}
	if name == nil {
		return s.store.project(ctx, id)
	}
	clean, err := cleanName("name", *name)
	if err != nil {
		return Project{}, err
	}
	return s.store.renameProject(ctx, id, clean, s.now())
}

// authorizeWorkspace is [Principal.Authorize] for what belongs to a workspace and not to one project. A
// workspace may be empty, so the principal's projects cannot tell.
func (s *Service) authorizeWorkspace(ctx context.Context, p *Principal, workspace uuid.UUID) error {
	needed := &ScopeError{Needed: "role owner or admin in the workspace"}
	if p.User == nil {
		for _, a := range p.Projects {
			if a.WorkspaceID == workspace {
				return needed
			}
		}
		return ErrNotFound
	}
	role, err := s.store.rolesIn(ctx, workspace, p.User.ID)
	if err != nil {
		return err
	}
	if !role.administers() {
		return needed
	}
	return nil
}
