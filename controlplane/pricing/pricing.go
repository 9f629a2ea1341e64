// Package pricing manages project prices, lists models without a price, and reprices stored spans.
package pricing

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// maxOverrides is the maximum number of prices of a project. The collector keeps all of them in memory.
const maxOverrides = 1000

var (
	errTaken   = problem.InvalidField("body.model", "already has a project price starting then")
	errTooMany = problem.InvalidField("body.model", "is one too many: a project has at most 1000 prices of its own")
)

// Price is a price that applies to a project.
type Price struct {
	// ID is nil for a price of the built-in table.
	ID *uuid.UUID
	prices.Price
}

// Query selects prices.
type Query struct {
	// Own selects the project's own prices, Table those of the built-in table.
	Own, Table bool
	// Search is a substring of provider and model, separated by a space. Case is ignored.
	Search string
	postgres.Page
}

// Service manages prices.
type Service struct {
	db   postgres.DB
	runs runReader
	now  func() time.Time
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, runs runReader, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), runs, postgres.Clock(now)}
}

// List returns one page of prices: the project's own prices, sorted by model, and then those of the built-in table.
func (s *Service) List(ctx context.Context, grant access.Grant, q Query) (list []Price, more bool, err error) {
	own, err := s.overrides(ctx, grant)
	if err != nil {
		return nil, false, err
	}
	search, skip := strings.ToLower(q.Search), q.Offset
	add := func(id *uuid.UUID, p *prices.Price) {
		switch {
		case !strings.Contains(p.Provider+" "+p.Pattern, search):
		case skip > 0:
			skip--
		case len(list) < q.Limit:
			list = append(list, Price{id, *p})
		default:
			more = true
		}
	}
	if q.Own {
		for i := range own {
			p := own[i].price()
			add(p.ID, &p.Price)
		}
	}
	if q.Table {
		for _, p := range prices.Default().Prices {
			add(nil, p)
		}
	}
	return list, more, nil
}

// Create adds a price to a project. Ingest uses it within seconds.
func (s *Service) Create(ctx context.Context, grant access.Grant, o prices.Override) (Price, error) {
	args, err := argsOf(grant, &o)
	if err != nil {
		return Price{}, err
	}
	args["id"] = postgres.NewID()
	var row overrideRow
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		// The lock keeps concurrent requests from exceeding the limit together.
		if _, err := tx.Exec(ctx, "lock project", args); err != nil {
			return err
		}
		count, err := postgres.One[struct{ Prices int }](ctx, tx, "count prices", args)
		if err != nil {
			return err
		}
		if count.Prices >= maxOverrides {
			return errTooMany
		}
		row, err = postgres.One[overrideRow](ctx, tx, "create price", args)
		return err
	})
	return row.price(), taken(err)
}

// Set replaces a price of a project.
func (s *Service) Set(ctx context.Context, grant access.Grant, id uuid.UUID, o prices.Override) (Price, error) {
	args, err := argsOf(grant, &o)
	if err != nil {
		return Price{}, err
	}
	args["id"] = id
	row, err := postgres.One[overrideRow](ctx, s.db, "set price", args)
	return row.price(), taken(err)
}

// Delete deletes a price of a project.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	project, err := grant.Project()
	if err != nil {
		return err
	}
	return s.db.Delete(ctx, "delete price", pgx.NamedArgs{"project": project, "id": id})
}

func taken(err error) error {
	if postgres.Violates(err, "price_overrides_project_id_provider_model_valid_from_key") {
		return errTaken
	}
	return err
}

// overrideRow is a stored project price.
type overrideRow struct {
	ID           uuid.UUID
	Provider     string
	Model        string
	ValidFrom    *time.Time
	Input        float64
	Output       float64
	CacheRead    *float64
	CacheWrite   *float64
	CacheWrite1h *float64 `db:"cache_write_1h"`
	Reasoning    *float64
	Revision     int64
}

func (r *overrideRow) override() prices.Override {
	o := prices.Override{
		Provider: r.Provider, Model: r.Model, Revision: r.Revision,
		Rates: prices.Rates{
			Input: r.Input, Output: r.Output, CacheRead: r.CacheRead,
			CacheWrite: r.CacheWrite, CacheWrite1h: r.CacheWrite1h, Reasoning: r.Reasoning,
		},
	}
	if r.ValidFrom != nil {
		o.From = r.ValidFrom.UTC()
	}
	return o
}

func (r *overrideRow) price() Price {
	o := r.override()
	return Price{&r.ID, prices.Price{
		Provider: o.Provider, Pattern: o.Model, From: o.From, Rates: o.Rates, Version: prices.VersionOf(o.Revision),
	}}
}

func (s *Service) overrides(ctx context.Context, grant access.Grant) ([]overrideRow, error) {
	project, err := grant.Project()
	if err != nil {
		return nil, err
	}
	return postgres.Many[overrideRow](ctx, s.db, "list prices", pgx.NamedArgs{"project": project})
}

// argsOf normalizes the names of a price and returns its query arguments, or an error for each invalid field.
func argsOf(grant access.Grant, o *prices.Override) (pgx.NamedArgs, error) {
	project, err := grant.Project()
	if err != nil {
		return nil, err
	}
	o.Normalize()
	args := pgx.NamedArgs{
		"project": project, "provider": o.Provider, "model": o.Model, "valid_from": nil, "input": o.Input, "output": o.Output,
		"cache_read": o.CacheRead, "cache_write": o.CacheWrite, "cache_write_1h": o.CacheWrite1h, "reasoning": o.Reasoning,
	}
	if !o.From.IsZero() {
		if err := validate.Time("body.valid_from", o.From); err != nil {
			return nil, err
		}
		args["valid_from"] = o.From.UTC().Truncate(time.Microsecond) // PostgreSQL stores microseconds
	}
	err = o.Validate()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return args, err
	}
	var fields []problem.Field
	for _, one := range joined.Unwrap() {
		var invalid *prices.InvalidError
		if !errors.As(one, &invalid) {
			return nil, err
		}
		fields = append(fields, problem.Field{Location: "body." + invalid.Field, Message: invalid.Message})
	}
	return nil, problem.InvalidFields(fields...)
}

// Matcher returns the prices of a project: its own, and those of the table.
func (s *Service) Matcher(ctx context.Context, project uuid.UUID) (*prices.Matcher, error) {
	rows, err := postgres.Many[overrideRow](ctx, s.db, "list prices", pgx.NamedArgs{"project": project})
	if err != nil {
		return nil, err
	}
	own := make([]prices.Override, len(rows))
	for i := range rows {
		own[i] = rows[i].override()
	}
	return prices.Default().WithOverrides(own), nil
}
