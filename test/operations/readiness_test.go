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
	examined, err := run(t, p, nil, "doctor", "--data", p.Data, "--port-offset", fmt.Sprint(p.Ports.Offset))
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
