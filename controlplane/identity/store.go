package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// queryTimeout bounds a statement or transaction, the wait for a connection included.
const queryTimeout = 5 * time.Second

// store keeps users, sessions, projects and keys in PostgreSQL.
type store struct {
	pool *pgxpool.Pool
}

// tx runs fn in one transaction. Its statements are bounded by the context that fn gets.
func (s *store) tx(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return available(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return fn(ctx, tx) }))
}

func (s *store) exec(ctx context.Context, what, sql string, args pgx.NamedArgs) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := s.pool.Exec(ctx, sql, args); err != nil {
		return fmt.Errorf("%s: %w", what, available(err))
	}
	return nil
}

// one reads a single row into the fields of T, by name; none is [ErrNotFound].
func one[T any](ctx context.Context, s *store, what, sql string, args pgx.NamedArgs) (T, error) {
	rows, err := many[T](ctx, s, what, sql, args)
	if err != nil {
		return *new(T), err
	}
	if len(rows) == 0 {
		return *new(T), ErrNotFound
	}
	return rows[0], nil
}

// many reads rows into the fields of T, by name.
func many[T any](ctx context.Context, s *store, what, sql string, args pgx.NamedArgs) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, _ := s.pool.Query(ctx, sql, args) // CollectRows returns its error
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, available(err))
	}
	return list, nil
}

// available adds [ErrUnavailable] to an error that says that the database does not answer.
func available(err error) error {
	var (
		refused *pgconn.PgError
		dial    *pgconn.ConnectError
		network net.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled): // the client went away; nothing is wrong with the database
		return err
	case errors.As(err, &refused):
		switch refused.Code[:2] {
		case "08", "53", "57": // connection lost, out of resources, shutting down or cancelled
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return err
	case errors.As(err, &dial), errors.As(err, &network), pgconn.SafeToRetry(err),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	default:
		return err
	}
}

// violates tells whether the error is a violation of the named constraint.
func violates(err error, constraint string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.ConstraintName == constraint
}

func (s *store) bootstrapped(ctx context.Context) (bool, error) {
	row, err := one[struct{ Done bool }](ctx, s, "read whether setup was done",
		`SELECT EXISTS (SELECT FROM bootstrap) AS done`, nil)
	return row.Done, err
}

// newUser is a user about to be stored.
type newUser struct {
	id           uuid.UUID
	email        string
	passwordHash string
}

// bootstrap makes the first user with an organization, a workspace and a project, and opens a session, all or
// nothing. The row in bootstrap makes a second one at the same time wait, and then fail.
func (s *store) bootstrap(ctx context.Context, u newUser, organization string, sess newSession) error {
	args := pgx.NamedArgs{
		"user": u.id, "email": u.email, "password_hash": u.passwordHash, "name": organization,
		"organization": uuid.Must(uuid.NewV7()), "workspace": uuid.Must(uuid.NewV7()), "project": uuid.Must(uuid.NewV7()),
		"now": sess.createdAt,
	}
	err := s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, sql := range []string{
			`INSERT INTO bootstrap (user_id, completed_at) VALUES (@user, @now)`,
			`INSERT INTO users (id, email, password_hash, created_at, updated_at) VALUES (@user, @email, @password_hash, @now, @now)`,
			`INSERT INTO organizations (id, name) VALUES (@organization, @name)`,
			`INSERT INTO organization_members (organization_id, user_id, role) VALUES (@organization, @user, 'owner')`,
			`INSERT INTO workspaces (id, organization_id, name) VALUES (@workspace, @organization, 'Default')`,
			`INSERT INTO projects (id, workspace_id, name, created_at, updated_at) VALUES (@project, @workspace, 'Default', @now, @now)`,
		} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return fmt.Errorf("set up the first user: %w", err)
			}
		}
		return insertSession(ctx, tx, u.id, sess)
	})
	if violates(err, "bootstrap_pkey") {
		return ErrAlreadyBootstrapped
	}
	return err
}

type userRow struct {
	ID           uuid.UUID
	Email        string
	PasswordHash string
	CreatedAt    time.Time
}

func (r userRow) user() *User { return &User{ID: r.ID, Email: r.Email, CreatedAt: r.CreatedAt} }

func (s *store) userByEmail(ctx context.Context, email string) (userRow, error) {
	return one[userRow](ctx, s, "read user", `
		SELECT id, email, password_hash, created_at FROM users WHERE lower(email) = lower(@email)`,
		pgx.NamedArgs{"email": email})
}

// replacePasswordHash stores a new hash of the same password, unless the password was changed meanwhile.
func (s *store) replacePasswordHash(ctx context.Context, user uuid.UUID, old, replacement string, now time.Time) error {
	return s.exec(ctx, "replace password hash", `
		UPDATE users SET password_hash = @new, updated_at = @now WHERE id = @user AND password_hash = @old`,
		pgx.NamedArgs{"user": user, "old": old, "new": replacement, "now": now})
}

// newSession is a session about to be stored.
type newSession struct {
	hash      []byte
	createdAt time.Time
	expiresAt time.Time
	client    Client
}

func insertSession(ctx context.Context, tx pgx.Tx, user uuid.UUID, sess newSession) error {
	var ip *netip.Addr
	if sess.client.Address.IsValid() {
		addr := sess.client.Address.Unmap().WithZone("")
		ip = &addr
	}
	if _, err := tx.Exec(ctx, `
		INSERT INTO sessions (token_sha256, user_id, created_at, last_seen_at, expires_at, user_agent, ip)
		VALUES (@hash, @user, @now, @now, @expires, @user_agent, @ip)`,
		pgx.NamedArgs{
			"hash": sess.hash, "user": user, "now": sess.createdAt, "expires": sess.expiresAt,
			"user_agent": sess.client.userAgent(), "ip": ip,
		}); err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	return nil
}

// openSession opens a session in the place of the one whose hash is given, if any, and removes sessions that
// have ended by time.
func (s *store) openSession(ctx context.Context, user uuid.UUID, sess newSession, replaced []byte) error {
	return s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			DELETE FROM sessions
			WHERE token_sha256 = @replaced OR expires_at <= @now OR user_id = @user AND last_seen_at <= @idle`,
			pgx.NamedArgs{
				"replaced": replaced, "user": user, "now": sess.createdAt, "idle": sess.createdAt.Add(-sessionIdle),
			}); err != nil {
			return fmt.Errorf("remove ended sessions: %w", err)
		}
		return insertSession(ctx, tx, user, sess)
	})
}

type sessionRow struct {
	UserID     uuid.UUID
	Email      string
	CreatedAt  time.Time
	LastSeenAt time.Time
}

func (s *store) session(ctx context.Context, hash []byte, now time.Time) (sessionRow, error) {
	return one[sessionRow](ctx, s, "read session", `
		SELECT u.id AS user_id, u.email, u.created_at, s.last_seen_at
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.token_sha256 = @hash AND s.expires_at > @now AND s.last_seen_at > @idle`,
		pgx.NamedArgs{"hash": hash, "now": now, "idle": now.Add(-sessionIdle)})
}

func (s *store) touchSession(ctx context.Context, hash []byte, now time.Time) error {
	return s.exec(ctx, "note use of session", `
		UPDATE sessions SET last_seen_at = @now WHERE token_sha256 = @hash AND last_seen_at < @now`,
		pgx.NamedArgs{"hash": hash, "now": now})
}

func (s *store) deleteSession(ctx context.Context, hash []byte) error {
	return s.exec(ctx, "end session", `DELETE FROM sessions WHERE token_sha256 = @hash`, pgx.NamedArgs{"hash": hash})
}

type accessRow struct {
	ProjectID        uuid.UUID
	ProjectName      string
	WorkspaceID      uuid.UUID
	WorkspaceName    string
	OrganizationID   uuid.UUID
	OrganizationName string
	OrganizationRole Role
	WorkspaceRole    Role
}

const selectAccess = `
	SELECT p.id AS project_id, p.name AS project_name, w.id AS workspace_id, w.name AS workspace_name,
		o.id AS organization_id, o.name AS organization_name,
		coalesce(om.role, '') AS organization_role, coalesce(wm.role, '') AS workspace_role
	FROM projects p
	JOIN workspaces w ON w.id = p.workspace_id
	JOIN organizations o ON o.id = w.organization_id
	LEFT JOIN organization_members om ON om.organization_id = o.id AND om.user_id = @user
	LEFT JOIN workspace_members wm ON wm.workspace_id = w.id AND wm.user_id = @user`

// accessOfUser lists the projects of the workspaces and organizations in which the user is a member.
func (s *store) accessOfUser(ctx context.Context, user uuid.UUID) ([]accessRow, error) {
	return many[accessRow](ctx, s, "read access of user", selectAccess+`
		WHERE om.role IS NOT NULL OR wm.role IS NOT NULL
		ORDER BY o.name, o.id, w.name, w.id, p.name`,
		pgx.NamedArgs{"user": user})
}

// accessOfKey describes the one project of a key.
func (s *store) accessOfKey(ctx context.Context, project uuid.UUID) ([]accessRow, error) {
	return many[accessRow](ctx, s, "read access of key", selectAccess+` WHERE p.id = @project`,
		pgx.NamedArgs{"user": nil, "project": project})
}

type workspaceRow struct {
	OrganizationRole Role
	WorkspaceRole    Role
}

// rolesIn returns the user's roles in the workspace, and [ErrNotFound] when there are none.
func (s *store) rolesIn(ctx context.Context, workspace, user uuid.UUID) (Role, error) {
	row, err := one[workspaceRow](ctx, s, "read role in workspace", `
		SELECT coalesce(om.role, '') AS organization_role, coalesce(wm.role, '') AS workspace_role
		FROM workspaces w
		LEFT JOIN organization_members om ON om.organization_id = w.organization_id AND om.user_id = @user
		LEFT JOIN workspace_members wm ON wm.workspace_id = w.id AND wm.user_id = @user
		WHERE w.id = @workspace AND (om.role IS NOT NULL OR wm.role IS NOT NULL)`,
		pgx.NamedArgs{"workspace": workspace, "user": user})
	return strongest(row.OrganizationRole, row.WorkspaceRole), err
}

const projectColumns = `id, workspace_id, name, created_at, updated_at`

func (s *store) project(ctx context.Context, id uuid.UUID) (Project, error) {
	return one[Project](ctx, s, "read project", `SELECT `+projectColumns+` FROM projects WHERE id = @id`,
		pgx.NamedArgs{"id": id})
}

func (s *store) projects(ctx context.Context, ids []uuid.UUID, page Page) ([]Project, error) {
	return many[Project](ctx, s, "list projects", `
		SELECT `+projectColumns+` FROM projects WHERE id = ANY(@ids)
		ORDER BY name, id LIMIT @limit OFFSET @offset`,
		pgx.NamedArgs{"ids": ids, "limit": page.Limit + 1, "offset": page.Offset})
}

func (s *store) createProject(ctx context.Context, p Project) error {
	err := s.exec(ctx, "create project", `
		INSERT INTO projects (id, workspace_id, name, created_at, updated_at)
		VALUES (@id, @workspace, @name, @now, @now)`,
		pgx.NamedArgs{"id": p.ID, "workspace": p.WorkspaceID, "name": p.Name, "now": p.CreatedAt})
	if violates(err, "projects_workspace_id_name_key") {
		return ErrNameTaken
	}
	return err
}

func (s *store) renameProject(ctx context.Context, id uuid.UUID, name string, now time.Time) (Project, error) {
	p, err := one[Project](ctx, s, "rename project", `
		UPDATE projects SET name = @name, updated_at = CASE WHEN name = @name THEN updated_at ELSE @now END
		WHERE id = @id RETURNING `+projectColumns,
		pgx.NamedArgs{"id": id, "name": name, "now": now})
	if violates(err, "projects_workspace_id_name_key") {
		return Project{}, ErrNameTaken
	}
	return p, err
}

type limitsRow struct {
	Limits ratelimit.Overrides
}

func (s *store) limits(ctx context.Context, project uuid.UUID) (ratelimit.Overrides, error) {
	row, err := one[limitsRow](ctx, s, "read limits", `SELECT limits FROM projects WHERE id = @id`, pgx.NamedArgs{"id": project})
	return row.Limits, err
}

func (s *store) setLimits(ctx context.Context, project uuid.UUID, limits ratelimit.Overrides, now time.Time) (ratelimit.Overrides, error) {
	row, err := one[limitsRow](ctx, s, "set limits", `
		UPDATE projects SET limits = @limits, updated_at = CASE WHEN limits = @limits THEN updated_at ELSE @now END
		WHERE id = @id RETURNING limits`,
		pgx.NamedArgs{"id": project, "limits": limits, "now": now})
	return row.Limits, err
}

type priceRow struct {
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

func (r priceRow) override() PriceOverride {
	o := PriceOverride{ID: r.ID, Override: prices.Override{
		Provider: r.Provider, Model: r.Model, Revision: r.Revision,
		Rates: prices.Rates{
			Input: r.Input, Output: r.Output, CacheRead: r.CacheRead,
			CacheWrite: r.CacheWrite, CacheWrite1h: r.CacheWrite1h, Reasoning: r.Reasoning,
		},
	}}
	if r.ValidFrom != nil {
		o.From = r.ValidFrom.UTC()
	}
	return o
}

func priceArgs(project, id uuid.UUID, o prices.Override) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"project": project, "id": id, "provider": o.Provider, "model": o.Model, "valid_from": nil,
		"input": o.Input, "output": o.Output, "cache_read": o.CacheRead, "cache_write": o.CacheWrite,
		"cache_write_1h": o.CacheWrite1h, "reasoning": o.Reasoning, "most": mostOverrides,
	}
	if !o.From.IsZero() {
		args["valid_from"] = o.From
	}
	return args
}

const priceColumns = `id, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning, revision`

// priceKey is the constraint that a model has one price of a provider from a moment on.
const priceKey = "price_overrides_project_id_provider_model_valid_from_key"

func (s *store) priceOverrides(ctx context.Context, project uuid.UUID) ([]PriceOverride, error) {
	rows, err := many[priceRow](ctx, s, "list prices", `
		SELECT `+priceColumns+` FROM price_overrides WHERE project_id = @project
		ORDER BY model, provider, valid_from NULLS FIRST`, pgx.NamedArgs{"project": project})
	list := make([]PriceOverride, len(rows))
	for i := range rows {
		list[i] = rows[i].override()
	}
	return list, err
}

func (s *store) createPriceOverride(ctx context.Context, project, id uuid.UUID, o prices.Override) (PriceOverride, error) {
	row, err := one[priceRow](ctx, s, "create price", `
		INSERT INTO price_overrides (id, project_id, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning)
		SELECT @id, @project, @provider, @model, @valid_from, @input, @output, @cache_read, @cache_write, @cache_write_1h, @reasoning
		WHERE (SELECT count(*) FROM price_overrides WHERE project_id = @project) < @most
		RETURNING `+priceColumns, priceArgs(project, id, o))
	switch {
	case violates(err, priceKey):
		return PriceOverride{}, errPriceTaken
	case errors.Is(err, ErrNotFound):
		return PriceOverride{}, errTooManyOwned
	}
	return row.override(), err
}

func (s *store) setPriceOverride(ctx context.Context, project, id uuid.UUID, o prices.Override) (PriceOverride, error) {
	row, err := one[priceRow](ctx, s, "set price", `
		UPDATE price_overrides SET provider = @provider, model = @model, valid_from = @valid_from, input = @input, output = @output,
			cache_read = @cache_read, cache_write = @cache_write, cache_write_1h = @cache_write_1h, reasoning = @reasoning
		WHERE project_id = @project AND id = @id
		RETURNING `+priceColumns, priceArgs(project, id, o))
	if violates(err, priceKey) {
		return PriceOverride{}, errPriceTaken
	}
	return row.override(), err
}

func (s *store) deletePriceOverride(ctx context.Context, project, id uuid.UUID) error {
	_, err := one[struct{ ID uuid.UUID }](ctx, s, "delete price", `
		DELETE FROM price_overrides WHERE project_id = @project AND id = @id RETURNING id`,
		pgx.NamedArgs{"project": project, "id": id})
	return err
}

const keyColumns = `id, project_id, name, public_id, scopes, created_at, last_used_at, expires_at, revoked_at`

type keyRow struct {
	Key
	SecretSHA256 []byte `db:"secret_sha256"`
}

func (s *store) keyByPublicID(ctx context.Context, publicID string) (keyRow, error) {
	return one[keyRow](ctx, s, "read key", `
		SELECT `+keyColumns+`, secret_sha256 FROM api_keys WHERE public_id = @public_id`,
		pgx.NamedArgs{"public_id": publicID})
}

// touchKey notes a use of the key, exact to a minute.
func (s *store) touchKey(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.exec(ctx, "note use of key", `
		UPDATE api_keys SET last_used_at = @now
		WHERE id = @id AND (last_used_at IS NULL OR last_used_at <= @before)`,
		pgx.NamedArgs{"id": id, "now": now, "before": now.Add(-lastUsedPrecision)})
}

// key reads a key of one of the projects.
func (s *store) key(ctx context.Context, projects []uuid.UUID, id uuid.UUID) (Key, error) {
	return one[Key](ctx, s, "read key", `
		SELECT `+keyColumns+` FROM api_keys WHERE id = @id AND project_id = ANY(@projects)`,
		pgx.NamedArgs{"id": id, "projects": projects})
}

func (s *store) keys(ctx context.Context, project uuid.UUID, page Page) ([]Key, error) {
	return many[Key](ctx, s, "list keys", `
		SELECT `+keyColumns+` FROM api_keys WHERE project_id = @project
		ORDER BY created_at DESC, id DESC LIMIT @limit OFFSET @offset`,
		pgx.NamedArgs{"project": project, "limit": page.Limit + 1, "offset": page.Offset})
}

const insertKey = `
	INSERT INTO api_keys (id, project_id, name, public_id, secret_sha256, scopes, created_by, created_at, expires_at)
	VALUES (@id, @project, @name, @public_id, @secret_sha256, @scopes, @created_by, @created_at, @expires_at)`

func insertKeyArgs(k keyRow, createdBy *uuid.UUID) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id": k.ID, "project": k.ProjectID, "name": k.Name, "public_id": k.PublicID, "secret_sha256": k.SecretSHA256,
		"scopes": k.Scopes, "created_by": createdBy, "created_at": k.CreatedAt, "expires_at": k.ExpiresAt,
	}
}

func (s *store) createKey(ctx context.Context, k keyRow, createdBy *uuid.UUID) error {
	return s.exec(ctx, "create key", insertKey, insertKeyArgs(k, createdBy))
}

const revokeKey = `UPDATE api_keys SET revoked_at = @now WHERE id = @id AND revoked_at IS NULL`

func (s *store) revokeKey(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.exec(ctx, "revoke key", revokeKey, pgx.NamedArgs{"id": id, "now": now})
}

// rotateKey revokes the key and stores its successor, or neither. It is [ErrAlreadyRevoked] when the key is
// revoked already, also when another rotation was faster.
func (s *store) rotateKey(ctx context.Context, id uuid.UUID, successor keyRow, createdBy *uuid.UUID) error {
	return s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		done, err := tx.Exec(ctx, revokeKey, pgx.NamedArgs{"id": id, "now": successor.CreatedAt})
		if err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		if done.RowsAffected() == 0 {
			return ErrAlreadyRevoked
		}
		if _, err := tx.Exec(ctx, insertKey, insertKeyArgs(successor, createdBy)); err != nil {
			return fmt.Errorf("create key: %w", err)
		}
		return nil
	})
}

func (s *store) ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("ping PostgreSQL: %w", available(err))
	}
	return nil
}
