// Package apitest is the control plane's API on real engines, for tests of its subjects: each tests what it does through the API.
//
// Here is what tests of several subjects use: people and keys, runs to read, and what one subject needs of another. Only tests
// import it.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/diagnoses"
	"github.com/looptrace/looptrace/controlplane/experiments"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/wiring"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

// NoSuchID is the id of nothing.
const NoSuchID = "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"

// CheapPasswords are hashed in no time.
var CheapPasswords = identity.Cost{MemoryKiB: 64, Passes: 1, Threads: 1}

// Clock is a time that tests move.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *Clock { return &Clock{now: time.Now()} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Env is the API on real engines.
type Env struct {
	API   *gin.Engine
	DB    *pgxpool.Pool
	Clock *Clock
	Log   *Buffer
	// What main runs beside the API.
	Identity    *identity.Service
	Projects    *projects.Service
	Runs        *runs.Service
	Datasets    *datasets.Service
	Evaluations httpapi.EvaluationServices
	Experiments *experiments.Service
	Replays     *replays.Service
	Diagnoses   *diagnoses.Service
	Rules       *rules.Service
	Queue       *work.Queue
	Providers   *providers.Service
	recorder    *recording.Recorder
	conn        driver.Conn
	// ClickHouse is the address of the store, where it has one.
	ClickHouse string
	// Beside makes another process on the same engines, with a connection to PostgreSQL and a clock of its own.
	Beside func(*testing.T, *pgxpool.Pool) *Env
}

// Buffer keeps what is written, and can be read meanwhile.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write keeps p.
func (s *Buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String returns what was written.
func (s *Buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Reset forgets what was written.
func (s *Buffer) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

// NewRecorded is [New], with an ingest that keeps the statuses of the runs that the control plane makes, by their ids.
func NewRecorded(t *testing.T) (e *Env, statuses func() map[string]string) {
	t.Helper()
	var mu sync.Mutex
	kept := map[string]string{}
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Runs []struct {
				ID     string `json:"run_id"`
				Status string `json:"status"`
			} `json:"runs"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, run := range body.Runs {
			kept[run.ID] = run.Status
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(ingest.Close)
	db, err := postgres.Open(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(AbsentClickHouse)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	e = newRecording(t, db, conn, httpapi.RateLimits{}, ingest.URL)
	background(t, e.recorder.Run)
	return e, func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(kept)
	}
}

// AbsentClickHouse is an address where nothing listens, for tests that read no runs.
const AbsentClickHouse = "clickhouse://127.0.0.1:1/looptrace"

// New returns the API on a PostgreSQL of its own and without ClickHouse.
func New(t *testing.T) *Env {
	t.Helper()
	return NewOn(t, engines.Postgres(t), AbsentClickHouse)
}

// NewOn returns the API on two engines.
func NewOn(t *testing.T, postgresURL, clickhouseURL string) *Env {
	t.Helper()
	return NewLimited(t, postgresURL, clickhouseURL, httpapi.RateLimits{})
}

// NewLimited returns the API on two engines, with rate limits.
func NewLimited(t *testing.T, postgresURL, clickhouseURL string, limits httpapi.RateLimits) *Env {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgresURL)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(clickhouseURL)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return NewWith(t, db, conn, limits)
}

// NewWith returns the API on two connections, with rate limits.
func NewWith(t *testing.T, db *pgxpool.Pool, conn driver.Conn, limits httpapi.RateLimits) *Env {
	t.Helper()
	return newConfigured(t, db, conn, limits, func(*wiring.Config) {})
}

// newRecording is NewWith, with an ingest that takes the runs that the control plane makes.
func newRecording(t *testing.T, db *pgxpool.Pool, conn driver.Conn, limits httpapi.RateLimits, ingest string) *Env {
	t.Helper()
	return newConfigured(t, db, conn, limits, func(c *wiring.Config) { c.IngestURL = ingest })
}

// Configured returns another process on the connections of e, whose services have other settings.
func (e *Env) Configured(t *testing.T, configure func(*wiring.Config)) *Env {
	t.Helper()
	return newConfigured(t, e.DB, e.conn, httpapi.RateLimits{}, configure)
}

func newConfigured(t *testing.T, db *pgxpool.Pool, conn driver.Conn, limits httpapi.RateLimits, configure func(*wiring.Config)) *Env {
	t.Helper()
	secret := bytes.Repeat([]byte{7}, 32)
	loopback, err := outbound.Parse("loopback")
	require.NoError(t, err)
	config := wiring.Config{
		Identity:        identity.Config{SessionSecret: secret, Passwords: CheapPasswords},
		ProviderSecrets: [][]byte{secret}, ProviderAddresses: loopback,
		IngestURL: "http://127.0.0.1:1", Datasets: datasets.DefaultLimits,
	}
	configure(&config)
	clock, kept := newClock(), &Buffer{}
	log := slog.New(slog.NewJSONHandler(kept, nil))
	s, err := wiring.New(db, conn, config, clock.Now, log)
	require.NoError(t, err)
	t.Cleanup(s.Runs.Close)
	background(t, s.Prompts.Run)
	limits.Limiter = ratelimit.New()
	// httptest asks example.com.
	hosts, err := allowedhost.FromEnvironment(func(name string) string {
		return map[string]string{allowedhost.Setting: "example.com,looptrace.example.com"}[name]
	})
	require.NoError(t, err)
	api, err := httpapi.New(s.Services, limits, httpapi.Addresses{Web: "http://127.0.0.1:7090", Hosts: hosts}, log)
	require.NoError(t, err)
	return &Env{
		API: api, DB: db, Clock: clock, Log: kept, Identity: s.Identity, Projects: s.Projects, Runs: s.Runs, Datasets: s.Datasets, Evaluations: s.Evaluations,
		Experiments: s.Experiments, Replays: s.Replays, Diagnoses: s.Diagnoses, Rules: s.Rules, Queue: s.Work, Providers: s.Providers, recorder: s.Recorder, conn: conn,
	}
}

// background runs what a process does beside the API. The returned function ends it, as does the end of the test.
func background(t *testing.T, run func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// Option changes a request before it is sent.
type Option func(*http.Request)

// Header sets a header of the request.
func Header(name, value string) Option { return func(r *http.Request) { r.Header.Set(name, value) } }

// Bearer sends an API key.
func Bearer(key string) Option { return Header("Authorization", "Bearer "+key) }

// Cookie sends the token of a session, in the cookie of the port that the request names.
func Cookie(token string) Option {
	return func(r *http.Request) {
		name := "looptrace_session"
		if _, port, err := net.SplitHostPort(r.Host); err == nil {
			name += "_" + port
		}
		r.AddCookie(&http.Cookie{Name: name, Value: token})
	}
}

// Do sends a request; a body that is not text is sent as JSON.
func (e *Env) Do(t *testing.T, method, path string, body any, options ...Option) *httptest.ResponseRecorder {
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
	e.API.ServeHTTP(w, r)
	return w
}

// Exec executes a statement on PostgreSQL.
func (e *Env) Exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := e.DB.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// Count returns the number that a query of PostgreSQL selects.
func (e *Env) Count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, e.DB.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// Work works on jobs until stop is called.
func (e *Env) Work(t *testing.T) (stop func()) {
	t.Helper()
	return background(t, e.Queue.Run)
}

// Slowly is a limit that does not refill while a test runs. One more request than the burst passes: when it comes the
// bucket has gained a little, and then it is in debt.
func Slowly(burst float64) ratelimit.Limit { return ratelimit.Limit{Rate: 1e-6, Burst: burst} }
