package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/jobs"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
	"github.com/looptrace/looptrace/controlplane/organizations"
	"github.com/looptrace/looptrace/controlplane/playground"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/views"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/outbound"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	testEmail    = "ann@example.com"
	testPassword = "correct horse battery"
	noSuchID     = "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
)

// cheapPasswords are hashed in no time.
var cheapPasswords = identity.Cost{MemoryKiB: 64, Passes: 1, Threads: 1}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// env is the API on real engines.
type env struct {
	api   *gin.Engine
	db    *pgxpool.Pool
	clock *clock
	log   *syncBuffer
	// What main runs beside the API.
	projects    *projects.Service
	runs        *runs.Service
	datasets    *datasets.Service
	evaluations *evaluations.Service
	replays     *replays.Service
	rules       *rules.Service
	queue       *jobs.Queue
	providers   *providers.Service
	recorder    *recording.Recorder
	// beside makes another process on the same engines, with a clock of its own.
	beside func(*testing.T) *env
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// absentClickHouse is an address where nothing listens, for tests that read no runs.
const absentClickHouse = "clickhouse://127.0.0.1:1/looptrace"

func newEnv(t *testing.T) *env {
	t.Helper()
	return newEnvOn(t, engines.Postgres(t), absentClickHouse)
}

func newEnvOn(t *testing.T, postgresURL, clickhouseURL string) *env {
	t.Helper()
	return newLimitedEnv(t, postgresURL, clickhouseURL, RateLimits{})
}

func newLimitedEnv(t *testing.T, postgresURL, clickhouseURL string, limits RateLimits) *env {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgresURL)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(clickhouseURL)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return newEnvWith(t, db, conn, limits)
}

func newEnvWith(t *testing.T, db *pgxpool.Pool, conn driver.Conn, limits RateLimits) *env {
	t.Helper()
	return newRecordingEnv(t, db, conn, limits, "http://127.0.0.1:1")
}

// newRecordingEnv is newEnvWith, with an ingest that takes the runs that the control plane makes.
func newRecordingEnv(t *testing.T, db *pgxpool.Pool, conn driver.Conn, limits RateLimits, ingest string) *env {
	t.Helper()
	e := &env{db: db, clock: newClock(), log: &syncBuffer{}}
	secret := bytes.Repeat([]byte{7}, 32)
	log := slog.New(slog.NewJSONHandler(e.log, nil))
	registry := prompts.New(t.Context(), db, e.clock.Now, log)
	t.Cleanup(registry.Close)
	reader := runs.NewService(conn, log)
	reader.LinkPrompts(registry)
	t.Cleanup(reader.Close)
	limits.Limiter = ratelimit.New()
	// httptest asks example.com.
	hosts, err := allowedhost.FromEnvironment(func(name string) string {
		return map[string]string{allowedhost.Setting: "example.com,looptrace.example.com"}[name]
	})
	require.NoError(t, err)
	identities := identity.New(db, secret, cheapPasswords, e.clock.Now)
	answers, err := idempotency.New(db, identities.DeriveKey("names"), identities.DeriveKey("answers"), e.clock.Now)
	require.NoError(t, err)
	guides, err := instrument.New()
	require.NoError(t, err)
	fenceKey := identities.DeriveKey("fence")
	e.projects, e.runs = projects.New(db, e.clock.Now), reader
	e.queue, err = jobs.New(db, log)
	require.NoError(t, err)
	e.datasets = datasets.New(db, e.queue, e.clock.Now)
	keys, err := providers.NewKeyring(secret)
	require.NoError(t, err)
	policy, err := outbound.Parse("loopback")
	require.NoError(t, err)
	priced := pricing.New(db, reader, e.clock.Now)
	e.providers = providers.New(db, keys, policy, priced, e.clock.Now, log)
	e.recorder = recording.New(ingest, identities, log)
	completed := completions.New(e.providers, e.recorder, e.clock.Now)
	e.replays = replays.New(db, e.queue, reader, e.providers, e.recorder, e.clock.Now, log)
	e.evaluations = evaluations.New(db, e.queue, e.datasets, e.providers, completed, reader, e.clock.Now, log)
	filters, err := ReadRuleFilters()
	require.NoError(t, err)
	e.rules = rules.New(db, e.queue, reader, e.evaluations, filters, e.clock.Now, log)
	grouped := failures.New(reader, db, e.clock.Now)
	tools, err := mcpserver.New(mcpserver.Config{Runs: reader, Failures: grouped, Prompts: registry, Replays: e.replays, FenceKey: fenceKey, Log: log})
	require.NoError(t, err)
	e.api, err = New(Services{
		Identity: identities, Idempotency: answers, Organizations: organizations.New(db, e.clock.Now), Projects: e.projects,
		Prompts: registry, Datasets: e.datasets, Providers: e.providers, Playground: playground.New(db, e.clock.Now), Completions: completed, Evaluations: e.evaluations, Replays: e.replays, Rules: e.rules, Recorder: e.recorder, Pricing: priced,
		Views: views.New(db, e.clock.Now), Runs: reader, Failures: grouped, Guides: guides, Tools: tools, FenceKey: fenceKey,
	}, limits, Addresses{Web: "http://127.0.0.1:7090", Hosts: hosts}, log)
	require.NoError(t, err)
	return e
}

// option changes a request before it is sent.
type option func(*http.Request)

func header(name, value string) option { return func(r *http.Request) { r.Header.Set(name, value) } }

func bearer(key string) option { return header("Authorization", "Bearer "+key) }

func cookie(token string) option {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieHTTP, Value: token}) }
}

// do sends a request; a body that is not text is sent as JSON.
func (e *env) do(t *testing.T, method, path string, body any, options ...option) *httptest.ResponseRecorder {
	t.Helper()
	var reader io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		require.NoError(t, err)
		reader = bytes.NewReader(text)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, reader)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, o := range options {
		o(r)
	}
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	return w
}

// must is do for a request whose status is known; it returns the body.
func must[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	var v T
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
	return v
}

func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int) contract.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	return must[contract.Problem](t, w, status)
}

func sessionOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1, w.Body.String())
	return cookies[0].Value
}

// setUp makes the first user, and returns its session and its project.
func (e *env) setUp(t *testing.T) (session string, project contract.ProjectAccess) {
	t.Helper()
	w := e.do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: testEmail, Password: testPassword, OrgName: "Example"})
	me := must[contract.Me](t, w, http.StatusCreated)
	require.Len(t, me.Projects, 1)
	return sessionOf(t, w), me.Projects[0]
}

func (e *env) login(t *testing.T, password string, options ...option) *httptest.ResponseRecorder {
	t.Helper()
	return e.do(t, http.MethodPost, "/v1/login", contract.LoginRequest{Email: testEmail, Password: password}, options...)
}

func (e *env) mint(t *testing.T, session string, project uuid.UUID, scopes ...contract.Scope) contract.KeyWithSecret {
	t.Helper()
	w := e.do(t, http.MethodPost, "/v1/keys", contract.KeyCreate{ProjectId: project, Name: "test", Scopes: scopes}, cookie(session))
	return must[contract.KeyWithSecret](t, w, http.StatusCreated)
}

func (e *env) createProject(t *testing.T, session string, workspace uuid.UUID, name string) contract.Project {
	t.Helper()
	w := e.do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: workspace, Name: name}, cookie(session))
	return must[contract.Project](t, w, http.StatusCreated)
}

func (e *env) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := e.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// insertUser makes a user without a role. All test users have the first user's password.
func (e *env) insertUser(t *testing.T, email string) {
	t.Helper()
	e.exec(t, `INSERT INTO users (email, password_hash) SELECT $1, password_hash FROM users WHERE email = $2`, email, testEmail)
}

// addMember makes a user with a role in the organization and a session, without an invitation. Without
// an organization it gets one of its own, with a workspace and a project.
func (e *env) addMember(t *testing.T, email, role string, organization uuid.UUID) (session string) {
	t.Helper()
	if organization == uuid.Nil {
		organization = uuid.New()
		e.exec(t, `INSERT INTO organizations (id, name) VALUES ($1, 'Other')`, organization)
		e.exec(t, `WITH w AS (INSERT INTO workspaces (organization_id, name) VALUES ($1, 'Other') RETURNING id)
			INSERT INTO projects (workspace_id, name) SELECT id, 'Other' FROM w`, organization)
	}
	e.insertUser(t, email)
	e.exec(t, `INSERT INTO organization_members (organization_id, user_id, role) VALUES ($1, $2, $3)`, organization, e.userID(t, email), role)
	return e.loginAs(t, email)
}

// addWorkspaceMember makes a user with a role in the workspace only, and a session.
func (e *env) addWorkspaceMember(t *testing.T, email, role string, workspace uuid.UUID) (session string) {
	t.Helper()
	e.insertUser(t, email)
	e.exec(t, `INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, $3)`, workspace, e.userID(t, email), role)
	return e.loginAs(t, email)
}

func (e *env) loginAs(t *testing.T, email string) (session string) {
	t.Helper()
	w := e.do(t, http.MethodPost, "/v1/login", contract.LoginRequest{Email: email, Password: testPassword})
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return sessionOf(t, w)
}

// sessionID makes a session of the user and returns its id.
func (e *env) sessionID(t *testing.T, email string) (id string) {
	t.Helper()
	require.NoError(t, e.db.QueryRow(t.Context(), `INSERT INTO sessions (token_sha256, user_id, expires_at)
		VALUES (sha256(uuidv7()::text::bytea), $1, now() + interval '1 day') RETURNING id::text`, e.userID(t, email)).Scan(&id))
	return id
}

func (e *env) userID(t *testing.T, email string) (id uuid.UUID) {
	t.Helper()
	require.NoError(t, e.db.QueryRow(t.Context(), "SELECT id FROM users WHERE email = $1", email).Scan(&id))
	return id
}

var requestIDText = regexp.MustCompile(`"request_id":"[0-9a-f-]{36}"`)

// golden compares an answer, its request id left out, with testdata/NAME.golden.
func golden(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	var got strings.Builder
	fmt.Fprintf(&got, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, h := range []string{"Content-Type", "Allow", "Retry-After", "Www-Authenticate"} {
		if v := w.Header().Get(h); v != "" {
			fmt.Fprintf(&got, "%s: %s\n", h, v)
		}
	}
	got.WriteString("\n" + requestIDText.ReplaceAllString(w.Body.String(), `"request_id":"REQUEST_ID"`))
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}
