// Package providers keeps connections to model providers, and calls models through them.
//
// [Service.Complete] is the one way to call a model. It adds to package llm what needs a store: retries, the limits of a connection
// in calls at once, requests a minute and money, which all processes share, and what earlier answers taught of a model.
package providers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

//go:embed calls.sql
var callQueries string

const (
	// maxProviders is how many connections a project may have.
	maxProviders = 100
	// defaultConcurrency is how many calls of a connection run at once if it does not say.
	defaultConcurrency = 16
	// hintLength is how much of an API key is shown. A shorter key than hintFrom has no hint.
	hintLength, hintFrom = 4, 12
)

var (
	// ErrNameTaken is returned if another connection of the project has the name.
	ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This project already has a connection with this name."}

	errTooMany = problem.InvalidField("body.name", fmt.Sprintf("is one too many: a project has at most %d connections", maxProviders))
)

// Prices finds the prices of a project.
type Prices interface {
	Matcher(ctx context.Context, project uuid.UUID) (*prices.Matcher, error)
}

// Author is who created a connection: a user, or a key.
type Author struct {
	AuthorEmail *string
	AuthorKey   *string
}

// Provider is a connection.
type Provider struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	Kind      llm.Kind
	BaseURL   string
	// KeyHint is the end of the API key, nil without one.
	KeyHint           *string
	HeaderNames       []string
	MaxConcurrency    int
	RequestsPerMinute *int
	MonthlyBudget     *Money
	AllowUnpriced     bool
	CreatedAt         time.Time
	UpdatedAt         time.Time
	Author

	// Running is how many calls are under way, of at most ConcurrencyLimit now.
	Running, ConcurrencyLimit int
	// LimitedAt is when the provider last answered 429. PausedUntil is until when it asked to wait.
	LimitedAt, PausedUntil *time.Time
	// Month is the first day of the month of Spent.
	Month           time.Time
	Spent, Reserved Money

	Secrets  []byte
	SecretID string
	// KeyReadable is whether the secrets can be decrypted.
	KeyReadable bool `db:"-"`
}

// Change is an update of a connection. Fields that are nil do not change. A pointer to nil removes a value.
type Change struct {
	Name              *string
	Kind              llm.Kind // only of a new one
	BaseURL           *string
	APIKey            **string
	Headers           map[string]string
	MaxConcurrency    *int
	RequestsPerMinute **int
	MonthlyBudget     **Money
	AllowUnpriced     *bool
}

// Service manages connections and calls models.
type Service struct {
	// IdleTimeout limits the wait for the first byte of a response and between bytes. 0 means [llm.DefaultIdleTimeout]. It is set before
	// the first call.
	IdleTimeout time.Duration

	db     postgres.DB
	calls  postgres.DB
	now    func() time.Time
	keys   *Keyring
	policy outbound.Policy
	http   *http.Client
	prices Prices
	log    *slog.Logger

	mu sync.Mutex
	// queues order the calls of each connection.
	queues map[uuid.UUID]*queue
	// lists are what each connection's provider listed.
	lists map[uuid.UUID]*modelList
	// live are the calls of this process that are not settled.
	live map[uuid.UUID]struct{}
	// unsettled are the calls that ended while the database did not answer.
	unsettled []settlement
}

// New returns a service on the database. policy decides which addresses may be called. now is the clock.
func New(pool *pgxpool.Pool, keys *Keyring, policy outbound.Policy, priceList Prices, now func() time.Time, log *slog.Logger) *Service {
	return &Service{
		db: postgres.NewDB(pool, queries), calls: postgres.NewDB(pool, callQueries), now: postgres.Clock(now), keys: keys,
		policy: policy, http: policy.Client(), prices: priceList, log: log,
		queues: map[uuid.UUID]*queue{}, lists: map[uuid.UUID]*modelList{}, live: map[uuid.UUID]struct{}{},
	}
}

// List returns a page of connections sorted by name.
func (s *Service) List(ctx context.Context, grant access.Grant, page postgres.Page) ([]Provider, bool, error) {
	list, more, err := postgres.List[Provider](ctx, s.db, "list providers", page, pgx.NamedArgs{"projects": grant.IDs()})
	for i := range list {
		s.complete(&list[i])
	}
	return list, more, err
}

// ListIn returns connections of a project, for a caller that may see them.
func (s *Service) ListIn(ctx context.Context, project uuid.UUID, page postgres.Page) ([]Provider, error) {
	list, _, err := postgres.List[Provider](ctx, s.db, "list providers", page, pgx.NamedArgs{"projects": []uuid.UUID{project}})
	return list, err
}

// Get returns a connection.
func (s *Service) Get(ctx context.Context, projects access.Projects, id uuid.UUID) (Provider, error) {
	return s.get(ctx, s.db, projects, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, projects access.Projects, id uuid.UUID) (Provider, error) {
	p, err := postgres.One[Provider](ctx, db, "get provider", pgx.NamedArgs{"projects": projects.IDs(), "provider": id})
	s.complete(&p)
	return p, err
}

// complete sets what is not in the row.
func (s *Service) complete(p *Provider) {
	_, err := s.keys.open(p.ID, p.SecretID, p.Secrets)
	p.KeyReadable = err == nil
	if month := s.month(); p.Month.Before(month) { // no call began since
		p.Month, p.Spent = month, 0
	}
}

// month returns the first day of this month.
func (s *Service) month() time.Time {
	now := s.now()
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// Create creates a connection. It returns [ErrNameTaken] if the name is in use.
func (s *Service) Create(ctx context.Context, grant access.Grant, change Change) (Provider, error) {
	project, err := grant.Project()
	if err != nil {
		return Provider{}, err
	}
	p := Provider{ID: postgres.NewID(), ProjectID: project, Kind: change.Kind, MaxConcurrency: defaultConcurrency, HeaderNames: []string{}}
	secret := secrets{}
	if err := s.apply(ctx, &p, &secret, change); err != nil {
		return Provider{}, err
	}
	args, err := s.args(&p, secret)
	if err != nil {
		return Provider{}, err
	}
	args["project"], args["kind"], args["month"] = project, p.Kind, s.month()
	args["author"], args["author_key"] = grant.CreatedBy(), grant.CreatedByKey()
	var created Provider
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		// The lock keeps concurrent requests from exceeding the limit together.
		if _, err := tx.Exec(ctx, "lock project", args); err != nil {
			return err
		}
		count, err := postgres.One[struct{ Providers int }](ctx, tx, "count providers", args)
		if err != nil {
			return err
		}
		if count.Providers >= maxProviders {
			return errTooMany
		}
		if _, err := tx.Exec(ctx, "create provider", args); err != nil {
			return err
		}
		created, err = s.get(ctx, tx, grant.Projects, p.ID)
		return err
	})
	return created, nameTaken(err)
}

// Update changes a connection.
func (s *Service) Update(ctx context.Context, grant access.Grant, id uuid.UUID, change Change) (Provider, error) {
	var updated Provider
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if err := tx.Delete(ctx, "lock provider", pgx.NamedArgs{"projects": grant.IDs(), "provider": id}); err != nil {
			return err
		}
		p, err := s.get(ctx, tx, grant.Projects, id)
		if err != nil {
			return err
		}
		secret, err := s.keys.open(p.ID, p.SecretID, p.Secrets)
		if errors.Is(err, errUnreadable) {
			secret, p.KeyHint, p.HeaderNames, err = secrets{}, nil, []string{}, nil
		}
		if err != nil {
			return err
		}
		before := p
		if err := s.apply(ctx, &p, &secret, change); err != nil {
			return err
		}
		args, err := s.args(&p, secret)
		if err != nil {
			return err
		}
		if !before.KeyReadable && change.APIKey == nil { // it stays unreadable, and says so
			args["secrets"], args["secret_id"], args["key_hint"], args["header_names"] = before.Secrets, before.SecretID, before.KeyHint, before.HeaderNames
		}
		if _, err := tx.Exec(ctx, "update provider", args); err != nil {
			return err
		}
		// Another key may be of another account, and another address of another provider.
		if p.MaxConcurrency != before.MaxConcurrency || change.RequestsPerMinute != nil || change.APIKey != nil || p.BaseURL != before.BaseURL {
			if _, err := tx.Exec(ctx, "reset limit", args); err != nil {
				return err
			}
		}
		if p.BaseURL != before.BaseURL {
			if _, err := tx.Exec(ctx, "forget models", args); err != nil {
				return err
			}
		}
		updated, err = s.get(ctx, tx, grant.Projects, id)
		return err
	})
	return updated, nameTaken(err)
}

// Delete deletes a connection. What its calls cost stays in the spending of the project.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	return s.db.Delete(ctx, "delete provider", pgx.NamedArgs{"projects": grant.IDs(), "provider": id})
}

func nameTaken(err error) error {
	if postgres.Violates(err, "providers_name_key") {
		return ErrNameTaken
	}
	return err
}

// args returns the arguments of the statements that store a connection.
func (s *Service) args(p *Provider, secret secrets) (pgx.NamedArgs, error) {
	sealed, err := s.keys.seal(p.ID, secret)
	if err != nil {
		return nil, err
	}
	return pgx.NamedArgs{
		"provider": p.ID, "name": p.Name, "base_url": p.BaseURL, "secrets": sealed, "secret_id": s.keys.current,
		"key_hint": p.KeyHint, "header_names": p.HeaderNames, "max_concurrency": p.MaxConcurrency, "requests_per_minute": p.RequestsPerMinute,
		"monthly_budget": p.MonthlyBudget, "allow_unpriced": p.AllowUnpriced, "now": s.now(),
	}, nil
}

// Reencrypt encrypts with the first key of the keyring what others encrypted.
func (s *Service) Reencrypt(ctx context.Context) error {
	rows, err := postgres.Many[struct {
		ID       uuid.UUID
		Secrets  []byte
		SecretID string
	}](ctx, s.db, "list secrets of other keys", pgx.NamedArgs{"secret_id": s.keys.current})
	errs := []error{err}
	for _, row := range rows {
		secret, err := s.keys.open(row.ID, row.SecretID, row.Secrets)
		if errors.Is(err, errUnreadable) {
			continue // the connection says so
		}
		if err == nil {
			var sealed []byte
			if sealed, err = s.keys.seal(row.ID, secret); err == nil {
				_, err = s.db.Exec(ctx, "encrypt again", pgx.NamedArgs{
					"provider": row.ID, "secrets": sealed, "secret_id": s.keys.current, "old_secret_id": row.SecretID,
				})
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Money is an amount in nanodollars, 1/1,000,000,000 of a US dollar.
type Money int64

const nanosPerDollar = 1e9

// Dollars returns the amount in US dollars.
func (m Money) Dollars() float64 { return float64(m) / nanosPerDollar }

// AddMoney adds amounts, of which nil is unknown.
func AddMoney(a, b *Money) *Money {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// MoneyOf returns an amount of US dollars, rounded up: a cost is never counted as less than it is.
func MoneyOf(dollars float64) Money {
	// The product of a decimal fraction may lie just above the whole number that is meant.
	return Money(math.Ceil(dollars*nanosPerDollar - 1e-6))
}

// sortedNames returns the names of headers in order.
func sortedNames(headers map[string]string) []string {
	names := slices.Sorted(maps.Keys(headers))
	if names == nil {
		names = []string{}
	}
	return names
}
