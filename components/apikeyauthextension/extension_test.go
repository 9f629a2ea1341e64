package apikeyauthextension

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/looptrace/looptrace/components/apikeyauthextension/internal/metadata"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/componenthealth"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

// revocationLimit is the documented time for a revocation to take effect. Tests ask as if it had passed: a clock that goes on would also
// measure the machine.
const revocationLimit = 5 * time.Second

// database is a real PostgreSQL database with one project.
type database struct {
	url     string
	pool    *pgxpool.Pool
	project string
}

func newDatabase(tb testing.TB, url string) *database {
	tb.Helper()
	pool, err := postgres.Open(tb.Context(), url)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	db := &database{url: url, pool: pool}
	require.NoError(tb, pool.QueryRow(tb.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id)
		INSERT INTO projects (workspace_id, name) SELECT id, 'p' FROM w RETURNING id::text`).Scan(&db.project))
	return db
}

// mint stores a new key. change is an optional SET clause for an update of its row.
func (db *database) mint(tb testing.TB, change string, scopes ...string) apikey.Key {
	tb.Helper()
	key := apikey.Mint()
	db.insert(tb, key, scopes...)
	if change != "" {
		db.change(tb, key, change)
	}
	return key
}

func (db *database) insert(tb testing.TB, key apikey.Key, scopes ...string) {
	tb.Helper()
	if scopes == nil {
		scopes = []string{apikey.ScopeIngestWrite}
	}
	hash := key.Hash()
	_, err := db.pool.Exec(tb.Context(),
		"INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes) VALUES ($1, 'k', $2, $3, $4)",
		db.project, key.PublicID(), hash[:], scopes)
	require.NoError(tb, err)
}

// awaitHeard waits until the extension has received all earlier changes. PostgreSQL notifies in order, and opening
// the channel later forgets all refusals.
func (db *database) awaitHeard(tb testing.TB, a *apiKeyAuth) {
	tb.Helper()
	last := apikey.Mint()
	require.Equal(tb, "unknown key", stateOf(tb.Context(), a, last))
	_, err := db.pool.Exec(tb.Context(), "SELECT pg_notify('"+channel+"', $1)", last.PublicID())
	require.NoError(tb, err)
	require.Eventually(tb, func() bool { return a.keeper.cache.get(last.PublicID()) == nil }, time.Minute, time.Millisecond)
}

func (db *database) change(tb testing.TB, key apikey.Key, set string) {
	tb.Helper()
	_, err := db.pool.Exec(tb.Context(), "UPDATE api_keys SET "+set+" WHERE public_id = $1", key.PublicID())
	require.NoError(tb, err)
}

// muteNotifications stops notifications of changed keys.
func (db *database) muteNotifications(tb testing.TB) {
	tb.Helper()
	_, err := db.pool.Exec(tb.Context(), "ALTER TABLE api_keys DISABLE TRIGGER USER")
	require.NoError(tb, err)
}

func start(tb testing.TB, url string, telemetry *componenttest.Telemetry) *apiKeyAuth {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.DatabaseURL = configopaque.String(url)
	set := extensiontest.NewNopSettings(metadata.Type)
	if telemetry != nil {
		set.TelemetrySettings = telemetry.NewTelemetrySettings()
	}
	return startWith(tb, set, cfg)
}

func startWith(tb testing.TB, set extension.Settings, cfg *Config) *apiKeyAuth {
	tb.Helper()
	return startAt(tb, set, cfg, componenttest.NewNopHost())
}

func startAt(tb testing.TB, set extension.Settings, cfg *Config, host component.Host) *apiKeyAuth {
	tb.Helper()
	created, err := NewFactory().Create(tb.Context(), set, cfg)
	require.NoError(tb, err)
	require.NoError(tb, created.Start(tb.Context(), host))
	tb.Cleanup(func() { require.NoError(tb, created.Shutdown(context.WithoutCancel(tb.Context()))) })
	a := created.(*apiKeyAuth)
	// Like receivers that list the middleware.
	_, err = a.GetHTTPHandler(tb.Context())
	require.NoError(tb, err)
	return a
}

func bearer(key apikey.Key) map[string][]string {
	return map[string][]string{"Authorization": {"Bearer " + key.Reveal()}}
}

// stateOf authenticates with the key and returns the state, or the error's text.
func stateOf(ctx context.Context, a *apiKeyAuth, key apikey.Key) string {
	ctx, err := a.Authenticate(ctx, bearer(key))
	if err != nil {
		return err.Error()
	}
	return client.FromContext(ctx).Auth.GetAttribute("state").(string)
}

// awaitState waits until authenticating with the key gives the state.
func awaitState(tb testing.TB, a *apiKeyAuth, key apikey.Key, want string) {
	tb.Helper()
	var got string
	require.Eventuallyf(tb, func() bool {
		got = stateOf(tb.Context(), a, key)
		return got == want
	}, time.Minute, 10*time.Millisecond, "waiting for %q", want)
}

// stateAt is what a request with the key gets at a time to come.
func stateAt(tb testing.TB, a *apiKeyAuth, key apikey.Key, at time.Time) string {
	tb.Helper()
	e, err := a.keeper.find(tb.Context(), key.PublicID(), at)
	require.NoError(tb, err)
	if refused := e.record.judge(key, at); refused != nil {
		return refused.Error()
	}
	return "ok"
}

// otherSecret is a well-formed key with the public id of another key.
func otherSecret(tb testing.TB, key apikey.Key) apikey.Key {
	tb.Helper()
	text, secret := key.Reveal(), apikey.Mint().Reveal()
	dot := strings.IndexByte(text, '.')
	text = text[:dot] + secret[dot:len(secret)-6]
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))).Text(62)
	// big.Int orders digits, lower case, upper case; keys order digits, upper case, lower case.
	sum = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		default:
			return c
		}
	}, sum)
	other, err := apikey.Parse(text + strings.Repeat("0", 6-len(sum)) + sum)
	require.NoError(tb, err)
	return other
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	key := db.mint(t, "")
	revoked := db.mint(t, "revoked_at = now()")
	expired := db.mint(t, "expires_at = now()")
	text := key.Reveal()

	tests := map[string]struct {
		headers map[string][]string
		want    string
	}{
		"bearer":                           {headers: bearer(key)},
		"bearer, other case":               {headers: map[string][]string{"Authorization": {"bearer  " + text + " "}}},
		"x-api-key":                        {headers: map[string][]string{"X-Api-Key": {text}}},
		"gRPC metadata, bearer":            {headers: map[string][]string{"authorization": {"Bearer " + text}}},
		"gRPC metadata, x-api-key":         {headers: map[string][]string{"x-api-key": {text}}},
		"a header in odd case":             {headers: map[string][]string{"X-API-KEY": {text}}},
		"basic beside x-api-key":           {headers: map[string][]string{"Authorization": {"Basic YTpi"}, "X-Api-Key": {text}}},
		"expires later":                    {headers: bearer(db.mint(t, "expires_at = now() + interval '1 hour'"))},
		"no header":                        {headers: nil, want: "missing key"},
		"empty bearer":                     {headers: map[string][]string{"Authorization": {"Bearer "}}, want: "missing key"},
		"basic":                            {headers: map[string][]string{"Authorization": {"Basic YTpi"}}, want: "missing key"},
		"no values":                        {headers: map[string][]string{"X-Api-Key": {}}, want: "missing key"},
		"not a key":                        {headers: map[string][]string{"X-Api-Key": {"hunter2"}}, want: "malformed key"},
		"a typo":                           {headers: map[string][]string{"X-Api-Key": {text[:len(text)-1] + "!"}}, want: "malformed key"},
		"unknown":                          {headers: bearer(apikey.Mint()), want: "unknown key"},
		"wrong secret":                     {headers: bearer(otherSecret(t, key)), want: "unknown key"},
		"revoked":                          {headers: bearer(revoked), want: "revoked key"},
		"revoked, known by its id only":    {headers: bearer(otherSecret(t, revoked)), want: "unknown key"},
		"expired":                          {headers: bearer(expired), want: "expired key"},
		"expired, known by its id only":    {headers: bearer(otherSecret(t, expired)), want: "unknown key"},
		"bad bearer beside good x-api-key": {headers: map[string][]string{"Authorization": {"Bearer x"}, "X-Api-Key": {text}}, want: "malformed key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, attempt := range []string{"looked up", "cached"} {
				ctx, err := a.Authenticate(t.Context(), tt.headers)
				if tt.want != "" {
					require.EqualError(t, err, tt.want, attempt)
					require.Nil(t, client.FromContext(ctx).Auth)
					continue
				}
				require.NoError(t, err, attempt)
				auth := client.FromContext(ctx).Auth
				assert.Equal(t, []string{"project_id", "key_id", "scopes", "limits", "state"}, auth.GetAttributeNames())
				assert.Equal(t, db.project, auth.GetAttribute("project_id"))
				assert.Equal(t, []string{"ingest:write"}, auth.GetAttribute("scopes"))
				assert.Equal(t, "ok", auth.GetAttribute("state"))
				assert.NotEmpty(t, auth.GetAttribute("key_id"))
				assert.Nil(t, auth.GetAttribute("secret"))
			}
		})
	}
}

func TestAuthenticateKeepsClientInfo(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"a": {"b"}})})
	ctx, err := a.Authenticate(ctx, bearer(db.mint(t, "")))
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, client.FromContext(ctx).Metadata.Get("a"))
	assert.Empty(t, client.FromContext(ctx).Metadata.Get("Authorization"))
}

// What the middleware should answer must be refused if no receiver lists it.
func TestWithoutMiddlewareNothingPassesUnchecked(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	a.guarding.Store(false)
	assert.Equal(t, "ok", stateOf(t.Context(), a, db.mint(t, "")))
	const refused = "the key cannot be accepted: the receiver lacks the middleware apikeyauth"
	assert.Equal(t, refused, stateOf(t.Context(), a, db.mint(t, "", apikey.ScopeRunsRead)))
	a.keeper.away.Store(true)
	assert.Equal(t, refused, stateOf(t.Context(), a, apikey.Mint()))
}

func TestRevocation(t *testing.T) {
	t.Parallel()
	for _, muted := range []bool{false, true} {
		t.Run(fmt.Sprintf("muted=%t", muted), func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t, engines.Postgres(t))
			a := start(t, db.url, nil)
			key, deleted, polled := db.mint(t, ""), db.mint(t, ""), db.mint(t, "")
			for _, k := range []apikey.Key{key, deleted, polled} {
				require.Equal(t, "ok", stateOf(t.Context(), a, k))
			}
			if muted {
				db.muteNotifications(t)
			}

			db.change(t, key, "revoked_at = now()")
			db.change(t, polled, "revoked_at = now()")
			_, err := db.pool.Exec(t.Context(), "DELETE FROM api_keys WHERE public_id = $1", deleted.PublicID())
			require.NoError(t, err)
			limit := time.Now().Add(revocationLimit)
			assert.Equal(t, "revoked key", stateAt(t, a, key, limit))
			assert.Equal(t, "unknown key", stateAt(t, a, deleted, limit))
			awaitState(t, a, polled, "revoked key")
		})
	}
}

// A project's own limits come with its keys, and a change takes effect on keys in use like a revocation.
func TestLimitsOfTheProject(t *testing.T) {
	t.Parallel()
	for _, muted := range []bool{false, true} {
		t.Run(fmt.Sprintf("muted=%t", muted), func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t, engines.Postgres(t))
			a := start(t, db.url, nil)
			key := db.mint(t, "")
			limits := func() any {
				ctx, err := a.Authenticate(t.Context(), bearer(key))
				require.NoError(t, err)
				return client.FromContext(ctx).Auth.GetAttribute("limits")
			}
			require.Empty(t, limits())
			if muted {
				_, err := db.pool.Exec(t.Context(), "ALTER TABLE projects DISABLE TRIGGER USER")
				require.NoError(t, err)
			}
			_, err := db.pool.Exec(t.Context(), `UPDATE projects SET limits = '{"project_spans_per_second": 2.5}'`)
			require.NoError(t, err)
			require.Equal(t, "ok", stateAt(t, a, key, time.Now().Add(revocationLimit)))
			assert.Equal(t, map[string]float64{"project_spans_per_second": 2.5}, limits())
		})
	}
}

// A key that was idle for a while is not kept fresh, so its next use must not be answered from the old entry.
func TestRevocationOfAnIdleKeyUnheard(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	cfg := createDefaultConfig().(*Config)
	cfg.DatabaseURL = configopaque.String(db.url)
	cfg.Cache.TTL = time.Nanosecond // idle at once
	a := startWith(t, extensiontest.NewNopSettings(metadata.Type), cfg)
	key := db.mint(t, "")
	require.Equal(t, "ok", stateOf(t.Context(), a, key))
	db.muteNotifications(t)
	db.change(t, key, "revoked_at = now()")

	// Earlier it may or may not continue, depending on when it is read again.
	require.Equal(t, "revoked key", stateAt(t, a, key, time.Now().Add(maxAge)))
}

// startRemembering starts an extension that keeps refusals until it hears of a change.
func startRemembering(tb testing.TB, url string) *apiKeyAuth {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.DatabaseURL = configopaque.String(url)
	cfg.Cache.NegativeTTL = time.Hour
	return startWith(tb, extensiontest.NewNopSettings(metadata.Type), cfg)
}

func TestNewAndRestoredKeysWorkAtOnce(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := startRemembering(t, db.url)
	awaitListening(t, a, db)

	fresh := apikey.Mint()
	require.Equal(t, "unknown key", stateOf(t.Context(), a, fresh))
	restored := db.mint(t, "revoked_at = now()")
	require.Equal(t, "revoked key", stateOf(t.Context(), a, restored))

	db.insert(t, fresh)
	db.change(t, restored, "revoked_at = NULL")
	awaitState(t, a, fresh, "ok")
	awaitState(t, a, restored, "ok")
}

// awaitListening waits until the extension receives changes.
func awaitListening(tb testing.TB, a *apiKeyAuth, db *database) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		var listening bool
		err := db.pool.QueryRow(tb.Context(),
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN looptrace_api_keys' AND state = 'idle')").Scan(&listening)
		return err == nil && listening
	}, time.Minute, 10*time.Millisecond)
	require.NotNil(tb, a.keeper)
}

func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := startRemembering(t, db.url)
	awaitListening(t, a, db)
	_, err := db.pool.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN looptrace_api_keys'")
	require.NoError(t, err)
	awaitListening(t, a, db)

	key := apikey.Mint()
	require.Equal(t, "unknown key", stateOf(t.Context(), a, key))
	db.insert(t, key)
	awaitState(t, a, key, "ok")
}

func TestPostgresAwayAndBack(t *testing.T) {
	t.Parallel()
	server, name := engines.PostgresServer(t)
	db := newDatabase(t, server.URL(name))
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context()))) })
	a := start(t, db.url, telemetry)
	cached, unused := db.mint(t, ""), db.mint(t, "")
	revoked := db.mint(t, "revoked_at = now()")
	expiring := db.mint(t, "expires_at = now() + interval '1 hour'")
	db.awaitHeard(t, a) // otherwise the notification of its creation may remove a key from the cache again
	require.Equal(t, "ok", stateOf(t.Context(), a, cached))
	require.Equal(t, "ok", stateOf(t.Context(), a, expiring))
	require.Equal(t, "revoked key", stateOf(t.Context(), a, revoked))

	server.Stop(t)
	down := time.Now()
	require.Equal(t, "unavailable", stateOf(t.Context(), a, unused))
	require.Equal(t, "unavailable", stateOf(t.Context(), a, apikey.Mint()))
	require.Equal(t, "ok", stateOf(t.Context(), a, cached))
	// After the maximum age of an entry the key continues to work, but its own expiry still applies.
	for _, later := range []time.Duration{maxAge, time.Minute, 24 * time.Hour} {
		require.Equal(t, "ok", stateAt(t, a, cached, down.Add(later)))
	}
	require.Equal(t, "ok", stateAt(t, a, expiring, down.Add(time.Minute)))
	require.Equal(t, "expired key", stateAt(t, a, expiring, down.Add(2*time.Hour)))
	// No request asks a store that is known to be unavailable, and so none waits for it.
	lookups := sums(t, telemetry, "otelcol_apikeyauth_lookups")
	for range 100 {
		require.Equal(t, "unavailable", stateOf(t.Context(), a, apikey.Mint()))
	}
	assert.Equal(t, lookups, sums(t, telemetry, "otelcol_apikeyauth_lookups"))

	server.Start(t)
	db.pool.Reset() // the test's own connections ended with the server
	awaitState(t, a, unused, "ok")
	require.Equal(t, "unknown key", stateOf(t.Context(), a, apikey.Mint()))
	db.change(t, cached, "revoked_at = now()")
	require.Equal(t, "revoked key", stateAt(t, a, cached, time.Now().Add(revocationLimit)))
}

// The extension reports that PostgreSQL is unavailable without a request. Some keys still work if one was in use,
// none after a start without PostgreSQL.
func TestStatus(t *testing.T) {
	t.Parallel()
	server, name := engines.PostgresServer(t)
	db := newDatabase(t, server.URL(name))
	used, fresh := &statusHost{Host: componenttest.NewNopHost()}, &statusHost{Host: componenttest.NewNopHost()}
	cfg := createDefaultConfig().(*Config)
	cfg.DatabaseURL = configopaque.String(db.url)
	a := startAt(t, extensiontest.NewNopSettings(metadata.Type), cfg, used)
	require.Equal(t, "ok", stateOf(t.Context(), a, db.mint(t, "")))
	startAt(t, extensiontest.NewNopSettings(metadata.Type), cfg, fresh)
	assert.Nil(t, used.last())

	server.Stop(t)
	for host, ready := range map[*statusHost]bool{used: true, fresh: false} {
		require.Eventually(t, func() bool { return host.last() != nil }, time.Minute, 10*time.Millisecond)
		reported := host.last()
		assert.Equal(t, componentstatus.StatusRecoverableError, reported.Status())
		require.ErrorContains(t, reported.Err(), "PostgreSQL has not answered since ")
		value, ok := reported.Attributes().Get(componenthealth.AttributeReady)
		assert.True(t, ok)
		assert.Equal(t, ready, value.Bool())
	}

	server.Start(t)
	for _, host := range []*statusHost{used, fresh} {
		require.Eventually(t, func() bool { return host.last().Status() == componentstatus.StatusOK }, time.Minute, 10*time.Millisecond)
	}
}

// statusHost records what the extension reports.
type statusHost struct {
	component.Host
	event atomic.Pointer[componentstatus.Event]
}

func (h *statusHost) Report(event *componentstatus.Event) { h.event.Store(event) }
func (h *statusHost) last() *componentstatus.Event        { return h.event.Load() }

func TestStartWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	server, name := engines.PostgresServer(t)
	db := newDatabase(t, server.URL(name))
	key := db.mint(t, "")
	server.Stop(t)
	a := start(t, db.url, nil)
	require.Equal(t, "unavailable", stateOf(t.Context(), a, key))
	server.Start(t)
	awaitState(t, a, key, "ok")
}

func TestRequestsWithOneKeyShareALookUp(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context()))) })
	a := start(t, db.url, telemetry)
	key := db.mint(t, "")
	var group sync.WaitGroup
	var ok atomic.Int64
	for range 200 {
		group.Go(func() {
			if stateOf(t.Context(), a, key) == "ok" {
				ok.Add(1)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 200, ok.Load())
	assert.Equal(t, map[string]int64{"found": 1, "absent": 0}, sums(t, telemetry, "otelcol_apikeyauth_lookups"))
	reads := sums(t, telemetry, "otelcol_apikeyauth_cache_reads")
	assert.EqualValues(t, 200, reads["hit"]+reads["miss"])
	assert.Equal(t, map[string]int64{"ok": 200}, sums(t, telemetry, "otelcol_apikeyauth_requests"))
}

// sums returns a sum's values by the value of its one attribute.
func sums(tb testing.TB, telemetry *componenttest.Telemetry, name string) map[string]int64 {
	tb.Helper()
	m, err := telemetry.GetMetric(name)
	require.NoError(tb, err)
	values := map[string]int64{}
	for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
		for _, attribute := range point.Attributes.ToSlice() {
			values[attribute.Value.AsString()] = point.Value
		}
	}
	return values
}

func TestMadeUpKeysStayBounded(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	cfg := createDefaultConfig().(*Config)
	cfg.DatabaseURL = configopaque.String(db.url)
	cfg.Cache.MaxEntries = 1000
	a := startWith(t, extensiontest.NewNopSettings(metadata.Type), cfg)
	key := db.mint(t, "")
	db.awaitHeard(t, a) // otherwise the notification of its creation may remove the key from the cache
	require.Equal(t, "ok", stateOf(t.Context(), a, key))

	const requests, workers = 100_000, 100
	began := time.Now()
	var group sync.WaitGroup
	var unknown atomic.Int64
	for range workers {
		group.Go(func() {
			for range requests / workers {
				if stateOf(t.Context(), a, apikey.Mint()) == "unknown key" {
					unknown.Add(1)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d made-up keys in %s", requests, time.Since(began).Round(time.Millisecond))
	assert.EqualValues(t, requests, unknown.Load())
	known, refused := a.keeper.cache.size()
	assert.Equal(t, 1, known)
	assert.Equal(t, 1000, refused)
	assert.NotNil(t, a.keeper.cache.get(key.PublicID()), "made-up keys drove a good one out")
}

func TestLastUseIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	key := db.mint(t, "")
	lastUsed := func() (at *time.Time) {
		require.NoError(t, db.pool.QueryRow(t.Context(), "SELECT last_used_at FROM api_keys WHERE public_id = $1", key.PublicID()).Scan(&at))
		return at
	}
	lastAddress := func() (from *string) {
		require.NoError(t, db.pool.QueryRow(t.Context(), "SELECT host(last_used_ip) FROM api_keys WHERE public_id = $1", key.PublicID()).Scan(&from))
		return from
	}
	use := func(at time.Time, from netip.Addr) {
		e, err := a.keeper.find(t.Context(), key.PublicID(), time.Now())
		require.NoError(t, err)
		a.keeper.noteUse(e, at, from)
		a.keeper.writeUses(t.Context())
	}
	require.Nil(t, lastUsed())
	first := time.Now()
	use(first, netip.MustParseAddr("::ffff:192.0.2.1"))
	require.WithinDuration(t, first, *lastUsed(), time.Millisecond)
	require.Equal(t, "192.0.2.1", *lastAddress())
	use(first.Add(59*time.Second), netip.MustParseAddr("192.0.2.2"))
	require.WithinDuration(t, first, *lastUsed(), time.Millisecond)
	require.Equal(t, "192.0.2.1", *lastAddress())
	use(first.Add(61*time.Second), netip.Addr{})
	require.WithinDuration(t, first.Add(61*time.Second), *lastUsed(), time.Millisecond)
	require.Nil(t, lastAddress(), "unknown")

	// A different collector, whose cache does not know of this use, must not store an earlier time.
	other := start(t, db.url, nil)
	require.Equal(t, "ok", stateOf(t.Context(), other, key))
	other.keeper.writeUses(t.Context())
	require.WithinDuration(t, first.Add(61*time.Second), *lastUsed(), time.Millisecond)
}

func TestAddressOfAUse(t *testing.T) {
	t.Parallel()
	tcp := func(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }
	const proof, forwarded = "Looptrace-Web-Secret", "X-Forwarded-For"
	for name, test := range map[string]struct {
		peer    net.Addr
		headers map[string][]string
		want    string
	}{
		"a client":                {tcp("192.0.2.1:4000"), nil, "192.0.2.1"},
		"HTTP, without a port":    {&net.IPAddr{IP: net.ParseIP("2001:db8::1")}, nil, "2001:db8::1"},
		"unknown":                 {nil, nil, "invalid IP"},
		"web":                     {tcp("127.0.0.1:4000"), map[string][]string{proof: {"proof"}, forwarded: {"192.0.2.1"}}, "192.0.2.1"},
		"web, which knows nobody": {tcp("127.0.0.1:4000"), map[string][]string{proof: {"proof"}}, "127.0.0.1"},
		"who claims to be web":    {tcp("127.0.0.1:4000"), map[string][]string{proof: {"guess"}, forwarded: {"192.0.2.1"}}, "127.0.0.1"},
		"who claims an address":   {tcp("127.0.0.1:4000"), map[string][]string{forwarded: {"192.0.2.1"}}, "127.0.0.1"},
	} {
		a := &apiKeyAuth{cfg: &Config{WebSecret: "proof"}}
		ctx := client.NewContext(t.Context(), client.Info{Addr: test.peer})
		assert.Equal(t, test.want, a.clientOf(ctx, test.headers).String(), name)
	}
	// Without a secret nobody is web.
	ctx := client.NewContext(t.Context(), client.Info{Addr: tcp("127.0.0.1:4000")})
	none := (&apiKeyAuth{cfg: &Config{}}).clientOf(ctx, map[string][]string{proof: {""}, forwarded: {"192.0.2.1"}})
	assert.Equal(t, "127.0.0.1", none.String())
}

func TestLastUseIsWrittenAtShutdown(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	key := db.mint(t, "")
	cfg := createDefaultConfig().(*Config)
	cfg.DatabaseURL = configopaque.String(db.url)
	a, err := newExtension(extensiontest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), componenttest.NewNopHost()))
	require.Equal(t, "ok", stateOf(t.Context(), a, key))
	require.NoError(t, a.Shutdown(t.Context()))
	var used bool
	require.NoError(t, db.pool.QueryRow(t.Context(), "SELECT last_used_at IS NOT NULL FROM api_keys").Scan(&used))
	assert.True(t, used)
}

func BenchmarkAuthenticateCached(b *testing.B) {
	db := newDatabase(b, engines.Postgres(b))
	telemetry := componenttest.NewTelemetry()
	b.Cleanup(func() { require.NoError(b, telemetry.Shutdown(context.WithoutCancel(b.Context()))) })
	a := start(b, db.url, telemetry)
	headers := bearer(db.mint(b, ""))
	ctx := b.Context()
	_, err := a.Authenticate(ctx, headers)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := a.Authenticate(ctx, headers); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// An outdated answer may be used only while PostgreSQL is unavailable: a flood of made-up keys must not keep a
// revoked key working.
func TestAnOldAnswerIsNoneDuringAFlood(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	key := db.mint(t, "")
	require.Equal(t, "ok", stateOf(t.Context(), a, key))
	a.keeper.loader.mu.Lock()
	for i := range maxWaiting {
		a.keeper.loader.waiting[fmt.Sprint(i)] = &load{done: make(chan struct{})}
	}
	a.keeper.loader.mu.Unlock()

	_, err := a.keeper.find(t.Context(), key.PublicID(), time.Now().Add(revalidateEvery))
	require.NoError(t, err, "a fresh answer needs no look-up")
	_, err = a.keeper.find(t.Context(), key.PublicID(), time.Now().Add(2*maxAge))
	require.ErrorIs(t, err, errUnavailable)
}
