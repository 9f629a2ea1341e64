// Package views manages saved views. A view is a UI page with a query string under a name, shared within a project.
package views

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
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

// Limits of views. The UI shows all views of a project in one list.
const (
	maxViews      = 200
	maxQueryBytes = 8192
)

var (
	// ErrNameTaken is returned if another view of the page has the name.
	ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This page already has a view with this name."}

	errTooMany = problem.InvalidField("body.name", fmt.Sprintf("is one too many: a project has at most %d views", maxViews))
)

// View is a saved view.
type View struct {
	ID   uuid.UUID
	Page string
	Name string
	// Query is the query string of the URL, without "?".
	Query string
	// CreatedBy is the email address of the author. It is nil for a key and for a deleted user.
	CreatedBy *string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Change is an update of a view. Fields that are nil do not change.
type Change struct {
	Name  *string
	Query *string
}

// Service manages views.
type Service struct {
	db  postgres.DB
	now func() time.Time
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), postgres.Clock(now)}
}

// List returns the views of a project, sorted by page and name. There are at most 200.
func (s *Service) List(ctx context.Context, grant access.Grant) ([]View, error) {
	project, err := grant.Project()
	if err != nil {
		return nil, err
	}
	return postgres.Many[View](ctx, s.db, "list views", pgx.NamedArgs{"project": project})
}

// Create saves a view. It returns [ErrNameTaken] if the name is in use on the page.
func (s *Service) Create(ctx context.Context, grant access.Grant, page, name, query string) (View, error) {
	project, err := grant.Project()
	if err != nil {
		return View{}, err
	}
	change, err := clean(Change{Name: &name, Query: &query})
	if err != nil {
		return View{}, err
	}
	var created View
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{
			"id": postgres.NewID(), "project": project, "page": page, "name": change.Name, "query": change.Query,
			"author": grant.CreatedBy(), "now": s.now(),
		}
		// The lock keeps concurrent requests from exceeding the limit together.
		if _, err := tx.Exec(ctx, "lock project", args); err != nil {
			return err
		}
		count, err := postgres.One[struct{ Views int }](ctx, tx, "count views", args)
		if err != nil {
			return err
		}
		if count.Views >= maxViews {
			return errTooMany
		}
		created, err = postgres.One[View](ctx, tx, "create view", args)
		return err
	})
	return created, nameTaken(err)
}

// Update changes the name or query of a view.
func (s *Service) Update(ctx context.Context, grant access.Grant, id uuid.UUID, change Change) (View, error) {
	project, err := grant.Project()
	if err != nil {
		return View{}, err
	}
	if change, err = clean(change); err != nil {
		return View{}, err
	}
	v, err := postgres.One[View](ctx, s.db, "update view", pgx.NamedArgs{
		"project": project, "id": id, "name": change.Name, "query": change.Query, "now": s.now(),
	})
	return v, nameTaken(err)
}

// Delete deletes a view for everybody in the project.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	project, err := grant.Project()
	if err != nil {
		return err
	}
	return s.db.Delete(ctx, "delete view", pgx.NamedArgs{"project": project, "id": id})
}

// clean normalizes a view for storage, and returns an error for each invalid field.
func clean(change Change) (Change, error) {
	var errs []error
	if change.Name != nil {
		name, err := validate.Name("body.name", *change.Name)
		change.Name = &name
		errs = append(errs, err)
	}
	if change.Query != nil {
		// Encoding again gives a canonical query and keeps anything else out of links.
		values, err := url.ParseQuery(*change.Query)
		if err != nil {
			errs = append(errs, problem.InvalidField("body.query", "must be the query of an address, such as status=error&range=7d"))
		} else if err := validate.Printable("body.query", *change.Query); err != nil {
			errs = append(errs, err)
		}
		query := values.Encode()
		if len(query) > maxQueryBytes {
			errs = append(errs, problem.InvalidField("body.query", fmt.Sprintf("must not be longer than %d bytes", maxQueryBytes)))
		}
		change.Query = &query
	}
	return change, errors.Join(errs...)
}

func nameTaken(err error) error {
	if postgres.Violates(err, "saved_views_name_key") {
		return ErrNameTaken
	}
	return err
}
