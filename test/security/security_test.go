// Package security attacks the built product like others on the same machine can: a different user of the system, a
// web page that the user opens, and anyone who sends garbage to a port.
package security

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

func TestMain(m *testing.M) {
	if plan := os.Getenv(intruderVariable); plan != "" {
		if err := intrude(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ports are the ports of the product's parts, including the stores.
var (
	stores = []int{product.Broker, product.ClickHouse, product.Postgres}
	ports  = append([]int{
		product.OTLPGRPC, product.OTLPHTTP, product.Ingest, product.API, product.CollectorHealth, product.CollectorMetrics,
		product.BrokerMetrics, product.Web,
	}, stores...)
)

func TestSecurity(t *testing.T) {
	p := product.Start(t)
	var account *product.Account
	t.Run("web pages", func(t *testing.T) { account = testWebPages(t, p) })
	require.NotNil(t, account)
	t.Run("another user of the system", func(t *testing.T) { testOtherUser(t, p) })
	t.Run("garbage", func(t *testing.T) { testGarbage(t, p) })
	t.Run("busy members", func(t *testing.T) { testBusyMembers(t, p, account) })
	requireWorking(t, p, account)
}

// requireWorking sends a run and reads it back.
func requireWorking(t *testing.T, p *product.Product, account *product.Account) {
	t.Helper()
	key, err := account.Key(t.Context(), "all", "ingest:write", "runs:read")
	require.NoError(t, err)
	id := uuid.NewString()
	body, err := json.Marshal(map[string]any{"runs": []any{map[string]any{
		"run_id": id, "name": "afterwards", "start_time": time.Now().UTC(), "end_time": time.Now().UTC(),
	}}})
	require.NoError(t, err)
	answer, err := product.Post(t.Context(), p.Ports.URL(product.Web)+"/v1/runs", key, product.JSON, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	reader := product.Reader{Base: p.Ports.URL(product.Web), Key: key}
	require.Eventually(t, func() bool {
		_, found, err := reader.Run(t.Context(), id)
		return err == nil && found
	}, 20*time.Second, product.Tick)
}

// pids returns the processes of the product by name.
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
