package ratelimitextension

import (
	"context"
	"crypto/rand"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
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

// load sends requests at a steady rate through the middlewares of several replicas. It records when they were admitted and
// refused since all replicas have heard of each other: on a busy machine the log may be late, and then each admits its share.
type load struct {
	handlers []http.Handler
	limits   []*rateLimit
	ctx      context.Context // the caller of every request

	mu          sync.Mutex
	start       time.Time
	since       time.Duration
	at, refused []time.Duration
	wrong       int // refusals without a Retry-After
}

// run sends until a condition holds.
func (l *load) run(t *testing.T, demand func(i int, t time.Duration) float64, until func() bool) {
	t.Helper()
	l.start = time.Now()
	var sending sync.WaitGroup
	defer sending.Wait()
	enough := make(chan struct{})
	defer close(enough)
	for i, handler := range l.handlers {
		sending.Go(func() {
			ticker := time.NewTicker(5 * time.Millisecond)
			defer ticker.Stop()
			owed, last := 0.0, time.Duration(0)
			for {
				select {
				case <-ticker.C:
				case <-enough:
					return
				}
				now := time.Since(l.start)
				l.check()
				for owed += demand(i, now) * (now - last).Seconds(); owed >= 1; owed-- {
					l.send(handler)
				}
				l.check()
				last = now
			}
		})
	}
	require.Eventually(t, until, 5*time.Minute, 100*time.Millisecond)
}

// check begins anew if a replica has not heard of the others.
func (l *load) check() {
	for _, limit := range l.limits {
		if n, fresh := limit.limiter.Replicas(); n != replicas || !fresh {
			l.mu.Lock()
			l.since, l.at, l.refused = time.Since(l.start), nil, nil
			l.mu.Unlock()
			return
		}
	}
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
	default:
		l.refused = append(l.refused, time.Since(l.start))
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

// rate returns the rate of admissions after the time in which the burst is spent, and how long it was measured. It is
// measured between refusals: nothing was left then.
func (l *load) rate(spent time.Duration) (rate float64, length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, _ := slices.BinarySearch(l.refused, l.since+spent)
	if first == len(l.refused) {
		return 0, 0
	}
	from, to := l.refused[first], l.refused[len(l.refused)-1]
	admitted := 0
	for _, at := range l.at {
		if at > from && at <= to {
			admitted++
		}
	}
	return float64(admitted) / (to - from).Seconds(), to - from
}

// Three replicas with a real Kafka admit as much as one would in the long run, within the bound of internal/ratelimit.
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
			topic := usageTopic(t, broker.Address)
			l := &load{ctx: as(t.Context(), "p", "k", nil)}
			for range replicas {
				limit := start(t, nil, func(cfg *Config) {
					cfg.Project.Requests = LimitConfig{Rate: replicaRate, Burst: replicaBurst}
					cfg.Usage.Brokers, cfg.Usage.Topic = []string{broker.Address}, topic
				})
				l.limits = append(l.limits, limit)
				wrap, err := limit.GetHTTPHandler(t.Context())
				require.NoError(t, err)
				handler, err := wrap(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusAccepted)
				}))
				require.NoError(t, err)
				l.handlers = append(l.handlers, handler)
			}
			for _, limit := range l.limits {
				require.Eventually(t, func() bool { n, fresh := limit.limiter.Replicas(); return n == replicas && fresh },
					patience, 10*time.Millisecond)
			}
			longRun := 0.0
			l.run(t, demand, func() bool {
				rate, length := l.rate(8 * time.Second)
				longRun = rate / replicaRate
				return length >= 10*time.Second && math.Abs(longRun-1) <= 0.03
			})
			bound := replicaBurst + (replicas-1)*(replicaBurst/replicas+replicaRate*ratelimit.Staleness.Seconds()) + replicas
			t.Logf("worst window %.0f of %.0f; long-run rate %.2f%%", l.excess(), bound, longRun*100)
			assert.LessOrEqual(t, l.excess(), bound)
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
