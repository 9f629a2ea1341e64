package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// maxScenarios is how many scenarios a project may have.
const maxScenarios = 1000

var (
	// ErrNameTaken is returned if another scenario of the project has the name.
	ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This project already has a scenario with this name."}

	errTooMany = problem.InvalidField("body.name", fmt.Sprintf("is one too many: a project has at most %d scenarios", maxScenarios))
)

// Scenario is messages and variables under a name.
type Scenario struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	// Content is JSON. It is empty in lists.
	Content   string
	CreatedAt time.Time
	UpdatedAt time.Time
	// AuthorEmail or AuthorKey is who created it.
	AuthorEmail *string
	AuthorKey   *string
}

// ListScenarios returns a page of scenarios without their content, sorted by name.
func (s *Service) ListScenarios(ctx context.Context, grant access.Grant, page postgres.Page) ([]Scenario, bool, error) {
	return postgres.List[Scenario](ctx, s.db, "list scenarios", page, pgx.NamedArgs{"projects": grant.IDs()})
}

// GetScenario returns a scenario.
func (s *Service) GetScenario(ctx context.Context, grant access.Grant, id uuid.UUID) (Scenario, error) {
	return postgres.One[Scenario](ctx, s.db, "get scenario", pgx.NamedArgs{"projects": grant.IDs(), "scenario": id})
}

// CreateScenario saves a scenario. It returns [ErrNameTaken] if the name is in use.
func (s *Service) CreateScenario(ctx context.Context, grant access.Grant, name string, content json.RawMessage) (Scenario, error) {
	project, err := grant.Project()
	if err != nil {
		return Scenario{}, err
	}
	if name, err = validate.Name("body.name", name); err != nil {
		return Scenario{}, err
	}
	id := postgres.NewID()
	var created Scenario
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{
			"scenario": id, "project": project, "name": name, "content": string(content), "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
		}
		// The lock keeps concurrent requests from exceeding the limit together.
		if _, err := tx.Exec(ctx, "lock project", args); err != nil {
			return err
		}
		count, err := postgres.One[struct{ Scenarios int }](ctx, tx, "count scenarios", args)
		if err != nil {
			return err
		}
		if count.Scenarios >= maxScenarios {
			return errTooMany
		}
		if _, err := tx.Exec(ctx, "create scenario", args); err != nil {
			return err
		}
		created, err = postgres.One[Scenario](ctx, tx, "get scenario", pgx.NamedArgs{"projects": grant.IDs(), "scenario": id})
		return err
	})
	return created, nameTaken(err)
}

// UpdateScenario changes what is not nil.
func (s *Service) UpdateScenario(ctx context.Context, grant access.Grant, id uuid.UUID, name *string, content json.RawMessage) (Scenario, error) {
	args := pgx.NamedArgs{"projects": grant.IDs(), "scenario": id, "name": nil, "content": nil, "now": s.now()}
	if name != nil {
		clean, err := validate.Name("body.name", *name)
		if err != nil {
			return Scenario{}, err
		}
		args["name"] = clean
	}
	if content != nil {
		args["content"] = string(content)
	}
	if err := s.db.Delete(ctx, "update scenario", args); err != nil {
		return Scenario{}, nameTaken(err)
	}
	return s.GetScenario(ctx, grant, id)
}

// DeleteScenario deletes a scenario for everybody in the project.
func (s *Service) DeleteScenario(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	return s.db.Delete(ctx, "delete scenario", pgx.NamedArgs{"projects": grant.IDs(), "scenario": id})
}

func nameTaken(err error) error {
	if postgres.Violates(err, "scenarios_name_key") {
		return ErrNameTaken
	}
	return err
}
