package ratelimitextension

import (
	"context"
	"crypto/rand"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/kafka"
)

const (
	replicas     = 3
	replicaRate  = 400.0
	replicaBurst = 1200.0
)

func usageTopic(t *testing.T, address string) string {
	t.Helper()
	topic := rand.Text()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	require.NoError(t, err)
	defer client.Close()
	retention, policy := "600000", "delete"
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 1, 1,
		map[string]*string{"retention.ms": &retention, "cleanup.policy": &policy}, topic)
	require.NoError(t, err)
	return topic
}

// load sends requests at a steady rate through the middlewares of several replicas, and records when they were
// admitted.
type load struct {
	handlers []http.Handler
	ctx      context.Context // the caller of every request

	mu    sync.Mutex
	start time.Time
	at    []time.Duration
	wrong int // refusals without a Retry-After
}

func (l *load) run(t *testing.T, length time.Duration, demand func(i int, t time.Duration) float64) {
	t.Helper()
	l.start = time.Now()
	var sending sync.WaitGroup
	for i, handler := range l.handlers {
		sending.Go(func() {
			ticker := time.NewTicker(5 * time.Millisecond)
			defer ticker.Stop()
			owed, last := 0.0, time.Duration(0)
			for last < length {
				<-ticker.C
				now := time.Since(l.start)
				for owed += demand(i, now) * (now - last).Seconds(); owed >= 1; owed-- {
					l.send(handler)
				}
				last = now
			}
		})
	}
	sending.Wait()
}

func (l *load) send(handler http.Handler) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(l.ctx, http.MethodPost, "/v1/runs", nil))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case w.Code == http.StatusAccepted:
		l.at = append(l.at, time.Since(l.start))
	case w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "":
		l.wrong++
	}
}

// excess returns the maximum that any window admitted beyond rate times its length.
func (l *load) excess() float64 {
	worst, running := 0.0, 0.0
	for j := range l.at {
		if j > 0 {
			running -= replicaRate * (l.at[j] - l.at[j-1]).Seconds()
		}
		running = max(running, 0) + 1
		worst = max(worst, running)
	}
	return worst
}

func (l *load) admittedSince(at time.Duration) float64 {
	n := 0.0
	for _, a := range l.at {
		if a > at {
			n++
		}
	}
	return n
}

// Three replicas with a real Kafka admit as much as one would, within the bound of internal/ratelimit.
func TestReplicasOverKafka(t *testing.T) {
	t.Parallel()
	broker := kafka.Start(t)
	patterns := map[string]func(i int, t time.Duration) float64{
		"all":     func(int, time.Duration) float64 { return replicaRate },
		"one hot": func(i int, _ time.Duration) float64 { return max(0, float64(1-i)) * 3 * replicaRate },
		"alternating": func(i int, t time.Duration) float64 {
			if int(t/(700*time.Millisecond))%replicas == i {
				return 3 * replicaRate
			}
			return 0
		},
	}
	for name, demand := range patterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const length, settled = 20 * time.Second, 8 * time.Second
			topic := usageTopic(t, broker.Address)
			l := &load{ctx: as(t.Context(), "p", "k", nil)}
			var limits []*rateLimit
			for range replicas {
				limit := start(t, nil, func(cfg *Config) {
					cfg.Project.Requests = LimitConfig{Rate: replicaRate, Burst: replicaBurst}
					cfg.Usage.Brokers, cfg.Usage.Topic = []string{broker.Address}, topic
				})
				limits = append(limits, limit)
				wrap, err := limit.GetHTTPHandler(t.Context())
				require.NoError(t, err)
				handler, err := wrap(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusAccepted)
				}))
				require.NoError(t, err)
				l.handlers = append(l.handlers, handler)
			}
			for _, limit := range limits {
				require.Eventually(t, func() bool { n, fresh := limit.limiter.Replicas(); return n == replicas && fresh },
					patience, 10*time.Millisecond)
			}
			l.run(t, length, demand)
			longRun := l.admittedSince(settled) / (replicaRate * (length - settled).Seconds())
			bound := replicaBurst + (replicas-1)*(replicaBurst/replicas+replicaRate*ratelimit.Staleness.Seconds()) + replicas
			t.Logf("worst window %.0f of %.0f; long-run rate %.2f%%", l.excess(), bound, longRun*100)
			assert.LessOrEqual(t, l.excess(), bound)
			assert.LessOrEqual(t, math.Abs(longRun-1), 0.03)
			assert.Zero(t, l.wrong, "refusals without a Retry-After")
		})
	}
}

// With the broker killed every replica admits its share. When it is back they share again.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	broker := kafka.Start(t)
	topic := usageTopic(t, broker.Address)
	var limits []*rateLimit
	open := func() {
		limits = append(limits, start(t, nil, func(cfg *Config) {
			cfg.Project.Requests = LimitConfig{Rate: replicaRate, Burst: replicaBurst}
			cfg.Usage.Brokers, cfg.Usage.Topic = []string{broker.Address}, topic
		}))
	}
	open()
	open()
	all := func(replicas int, want bool) func() bool {
		return func() bool {
			for _, limit := range limits {
				if n, fresh := limit.limiter.Replicas(); n != replicas || fresh != want {
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, all(2, true), patience, 10*time.Millisecond)
	broker.Kill(t)
	require.Eventually(t, all(2, false), patience, 10*time.Millisecond)
	c := limits[0].callerOf(as(t.Context(), "p", "k", nil))
	admitted := 0
	for limits[0].limiter.Admit(ratelimit.Cost{ratelimit.Requests: 1}, c.all()...).Allowed {
		admitted++
	}
	assert.InDelta(t, replicaBurst/2, admitted, replicaBurst/10, "half of the burst")
	open() // the start must succeed without the broker
	_, fresh := limits[2].limiter.Replicas()
	assert.False(t, fresh)
	broker.Resume(t)
	require.Eventually(t, all(3, true), 2*patience, 10*time.Millisecond)
}
