// Package limits tests several ingest processes together: three real collectors with deploy/ingest.yaml, a real Kafka
// and a real PostgreSQL must enforce a project's limit like one process, refuse a revoked key, and continue without
// PostgreSQL.
//
// It needs `make collector _build/looptrace`, and Java for Kafka, without which it is skipped. LIMITS_DURATION is the
// duration of the load, 20s by default.
package limits

import (
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

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/kafka"
	"github.com/looptrace/looptrace/test/product"
)

const (
	replicas = 3
	// patience limits the wait for one condition, on a machine under load.
	patience = time.Minute
	// stopTime limits an orderly stop of a collector.
	stopTime = 30 * time.Second
	// revokedWithin is how long a revoked key may continue to work.
	revokedWithin = 5 * time.Second
	// trustedFor is longer than ingest uses an answer without asking PostgreSQL again.
	trustedFor = 6 * time.Second
)

// site is ingest in three processes, and its dependencies.
type site struct {
	postgres *engines.Server
	db       *pgxpool.Pool
	// ports are the ports of each process.
	ports []product.Ports
	// limited is a project with its own limit, other one without.
	limited, other string
	// old is a key that is older than the processes, so no notification about it arrives.
	old apikey.Key
}

// TestReplicas is one sequence, because the start takes most of the time. Each step restores the site.
func TestReplicas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	t.Run("bound", s.testBound)
	t.Run("revocation", func(t *testing.T) { s.testRevocation(t, false) })
	t.Run("revocation without a notification", func(t *testing.T) { s.testRevocation(t, true) })
	t.Run("without PostgreSQL", s.testWithoutPostgres)
}

func newSite(t *testing.T) *site {
	t.Helper()
	broker := kafka.StartSecured(t)
	s := &site{}
	var database string
	s.postgres, database = engines.PostgresServer(t)
	root, err := checkout.Root()
	require.NoError(t, err)
	stores := append(broker.Environment(), "DATABASE_URL="+s.postgres.URL(database))

	migrate := exec.CommandContext(t.Context(), filepath.Join(root, "_build", "looptrace"), "migrate")
	migrate.Env = append(os.Environ(), stores...)
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, "make _build/looptrace builds it: %s", out)
	s.assertUsageTopics(t, broker.Plain)

	s.db, err = postgres.Open(t.Context(), s.postgres.URL(database))
	require.NoError(t, err)
	t.Cleanup(s.db.Close)
	for name, id := range map[string]*string{"limited": &s.limited, "other": &s.other} {
		require.NoError(t, s.db.QueryRow(t.Context(), `
			WITH o AS (INSERT INTO organizations (name) VALUES ($1) RETURNING id),
			w AS (INSERT INTO workspaces (organization_id, name) SELECT id, $1 FROM o RETURNING id)
			INSERT INTO projects (workspace_id, name) SELECT id, $1 FROM w RETURNING id::text`, name).Scan(id))
	}
	s.exec(t, "UPDATE projects SET limits = $1 WHERE id = $2", ratelimit.Overrides{
		ratelimit.RateName(ratelimit.Project, ratelimit.Spans):  rate,
		ratelimit.BurstName(ratelimit.Project, ratelimit.Spans): burst,
	}, s.limited)

	s.old = s.mint(t, s.other)

	logs := t.TempDir()
	for i := range replicas {
		ports, err := product.FreePorts()
		require.NoError(t, err)
		s.ports = append(s.ports, ports)
		name := fmt.Sprintf("ingest-%d", i)
		collector, err := product.StartChild(&exec.Cmd{
			Path: filepath.Join(root, "_build", "looptrace-collector"),
			Args: []string{"looptrace-collector", "--config", filepath.Join(root, "deploy", "ingest.yaml")},
			Env: append(append(os.Environ(), stores...),
				"KAFKA_INSTANCE_ID="+name,
				"INGEST_ADDR="+ports.Addr(product.Ingest),
				"OTLP_GRPC_ADDR="+ports.Addr(product.OTLPGRPC),
				"OTLP_HTTP_ADDR="+ports.Addr(product.OTLPHTTP),
				"HEALTH_ADDR="+ports.Addr(product.CollectorHealth),
				"METRICS_PORT="+strings.TrimPrefix(ports.Addr(product.CollectorMetrics), "127.0.0.1:"),
			),
		}, name, filepath.Join(logs, name+".log"))
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, collector.Stop(stopTime))
			if output, err := os.ReadFile(filepath.Join(logs, name+".log")); t.Failed() && err == nil {
				t.Logf("%s:\n%s", name, output[max(0, len(output)-8<<10):])
			}
		})
		s.wait(t, patience, func(ctx context.Context) error {
			if err := collector.Ended(); err != nil {
				return product.Permanent(err)
			}
			return s.ready(ctx, i)
		})
	}
	for i := range replicas {
		s.wait(t, patience, func(ctx context.Context) error { return s.sharing(ctx, i) })
	}
	return s
}

// assertUsageTopics checks the topics of `looptrace migrate`.
func (s *site) assertUsageTopics(t *testing.T, broker string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	// A new topic is not immediately known to all brokers.
	s.wait(t, patience, func(ctx context.Context) error {
		topics, err := admin.ListTopics(ctx, ratelimit.UsageTopic, ratelimit.APIUsageTopic)
		if err == nil {
			err = topics.Error()
		}
		for _, topic := range topics {
			if n := len(topic.Partitions); err == nil && n != 1 {
				err = product.Permanent(fmt.Errorf("%s has %d partitions", topic.Topic, n))
			}
		}
		return err
	})
	configs, err := admin.DescribeTopicConfigs(t.Context(), ratelimit.UsageTopic, ratelimit.APIUsageTopic)
	require.NoError(t, err)
	require.Len(t, configs, 2)
	for _, topic := range configs {
		set := map[string]string{}
		for _, c := range topic.Configs {
			set[c.Key] = c.MaybeValue()
		}
		assert.Equal(t, "delete", set["cleanup.policy"], topic.Name)
		assert.Equal(t, "600000", set["retention.ms"], topic.Name)
		assert.Equal(t, "600000", set["segment.ms"], topic.Name)
	}
}

func (s *site) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// wait waits for a condition.
func (s *site) wait(t *testing.T, within time.Duration, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}

// mint stores a key of a project with the scope for ingest.
func (s *site) mint(t *testing.T, project string) apikey.Key {
	t.Helper()
	key := apikey.Mint()
	hash := key.Hash()
	s.exec(t, "INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes) VALUES ($1, 'k', $2, $3, $4)",
		project, key.PublicID(), hash[:], []string{apikey.ScopeIngestWrite})
	return key
}

// ready returns why a process is not ready.
func (s *site) ready(ctx context.Context, i int) error {
	url := s.ports[i].URL(product.CollectorHealth) + "/readyz"
	answer, err := product.Do(ctx, http.MethodGet, url, nil, nil)
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", url, answer.Status, answer.Body)
	}
	return nil
}

// sharing returns nil if a process knows in time what all others have admitted.
func (s *site) sharing(ctx context.Context, i int) error {
	answer, err := product.Do(ctx, http.MethodGet, s.ports[i].URL(product.CollectorMetrics)+"/metrics", nil, nil)
	if err != nil {
		return err
	}
	for metric, want := range map[string]string{"otelcol_ratelimit_replicas": fmt.Sprint(replicas), "otelcol_ratelimit_fresh": "1"} {
		if got := value(string(answer.Body), metric); got != want {
			return fmt.Errorf("%s is %q and should be %s", metric, got, want)
		}
	}
	return nil
}

// value returns the value of a metric without relevant labels in the Prometheus text format, "" if it is missing.
func value(text, metric string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, metric); ok && strings.IndexAny(rest, "{ ") == 0 {
			return strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):])
		}
	}
	return ""
}

// send sends a request without spans, which no limit on spans refuses.
func (s *site) send(ctx context.Context, i int, key apikey.Key) (product.Answer, error) {
	return product.Post(ctx, s.ports[i].URL(product.Ingest)+"/v1/traces", key.Reveal(), product.JSON, []byte(`{}`))
}

// testRevocation revokes a key that is in use in every process.
func (s *site) testRevocation(t *testing.T, unannounced bool) {
	key := s.mint(t, s.other)
	for i := range replicas {
		s.wait(t, patience, s.answers(i, key, http.StatusAccepted))
	}
	if unannounced {
		s.exec(t, "ALTER TABLE api_keys DISABLE TRIGGER USER")
		defer s.exec(t, "ALTER TABLE api_keys ENABLE TRIGGER USER")
	}
	s.exec(t, "UPDATE api_keys SET revoked_at = now() WHERE public_id = $1", key.PublicID())
	revoked := time.Now()
	for i := range replicas {
		s.wait(t, time.Until(revoked.Add(revokedWithin)), s.answers(i, key, http.StatusUnauthorized))
	}
	t.Logf("refused everywhere after %s", time.Since(revoked).Round(time.Millisecond))
}

// answers is the condition that a process answers requests with the key by the status.
func (s *site) answers(i int, key apikey.Key, status int) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := s.send(ctx, i, key)
		if err == nil && answer.Status != status {
			err = fmt.Errorf("process %d answers %d and should answer %d: %s", i, answer.Status, status, answer.Body)
		}
		return err
	}
}

// testWithoutPostgres stops PostgreSQL: verified keys continue to work, for longer than an answer of PostgreSQL is
// used otherwise. Other keys cannot be checked.
func (s *site) testWithoutPostgres(t *testing.T) {
	for i := range replicas {
		s.wait(t, patience, s.answers(i, s.old, http.StatusAccepted))
	}
	s.postgres.Stop(t)
	t.Cleanup(func() { s.postgres.Start(t) })

	taken := 0
	for stopped := time.Now(); time.Since(stopped) < trustedFor; {
		for i := range replicas {
			answer, err := s.send(t.Context(), i, s.old)
			require.NoError(t, err)
			require.Equal(t, http.StatusAccepted, answer.Status, "a verified key at process %d: %s", i, answer.Body)
			taken++
		}
	}
	t.Logf("%d requests with a verified key were taken within %s", taken, trustedFor)
	for i := range replicas {
		answer, err := s.send(t.Context(), i, apikey.Mint())
		require.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, answer.Status, "an unknown key at process %d: %s", i, answer.Body)
		assert.NotEmpty(t, answer.Header.Get("Retry-After"))
	}

	s.postgres.Start(t)
	for i := range replicas {
		s.wait(t, patience, s.answers(i, apikey.Mint(), http.StatusUnauthorized))
	}
}

// length returns the duration of the load.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("LIMITS_DURATION")
	if text == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 2*settleTime {
		err = errors.New("it is too short")
	}
	require.NoError(t, err, "LIMITS_DURATION")
	return d
}
