package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// Each part hangs in turn: after SIGSTOP no port closes and no error occurs. The product must report this, restart
// nothing, and be ready when the part continues.
func TestReadinessTellsTheTruth(t *testing.T) {
	p := product.Start(t)
	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "probe", "ingest:write", "runs:read")
	require.NoError(t, err)
	before := pids(t, p)

	output, err := probe(t, p, key)
	require.NoError(t, err, output)
	assert.Regexp(t, `^ok: run \S+ was accepted in \d+\.\d+ s and visible \d+\.\d+ s later\n$`, output)

	// web answers for the API and ingest while they hang, each on its own, and passes on requests when they go on.
	pause(t, p, product.ControlPlaneProcess)
	refusedByWeb(t, p, http.MethodGet, "/v1/me", key, "The API is not answering: its process is stopped or overloaded.")
	refusedByWeb(t, p, http.MethodPost, "/mcp", key, "It may still carry out this request.")
	awaitReadyz(t, p, product.Web, http.StatusServiceUnavailable, `"api":"unavailable","collector":"ok"`)
	accepted, err := product.Post(t.Context(), p.Ports.URL(product.Web)+"/v1/runs", key, product.JSON, nativeRun(t))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, accepted.Status)
	examined, err := run(t, p, nil, "doctor", "--data", p.Data, "--port-offset", fmt.Sprint(p.Ports.Offset))
	require.Error(t, err)
	assert.Regexp(t, `(?m)^controlplane +problem +.*its process hangs or is overloaded`, examined)
	resume(t, p, product.ControlPlaneProcess)
	answersThroughWeb(t, p, key)

	pause(t, p, product.CollectorProcess)
	refusedByWeb(t, p, http.MethodPost, "/v1/runs", key, "Ingest is not answering: its process is stopped or overloaded.")
	answersThroughWeb(t, p, key)
	awaitReadyz(t, p, product.Web, http.StatusServiceUnavailable, `"api":"ok","collector":"unavailable"`)
	resume(t, p, product.CollectorProcess)
	awaitReadyz(t, p, product.Web, http.StatusOK, `"collector":"ok"`)

	// With a key in use, ingest continues without PostgreSQL.
	pause(t, p, product.PostgresProcess)
	awaitReadyz(t, p, product.CollectorHealth, http.StatusOK, `"extension apikeyauth":"degraded: PostgreSQL has not answered since `)
	awaitReadyz(t, p, product.API, http.StatusServiceUnavailable, `"postgresql":"unavailable"`)
	awaitReadyz(t, p, product.Web, http.StatusServiceUnavailable, `"api":"unavailable"`)
	resume(t, p, product.PostgresProcess)
	awaitReadyz(t, p, product.Web, http.StatusOK, `"collector":"ok"`)

	pause(t, p, product.BrokerProcess)
	awaitReadyz(t, p, product.CollectorHealth, http.StatusServiceUnavailable, `"queue":"unavailable: no broker answers: `)
	awaitReadyz(t, p, product.Web, http.StatusServiceUnavailable, `"collector":"unavailable"`)
	output, err = probe(t, p, key)
	require.Error(t, err)
	assert.Contains(t, output, "was not accepted: ingest answers 503 queue_unavailable")
	resume(t, p, product.BrokerProcess)
	awaitReadyz(t, p, product.Web, http.StatusOK, `"collector":"ok"`)

	// The store's worker reports no error while its insert hangs. The missing progress is detected.
	pause(t, p, product.ClickHouseProcess)
	answer, err := product.Post(t.Context(), p.Ports.URL(product.Ingest)+"/v1/runs", key, product.JSON, nativeRun(t))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status)
	awaitReadyz(t, p, product.CollectorHealth, http.StatusServiceUnavailable, `records wait and none was stored since `)
	metrics := scrape(t.Context(), t, p.Ports.URL(product.CollectorMetrics))
	assert.GreaterOrEqual(t, sum(metrics, "otelcol_kafkabatch_lag", ""), 1.0)
	assert.Greater(t, sum(metrics, "otelcol_kafkabatch_lag_age", ""), 60.0)
	awaitReadyz(t, p, product.Web, http.StatusServiceUnavailable, `"collector":"unavailable"`)
	until(t, func(context.Context) error {
		return loggedByLauncher(p, "collector is not ready: receiver kafkabatch: ")
	})
	examined, err = run(t, p, nil, "doctor", "--data", p.Data, "--port-offset", fmt.Sprint(p.Ports.Offset))
	require.Error(t, err)
	assert.Regexp(t, `(?m)^collector +problem +receiver kafkabatch: unavailable: `, examined)
	resume(t, p, product.ClickHouseProcess)
	awaitReadyz(t, p, product.Web, http.StatusOK, `"collector":"ok"`)
	until(t, func(context.Context) error { return loggedByLauncher(p, "collector is ready again") })
	until(t, func(ctx context.Context) error {
		if age := sum(scrape(ctx, t, p.Ports.URL(product.CollectorMetrics)), "otelcol_kafkabatch_lag_age", ""); age > 0 {
			return fmt.Errorf("the oldest record has waited for %v s", age)
		}
		return nil
	})

	assert.Equal(t, before, pids(t, p), "no process was started again")
	examined, err = run(t, p, nil, "doctor", "--data", p.Data, "--port-offset", fmt.Sprint(p.Ports.Offset))
	require.NoError(t, err, examined)
}

// refusedByWeb waits until web answers a request itself, and logs after how long: a signal to stop arrives a moment later. It checks the
// answer and its detail.
func refusedByWeb(t *testing.T, p *product.Product, method, path, key, detail string) {
	t.Helper()
	var answer product.Answer
	until(t, func(ctx context.Context) (err error) {
		begin := time.Now()
		if answer, err = product.Do(ctx, method, p.Ports.URL(product.Web)+path, bearer(key), nil); err != nil {
			return err
		}
		t.Logf("%s %s: %d after %.1f s", method, path, answer.Status, time.Since(begin).Seconds())
		if answer.Status != http.StatusServiceUnavailable {
			return fmt.Errorf("%s %s answers %d %s", method, path, answer.Status, answer.Body)
		}
		return nil
	})
	assert.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	assert.Equal(t, "2", answer.Header.Get("Retry-After"))
	assert.Contains(t, string(answer.Body), `"code":"upstream_silent"`)
	assert.Contains(t, string(answer.Body), detail)
}

// answersThroughWeb checks that the API answers the first request.
func answersThroughWeb(t *testing.T, p *product.Product, key string) {
	t.Helper()
	begin := time.Now()
	answer, err := product.Do(t.Context(), http.MethodGet, p.Ports.URL(product.Web)+"/v1/me", bearer(key), nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	t.Logf("the API answers after %.3f s", time.Since(begin).Seconds())
}

func bearer(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// pids returns the process ids of the services, by name.
func pids(t *testing.T, p *product.Product) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, name := range []string{
		product.LauncherProcess, product.PostgresProcess, product.ClickHouseProcess, product.BrokerProcess,
		product.CollectorProcess, product.ControlPlaneProcess, product.WebProcess,
	} {
		pid, err := p.PID(name)
		require.NoError(t, err)
		require.NotZero(t, pid, name)
		found[name] = pid
	}
	return found
}

func awaitReadyz(t *testing.T, p *product.Product, port, status int, text string) {
	t.Helper()
	until(t, func(ctx context.Context) error {
		answer, err := product.Do(ctx, http.MethodGet, p.Ports.URL(port)+"/readyz", nil, nil)
		if err != nil {
			return err
		}
		if answer.Status != status || !strings.Contains(string(answer.Body), text) {
			return fmt.Errorf("%d answers %d %s, wanted %d with %s", port, answer.Status, answer.Body, status, text)
		}
		return nil
	})
}

// probe runs `looptrace probe --once` and returns its output.
func probe(t *testing.T, p *product.Product, key string) (output string, err error) {
	t.Helper()
	return run(t, p, []string{"LOOPTRACE_KEY=" + key}, "probe", "--once",
		"--ingest-url", p.Ports.URL(product.Ingest), "--api-url", p.Ports.URL(product.Web))
}

func run(t *testing.T, p *product.Product, env []string, arguments ...string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(p.Root, "_build", "looptrace"), arguments...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func loggedByLauncher(p *product.Product, text string) error {
	output, err := os.ReadFile(filepath.Join(filepath.Dir(p.Data), "launcher.log"))
	if err == nil && !bytes.Contains(output, []byte(text)) {
		err = errors.New("the launcher has not logged: " + text)
	}
	return err
}
