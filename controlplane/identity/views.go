package identity

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/apikey"
)

// View is a page of the UI with the query of its address, kept under a name for everybody in a project.
type View struct {
	ID   uuid.UUID
	Page string
	Name string
	// Query is what stands after the "?" of the page's address.
	Query string
	// CreatedBy is the address of who made it, nil for a key and for somebody who is gone.
	CreatedBy *string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ViewChange is what changes of a view; nil stays.
type ViewChange struct {
	Name  *string
	Query *string
}

// mostViews bounds the views of a project: people choose from all of them in one list.
const mostViews = 200

// longestQuery is how many bytes of a query are kept.
const longestQuery = 8192

var errTooManyViews = &InvalidError{Field: "name", Message: fmt.Sprintf("is one too many: a project has at most %d views", mostViews)}

// Views lists the views of a project, by page and name. There are at most 200.
func (s *Service) Views(ctx context.Context, p *Principal, project uuid.UUID) ([]View, error) {
	if err := p.Authorize(project, apikey.ScopeRunsRead); err != nil {
		return nil, err
	}
	return s.store.views(ctx, project)
}

// CreateView keeps a view for everybody in the project.
func (s *Service) CreateView(ctx context.Context, p *Principal, project uuid.UUID, page, name, query string) (View, error) {
	if err := p.Authorize(project, apikey.ScopeRunsWrite); err != nil {
		return View{}, err
	}
	change, err := cleanView(ViewChange{Name: &name, Query: &query})
	if err != nil {
		return View{}, err
	}
	return s.store.createView(ctx, project, p.createdBy(), View{
		ID: newID(), Page: page, Name: *change.Name, Query: *change.Query, CreatedAt: s.now(),
	})
}

// UpdateView renames a view of a project, or makes it lead to something else.
func (s *Service) UpdateView(ctx context.Context, p *Principal, project, id uuid.UUID, change ViewChange) (View, error) {
	if err := p.Authorize(project, apikey.ScopeRunsWrite); err != nil {
		return View{}, err
	}
	change, err := cleanView(change)
	if err != nil {
		return View{}, err
	}
	return s.store.updateView(ctx, project, id, change, s.now())
}

// DeleteView takes a view away from everybody in the project.
func (s *Service) DeleteView(ctx context.Context, p *Principal, project, id uuid.UUID) error {
	if err := p.Authorize(project, apikey.ScopeRunsWrite); err != nil {
		return err
	}
	return s.store.deleteView(ctx, project, id)
}

// cleanView puts a view into the form in which it is kept, and returns an [InvalidError] for each field that cannot be used.
func cleanView(change ViewChange) (ViewChange, error) {
	var errs []error
	if change.Name != nil {
		name, err := cleanName("name", *change.Name)
		change.Name = &name
		errs = append(errs, err)
	}
	if change.Query != nil {
		// The same parameters always make the same text, and nothing that is not one gets into a link.
		values, err := url.ParseQuery(*change.Query)
		if err != nil {
			errs = append(errs, &InvalidError{Field: "query", Message: "must be the query of an address, such as status=error&range=7d"})
		} else if err := checkPrintable("query", *change.Query); err != nil {
			errs = append(errs, err)
		}
		query := values.Encode()
		if len(query) > longestQuery {
			errs = append(errs, &InvalidError{Field: "query", Message: fmt.Sprintf("must not be longer than %d bytes", longestQuery)})
		}
		change.Query = &query
	}
	return change, errors.Join(errs...)
}

const viewColumns = `v.id, v.page, v.name, v.query, u.email AS created_by, v.created_at, v.updated_at`

func (s *store) views(ctx context.Context, project uuid.UUID) ([]View, error) {
	return many[View](ctx, s, "list views", `
		SELECT `+viewColumns+` FROM saved_views v LEFT JOIN users u ON u.id = v.created_by
		WHERE v.project_id = @project ORDER BY v.page, lower(v.name)`,
		pgx.NamedArgs{"project": project})
}

func (s *store) createView(ctx context.Context, project uuid.UUID, author *uuid.UUID, v View) (View, error) {
	made, err := one[View](ctx, s, "create view", `
		WITH v AS (
			INSERT INTO saved_views (id, project_id, page, name, query, created_by, created_at, updated_at)
			SELECT @id, @project, @page, @name, @query, @author, @now, @now
			WHERE (SELECT count(*) FROM saved_views WHERE project_id = @project) < @most
			RETURNING *)
		SELECT `+viewColumns+` FROM v LEFT JOIN users u ON u.id = v.created_by`,
		pgx.NamedArgs{
			"id": v.ID, "project": project, "page": v.Page, "name": v.Name, "query": v.Query, "author": author,
			"now": v.CreatedAt, "most": mostViews,
		})
	switch {
	case violates(err, viewKey):
		return View{}, ErrViewNameTaken
	case errors.Is(err, ErrNotFound):
		return View{}, errTooManyViews
	}
	return made, err
}

// viewKey is the index that a page has one view of a name.
const viewKey = "saved_views_name_key"

func (s *store) updateView(ctx context.Context, project, id uuid.UUID, change ViewChange, now time.Time) (View, error) {
	v, err := one[View](ctx, s, "update view", `
		WITH v AS (
			UPDATE saved_views SET name = coalesce(@name, name), query = coalesce(@query, query), updated_at = @now
			WHERE project_id = @project AND id = @id
			RETURNING *)
		SELECT `+viewColumns+` FROM v LEFT JOIN users u ON u.id = v.created_by`,
		pgx.NamedArgs{"project": project, "id": id, "name": change.Name, "query": change.Query, "now": now})
	if violates(err, viewKey) {
		return View{}, ErrViewNameTaken
	}
	return v, err
}

func (s *store) deleteView(ctx context.Context, project, id uuid.UUID) error {
	_, err := one[struct{ ID uuid.UUID }](ctx, s, "delete view", `
		DELETE FROM saved_views WHERE project_id = @project AND id = @id RETURNING id`,
		pgx.NamedArgs{"project": project, "id": id})
	return err
}
