package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/wiring"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

func TestLoadConfig(t *testing.T) {
	t.Parallel()
	env := func(secret string) func(string) string {
		return func(name string) string {
			return map[string]string{"DATABASE_URL": "postgres://a", "CLICKHOUSE_URL": "clickhouse://a", "SESSION_SECRET": secret}[name]
		}
	}
	cfg, err := loadConfig(env(strings.Repeat("ab", 32)))
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:7081", cfg.addr)
	assert.Len(t, cfg.services.Identity.SessionSecret, 32)
	assert.Equal(t, ratelimit.Limits{ratelimit.Requests: {Rate: 1000, Burst: 10_000}, ratelimit.Bytes: {Rate: 5e7, Burst: 5e8}}, cfg.limits)
	assert.Empty(t, cfg.rateLimitBrokers)

	for name, secret := range map[string]string{
		"none": "", "short": strings.Repeat("ab", 31), "not hexadecimal": strings.Repeat("zz", 32), "half a byte": strings.Repeat("ab", 32) + "a",
	} {
		_, err := loadConfig(env(secret))
		require.ErrorContains(t, err, "SESSION_SECRET", name)
		require.ErrorContains(t, err, "openssl rand -hex 32", name)
		if secret != "" {
			assert.NotContains(t, err.Error(), secret)
		}
	}
	_, err = loadConfig(func(string) string { return "" })
	require.ErrorContains(t, err, "DATABASE_URL")
	require.ErrorContains(t, err, "CLICKHOUSE_URL")
}

func TestLoadSecretTexts(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": "postgres://a", "CLICKHOUSE_URL": "clickhouse://a", "SESSION_SECRET": strings.Repeat("ab", 32), "SETUP_TOKEN": "0123456789abcde"}
	_, err := loadConfig(func(name string) string { return env[name] })
	require.EqualError(t, err, "SETUP_TOKEN has 15 characters and needs at least 16; generate one with: openssl rand -hex 16")
	env["SETUP_TOKEN"] += "f"
	env["WEB_SECRET"] = "guessable"
	_, err = loadConfig(func(name string) string { return env[name] })
	require.EqualError(t, err, "WEB_SECRET has 9 characters and needs at least 16; generate one with: openssl rand -hex 32")
	delete(env, "WEB_SECRET")
	cfg, err := loadConfig(func(name string) string { return env[name] })
	require.NoError(t, err)
	assert.Equal(t, "0123456789abcdef", cfg.services.Identity.SetupToken)
}

func TestLoadLimits(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"DATABASE_URL": "postgres://a", "CLICKHOUSE_URL": "clickhouse://a", "SESSION_SECRET": strings.Repeat("ab", 32),
		"API_REQUESTS_PER_SECOND": "0.25", "API_BYTES_PER_SECOND": "0", "RATELIMIT_BROKERS": "a:9092,b:9092",
	}
	cfg, err := loadConfig(func(name string) string { return env[name] })
	require.NoError(t, err)
	assert.Equal(t, []string{"a:9092", "b:9092"}, cfg.rateLimitBrokers)
	limits := rateLimits(nil, cfg.limits)
	assert.Equal(t, ratelimit.Limits{ratelimit.Requests: {Rate: 0.25, Burst: 3}}, limits.Key)
	assert.Equal(t, limits.Key, limits.User)
	assert.Equal(t, ratelimit.Limits{ratelimit.Requests: {Rate: 0.5, Burst: 6}}, limits.Project)

	for _, bad := range []string{"-1", "many", "NaN", "1e13"} {
		env["API_REQUESTS_PER_SECOND"] = bad
		_, err := loadConfig(func(name string) string { return env[name] })
		require.ErrorContains(t, err, "API_REQUESTS_PER_SECOND", bad)
	}
}

// TestRunWithoutDependencies starts, serves and stops without PostgreSQL and ClickHouse.
func TestRunWithoutDependencies(t *testing.T) {
	t.Parallel()
	log, logged := io.Pipe()
	cfg := config{
		addr:          "127.0.0.1:0",
		databaseURL:   "postgres://looptrace@127.0.0.1:1/looptrace?sslmode=disable",
		clickhouseURL: "clickhouse://127.0.0.1:1/looptrace",
		services: wiring.Config{
			Identity: identity.Config{SessionSecret: make([]byte, minSecretBytes)}, ProviderSecrets: [][]byte{make([]byte, minSecretBytes)}, IngestURL: "http://127.0.0.1:1",
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, cfg, duties{serve: true, work: true}, slog.New(slog.NewJSONHandler(logged, nil)))
		_ = logged.Close() // never returns an error
	}()
	lines := json.NewDecoder(log)
	var started struct{ Address string }
	for started.Address == "" { // it also logs that jobs wait
		require.NoError(t, lines.Decode(&started))
	}
	go func() { _, _ = io.Copy(io.Discard, io.MultiReader(lines.Buffered(), log)) }() // ends with run

	get := func(path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+started.Address+path, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	assert.Equal(t, http.StatusOK, get("/healthz"))
	assert.Equal(t, http.StatusServiceUnavailable, get("/readyz"))
	assert.Equal(t, http.StatusServiceUnavailable, get("/v1/setup"))

	// An incomplete body does not delay the shutdown.
	unended, err := net.Dial("tcp", started.Address)
	require.NoError(t, err)
	defer unended.Close()
	_, err = io.WriteString(unended, "POST /v1/setup HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, get("/healthz"))
	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(shutdownTimeout / 2):
		t.Fatal("run does not return")
	}
	response, err := http.ReadResponse(bufio.NewReader(unended), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
}

// TestTaskIsRetried: a task that fails is done again, and ends with its context.
func TestTaskIsRetried(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var log strings.Builder
	attempts := 0
	task{"tidy", time.Nanosecond, func(context.Context) error {
		if attempts++; attempts == 3 {
			stop()
		}
		return errors.New("unavailable")
	}}.run(ctx, slog.New(slog.NewTextHandler(&log, nil)))
	assert.Equal(t, 3, attempts)
	assert.Equal(t, 2, strings.Count(log.String(), `msg="maintenance failed; will retry" task=tidy error=unavailable`), log.String())
}
