package ratelimit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	testRate  = 1000.0
	testBurst = 10_000.0
	testCost  = 100
	// step is the interval at which the replicas of a simulation get requests.
	step = 5 * time.Millisecond
)

var (
	testSubject = Subject{Kind: Project, ID: "01890000-0000-7000-8000-000000000001"}
	testClaim   = Claim{Subject: testSubject, Limits: Limits{Requests: {Rate: testRate, Burst: testBurst}}}
)

// replica is a limiter that shares a log until it is stopped.
type replica struct {
	limiter *Limiter
	log     *memoryReplica
	crash   func()
}

func startReplica(ctx context.Context, log *memoryLog, name string) *replica {
	r := &replica{limiter: New(), log: log.replica()}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	caughtUp := r.limiter.Join(name)
	running.Go(func() { r.limiter.Share(ctx, r.log) })
	<-caughtUp
	r.crash = func() {
		r.log.setCut(true) // without a goodbye
		cancel()
		running.Wait()
		r.log.leave()
	}
	return r
}

// simulation is load on replicas, and what they admitted.
type simulation struct {
	replicas []*replica
	start    time.Time
	at       []time.Duration
	cost     []float64
}

// run offers load for a time: demand is the load of replica i in the step at t. during is called before every step.
func (s *simulation) run(length time.Duration, demand func(i int, t time.Duration) int, during func(t time.Duration)) {
	for t := time.Duration(0); t < length; t += step {
		if during != nil {
			during(t)
		}
		for i, r := range s.replicas {
			if r == nil {
				continue
			}
			for range demand(i, t) {
				if r.limiter.Admit(Cost{Requests: testCost}, testClaim).Allowed {
					s.at = append(s.at, time.Since(s.start))
					s.cost = append(s.cost, testCost)
				}
			}
		}
		time.Sleep(step)
	}
}

// excess returns the maximum that any window admitted beyond rate times its length.
func (s *simulation) excess() float64 {
	worst, running := 0.0, math.Inf(-1)
	for j := range s.at {
		if j > 0 {
			running -= testRate * (s.at[j] - s.at[j-1]).Seconds()
		}
		running = max(running, 0) + s.cost[j]
		worst = max(worst, running)
	}
	return worst
}

func (s *simulation) admitted() float64 {
	total := 0.0
	for _, c := range s.cost {
		total += c
	}
	return total
}

// bound is the package's bound for every window, beyond rate times its length.
func bound(n int) float64 {
	guard := Limit{Rate: testRate, Burst: testBurst}.guard(float64(n))
	return testBurst + float64(n-1)*guard + float64(n)*testCost
}

func everyStep(n int) func(int, time.Duration) int {
	return func(int, time.Duration) int { return n }
}

// patterns of arrival. Each offers more than the rate.
var patterns = map[string]func(n int) func(i int, t time.Duration) int{
	"all at once, then steady": func(int) func(int, time.Duration) int {
		return func(_ int, t time.Duration) int {
			if t == 0 {
				return 1000
			}
			return 1
		}
	},
	"steady": func(int) func(int, time.Duration) int { return everyStep(1) },
	"one hot replica": func(int) func(int, time.Duration) int {
		return func(i int, _ time.Duration) int { return max(0, 1-i) * 20 }
	},
	"one hot, others a little": func(int) func(int, time.Duration) int {
		return func(i int, t time.Duration) int {
			if i == 0 {
				return 20
			}
			if t%time.Second == 0 {
				return 1
			}
			return 0
		}
	},
	"alternating": func(n int) func(int, time.Duration) int {
		return func(i int, t time.Duration) int {
			if int(t/(250*time.Millisecond))%n == i {
				return 20
			}
			return 0
		}
	},
	"on and off at the staleness": func(int) func(int, time.Duration) int {
		return func(_ int, t time.Duration) int { return int(t/Staleness+1) % 2 * 20 }
	},
}

// quiet is after the start, in which replicas discover each other.
const quiet = 15 * time.Second

func simulate(ctx context.Context, log *memoryLog, n int) *simulation {
	s := &simulation{}
	for i := range n {
		s.replicas = append(s.replicas, startReplica(ctx, log, fmt.Sprint("replica-", i)))
	}
	s.run(quiet, everyStep(0), nil)
	s.start = time.Now()
	return s
}

func TestBoundInEveryWindow(t *testing.T) {
	t.Parallel()
	const length = 10 * time.Duration(testBurst/testRate) * time.Second
	for name, pattern := range patterns {
		for _, n := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s := simulate(ctx, newMemoryLog(10*time.Millisecond, 150*time.Millisecond), n)
					s.run(length, pattern(n), nil)
					used := s.admitted() / (testBurst + testRate*length.Seconds())
					longRun := s.admitted() / (testRate * length.Seconds())
					t.Logf("worst window %.0f of %.0f; %.1f%% of b + r T, %.1f%% of r T", s.excess(), bound(n), used*100, longRun*100)
					assert.LessOrEqual(t, s.excess(), bound(n))
					assert.GreaterOrEqual(t, longRun, 0.95)
				})
			})
		}
	}
}

func TestBoundUnderFaults(t *testing.T) {
	t.Parallel()
	const length = 60 * time.Second
	late := func(at time.Duration) bool { return at > quiet+10*time.Second && at < quiet+20*time.Second }
	faults := map[string]func(rng *rand.Rand, at time.Duration) []time.Duration{
		"delayed": func(_ *rand.Rand, at time.Duration) []time.Duration {
			if late(at) {
				return []time.Duration{5 * time.Second}
			}
			return []time.Duration{0}
		},
		"dropped": func(rng *rand.Rand, _ time.Duration) []time.Duration {
			if rng.IntN(5) == 0 {
				return nil
			}
			return []time.Duration{0}
		},
		"repeated": func(rng *rand.Rand, _ time.Duration) []time.Duration {
			return []time.Duration{0, time.Duration(rng.IntN(5000)) * time.Millisecond}
		},
		"out of order": func(rng *rand.Rand, _ time.Duration) []time.Duration {
			return []time.Duration{time.Duration(rng.IntN(600)) * time.Millisecond}
		},
		"away": func(_ *rand.Rand, at time.Duration) []time.Duration {
			if late(at) {
				return nil
			}
			return []time.Duration{0}
		},
	}
	for name, fault := range faults {
		for patternName, pattern := range patterns {
			t.Run(name+"/"+patternName, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					const n = 4
					log := newMemoryLog(10*time.Millisecond, 150*time.Millisecond)
					log.fault = fault
					s := simulate(ctx, log, n)
					s.run(length, pattern(n), nil)
					longRun := s.admitted() / (testRate * length.Seconds())
					t.Logf("worst window %.0f of %.0f; %.1f%% of r T", s.excess(), bound(n), longRun*100)
					assert.LessOrEqual(t, s.excess(), bound(n))
				})
			})
		}
	}
}

func TestBoundWhileReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	const length = 90 * time.Second
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				log := newMemoryLog(10*time.Millisecond, 150*time.Millisecond)
				s := simulate(ctx, log, 4)
				crashes := 0
				s.run(length, pattern(4), func(at time.Duration) {
					switch at {
					case 20 * time.Second, 50 * time.Second: // one crashes and is back after 10 s
						s.replicas[1].crash()
						s.replicas[1] = nil
						crashes++
					case 30 * time.Second, 60 * time.Second:
						s.replicas[1] = startReplica(ctx, log, "replica-1")
					case 40 * time.Second: // one is replaced at once
						s.replicas[2].crash()
						s.replicas[2] = startReplica(ctx, log, "replica-2")
						crashes++
					case 70 * time.Second: // one more joins
						s.replicas = append(s.replicas, startReplica(ctx, log, "replica-4"))
					}
				})
				limit := bound(5) + float64(crashes)*Limit{Rate: testRate, Burst: testBurst}.guard(4)
				longRun := s.admitted() / (testRate * length.Seconds())
				t.Logf("worst window %.0f of %.0f; %.1f%% of r T", s.excess(), limit, longRun*100)
				assert.LessOrEqual(t, s.excess(), limit)
				assert.GreaterOrEqual(t, longRun, 0.9)
			})
		})
	}
}
