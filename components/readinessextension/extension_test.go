package readinessextension

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/components/readinessextension/internal/metadata"
	"github.com/looptrace/looptrace/internal/componenthealth"
)

func start(t *testing.T, queue QueueConfig) *readiness {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Queue = queue
	r := newReadiness(extensiontest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, r.Shutdown(t.Context())) })
	return r
}

func ask(t *testing.T, r *readiness, path string) (status int, result answer) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.addr.String()+path, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&result))
	return response.StatusCode, result
}

func TestPhases(t *testing.T) {
	t.Parallel()
	r := start(t, QueueConfig{})
	for _, step := range []struct {
		enter func() error
		want  string
	}{
		{enter: func() error { return nil }, want: "unavailable: starting"},
		{enter: r.Ready},
		{enter: r.NotReady, want: "unavailable: stopping"},
	} {
		require.NoError(t, step.enter())
		status, result := ask(t, r, "/readyz")
		assert.Equal(t, step.want, result.Checks[checkCollector])
		assert.Equal(t, step.want == "", status == http.StatusOK)
		alive, _ := ask(t, r, "/healthz")
		assert.Equal(t, http.StatusOK, alive, "up from the start to the end")
	}
}

func TestComponents(t *testing.T) {
	t.Parallel()
	r := start(t, QueueConfig{})
	require.NoError(t, r.Ready())
	worker := componentstatus.NewInstanceID(component.MustNewID("kafkabatch"), component.KindReceiver)
	keys := componentstatus.NewInstanceID(component.MustNewIDWithName("apikeyauth", "a"), component.KindExtension)
	failing := func(ready bool, text string) *componentstatus.Event {
		attributes := pcommon.NewMap()
		attributes.PutBool(componenthealth.AttributeReady, ready)
		return componentstatus.NewEvent(componentstatus.StatusRecoverableError,
			componentstatus.WithError(errors.New(text)), componentstatus.WithAttributes(attributes))
	}
	assertTold := func(status int, want map[string]string) {
		t.Helper()
		got, result := ask(t, r, "/readyz")
		assert.Equal(t, status, got)
		assert.Equal(t, map[bool]string{true: ok, false: unavailable}[status == http.StatusOK], result.Status)
		assert.Equal(t, want, result.Checks)
	}
	assertTold(http.StatusOK, nil)

	r.ComponentStatusChanged(keys, failing(true, "PostgreSQL\n  does not answer"))
	assertTold(http.StatusOK, map[string]string{"extension apikeyauth/a": "degraded: PostgreSQL does not answer"})
	r.ComponentStatusChanged(worker, failing(false, "nothing moves"))
	assertTold(http.StatusServiceUnavailable, map[string]string{
		"extension apikeyauth/a": "degraded: PostgreSQL does not answer",
		"receiver kafkabatch":    "unavailable: nothing moves",
	})
	r.ComponentStatusChanged(keys, componentstatus.NewEvent(componentstatus.StatusOK))
	r.ComponentStatusChanged(worker, componentstatus.NewRecoverableErrorEvent(errors.New("said without the attribute")))
	assertTold(http.StatusServiceUnavailable, map[string]string{"receiver kafkabatch": "unavailable: said without the attribute"})
	r.ComponentStatusChanged(worker, componentstatus.NewEvent(componentstatus.StatusOK))
	assertTold(http.StatusOK, nil)

	r.ComponentStatusChanged(worker, failing(false, strings.Repeat("é", maxReason)))
	_, result := ask(t, r, "/readyz")
	assert.LessOrEqual(t, len(result.Checks["receiver kafkabatch"]), len("unavailable: ")+maxReason+len(" …"))
}

// Clients learn which checks fail, but not why. Anyone may ask at any rate: the queue is not asked each time.
func TestOpenAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, QueueConfig{})
	ready, checks := r.CheckReadiness(t.Context())
	assert.False(t, ready)
	assert.Equal(t, map[string]string{checkCollector: unavailable}, checks)

	require.NoError(t, r.Ready())
	worker := componentstatus.NewInstanceID(component.MustNewID("kafkabatch"), component.KindReceiver)
	r.ComponentStatusChanged(worker, componentstatus.NewRecoverableErrorEvent(errors.New("10.0.0.7: refused")))
	ready, checks = r.CheckReadiness(t.Context())
	assert.False(t, ready)
	assert.Equal(t, map[string]string{checkCollector: unavailable}, checks, "within a second")
	require.Eventually(t, func() bool {
		ready, checks = r.CheckReadiness(t.Context())
		return checks[checkCollector] == ""
	}, time.Minute, 10*time.Millisecond)
	assert.False(t, ready)
	assert.Equal(t, map[string]string{"receiver kafkabatch": unavailable}, checks)
	r.ComponentStatusChanged(worker, componentstatus.NewEvent(componentstatus.StatusOK))
	require.Eventually(t, func() bool {
		ready, checks = r.CheckReadiness(t.Context())
		return ready && len(checks) == 0
	}, time.Minute, 10*time.Millisecond)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "looptrace.spans"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)

	r := start(t, QueueConfig{Brokers: cluster.ListenAddrs(), Topic: "looptrace.spans"})
	require.NoError(t, r.Ready())
	// A broker of a busy machine may take longer than the queue is waited for.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status, result := ask(t, r, "/readyz")
		assert.Equal(c, http.StatusOK, status, result)
		assert.Equal(c, map[string]string{checkQueue: ok}, result.Checks)
	}, time.Minute, 10*time.Millisecond)

	lacks := start(t, QueueConfig{Brokers: cluster.ListenAddrs(), Topic: "looptrace.other"})
	require.NoError(t, lacks.Ready())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status, result := ask(t, lacks, "/readyz")
		assert.Equal(c, http.StatusServiceUnavailable, status)
		assert.Contains(c, result.Checks[checkQueue], "unavailable: topic looptrace.other: UNKNOWN_TOPIC_OR_PARTITION")
	}, time.Minute, 10*time.Millisecond)

	cluster.Close()
	begun := time.Now()
	status, result := ask(t, r, "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, result.Checks[checkQueue], "unavailable: no broker answers: ")
	assert.Less(t, time.Since(begun), 10*queueTimeout, "the client alone tries for longer")
}
