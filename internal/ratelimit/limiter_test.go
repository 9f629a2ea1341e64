package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func admitted(l *Limiter, cost Cost, claims ...Claim) int {
	n := 0
	for l.Admit(cost, claims...).Allowed {
		n++
	}
	return n
}

func TestAloneIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		claim := Claim{Subject: Subject{Kind: Key, ID: "k"}, Limits: Limits{Requests: {Rate: 10, Burst: 20}}}
		assert.Equal(t, 20, admitted(l, Cost{Requests: 1}, claim))
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, 5, admitted(l, Cost{Requests: 1}, claim))
		time.Sleep(time.Hour)
		assert.Equal(t, 20, admitted(l, Cost{Requests: 1}, claim), "a rest fills no more than the burst")
	})
}

func TestDebtIsRepaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		claim := Claim{Subject: Subject{Kind: Key, ID: "k"}, Limits: Limits{Bytes: {Rate: 100, Burst: 200}}}
		assert.True(t, l.Admit(Cost{Requests: 1, Bytes: 1000}, claim).Allowed, "larger than the burst")
		refused := l.Admit(Cost{Bytes: 1}, claim)
		assert.False(t, refused.Allowed)
		assert.Equal(t, 8*time.Second, refused.RetryAfter)
		assert.Equal(t, 10*time.Second, refused.Reset)
		assert.Equal(t, Bytes, refused.Measure)
		assert.Zero(t, refused.Remaining)
		l.Charge(Cost{Bytes: 200}, claim)
		time.Sleep(10 * time.Second)
		assert.False(t, l.Admit(Cost{Bytes: 1}, claim).Allowed, "exactly nothing left")
		time.Sleep(time.Millisecond)
		assert.True(t, l.Admit(Cost{Bytes: 1}, claim).Allowed)
	})
}

func TestEverySubjectAndMeasureHasToAdmit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		key := Claim{Subject: Subject{Kind: Key, ID: "id"}, Limits: Limits{Requests: {Rate: 1, Burst: 10}, Spans: {Rate: 1, Burst: 5}}}
		project := Claim{Subject: Subject{Kind: Project, ID: "id"}, Limits: Limits{Requests: {Rate: 1, Burst: 3}}}
		first := l.Admit(Cost{Requests: 1}, key, project)
		assert.True(t, first.Allowed)
		assert.Equal(t, Project, first.Kind, "nearest to empty")
		assert.InDelta(t, 2, first.Remaining, 1e-9)
		assert.Equal(t, time.Second, first.Reset)
		assert.Equal(t, 2, admitted(l, Cost{Requests: 1}, key, project))
		assert.Equal(t, 7, admitted(l, Cost{Requests: 1}, key), "what the project refused was not taken from the key")

		other := Claim{Subject: Subject{Kind: Key, ID: "other"}, Limits: key.Limits}
		l.Charge(Cost{Spans: 7}, other)
		refused := l.Admit(Cost{Requests: 1}, other)
		assert.False(t, refused.Allowed)
		assert.Equal(t, Spans, refused.Measure)
		assert.Equal(t, Decision{Allowed: true}, l.Admit(Cost{Requests: 1}, Claim{Subject: Subject{Kind: Key, ID: "free"}}))
		assert.Equal(t, 3, l.Len(), "no bucket where there is no limit")
	})
}

func TestLimitsChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		claim := Claim{Subject: Subject{Kind: Key, ID: "k"}, Limits: Limits{Requests: {Rate: 1, Burst: 100}}}
		assert.True(t, l.Admit(Cost{Requests: 10}, claim).Allowed)
		claim.Limits[Requests] = Limit{Rate: 1, Burst: 5}
		assert.Equal(t, 5, admitted(l, Cost{Requests: 1}, claim))
		claim.Limits[Requests] = Limit{Rate: 100, Burst: 1000}
		assert.False(t, l.Admit(Cost{Requests: 1}, claim).Allowed, "a larger burst is no gift")
		time.Sleep(time.Second)
		assert.Equal(t, 100, admitted(l, Cost{Requests: 1}, claim))
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		claim := func(i int) Claim {
			return Claim{Subject: Subject{Kind: Key, ID: fmt.Sprint(i)}, Limits: Limits{Requests: {Rate: 1, Burst: 10}}}
		}
		for i := range maxBuckets + 100 {
			l.Admit(Cost{Requests: 1}, claim(i))
		}
		assert.Equal(t, maxBuckets, l.Len())
		time.Sleep(2 * idleAfter)
		l.Admit(Cost{Requests: 1}, claim(-1))
		assert.Equal(t, 1, l.Len(), "full and idle")
	})
}

// A bucket is swept while a request holds a second one, which is idle and full.
func TestSweepDoesNotWaitForHeldBuckets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		limits := Limits{Requests: {Rate: 1, Burst: 10}}
		key := Claim{Subject: Subject{Kind: Key, ID: "id"}, Limits: limits}
		project := Claim{Subject: Subject{Kind: Project, ID: "id"}, Limits: limits}
		require.True(t, l.Admit(Cost{Requests: 1}, key).Allowed)
		time.Sleep(2 * idleAfter)
		decided := make(chan Decision, 1)
		go func() { decided <- l.Admit(Cost{Requests: 1}, key, project) }()
		select {
		case decision := <-decided:
			assert.True(t, decision.Allowed)
		case <-time.After(time.Minute):
			require.Fail(t, "the request waits for a bucket that it holds itself")
		}
		assert.Equal(t, 2, l.Len())
	})
}

// Concurrent requests of two subjects, sweeps, evictions and counting.
func TestNobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	l := New()
	limits := Limits{Requests: {Rate: 1e9, Burst: 1e9}}
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range 20_000 {
				id := fmt.Sprint(worker, i%50)
				l.Admit(Cost{Requests: 1}, Claim{Subject{Key, id}, limits}, Claim{Subject{Project, fmt.Sprint(i % 7)}, limits})
			}
		})
	}
	running.Go(func() {
		for range 2_000 {
			l.mu.Lock()
			l.swept = -idleAfter // as if it were long ago
			l.sweep(l.now() + 2*idleAfter)
			l.evictOne()
			l.mu.Unlock()
			l.entries(l.now(), true)
		}
	})
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.Fail(t, "they wait for each other")
	}
}

// A single process that is restarted finds what it had admitted in the log.
func TestRestartRemembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog(time.Millisecond, 10*time.Millisecond)
		first := startReplica(t.Context(), log, "only")
		require.Equal(t, int(testBurst/testCost), admitted(first.limiter, Cost{Requests: testCost}, testClaim))
		time.Sleep(time.Second)
		first.crash()

		second := startReplica(t.Context(), log, "only")
		defer second.crash()
		n, fresh := second.limiter.Replicas()
		assert.Equal(t, 1, n)
		assert.True(t, fresh)
		assert.LessOrEqual(t, admitted(second.limiter, Cost{Requests: testCost}, testClaim), int(1.5*testRate/testCost))
		time.Sleep(time.Second)
		assert.InDelta(t, testRate/testCost, admitted(second.limiter, Cost{Requests: testCost}, testClaim), 1)
	})
}

// A starting replica with a new name takes over the known state, and is counted.
func TestStarterTakesOverTheView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog(time.Millisecond, 10*time.Millisecond)
		first := startReplica(t.Context(), log, "a")
		defer first.crash()
		time.Sleep(time.Minute)
		first.limiter.Charge(Cost{Requests: 3 * testBurst}, testClaim)
		time.Sleep(7 * time.Second)

		second := startReplica(t.Context(), log, "b")
		defer second.crash()
		refused := second.limiter.Admit(Cost{Requests: testCost}, testClaim)
		assert.False(t, refused.Allowed)
		// The debt was 13,000 after 7 s.
		assert.InDelta(t, 13, refused.RetryAfter.Seconds(), 5.5)
		time.Sleep(time.Second)
		n, fresh := first.limiter.Replicas()
		assert.Equal(t, 2, n)
		assert.True(t, fresh)
	})
}

// Counters that restart at 0, after both sides or only the owner have forgotten the bucket, are valid.
func TestForgottenBuckets(t *testing.T) {
	t.Parallel()
	for _, rest := range []time.Duration{30 * time.Second, 65 * time.Second, 5 * time.Minute} {
		t.Run(rest.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newMemoryLog(time.Millisecond, 10*time.Millisecond)
				a := startReplica(t.Context(), log, "a")
				defer a.crash()
				b := startReplica(t.Context(), log, "b")
				defer b.crash()
				time.Sleep(quiet)
				for range 3 {
					a.limiter.Charge(Cost{Requests: testBurst + testRate}, testClaim)
					time.Sleep(time.Second)
					assert.False(t, b.limiter.Admit(Cost{Requests: 1}, testClaim).Allowed)
					time.Sleep(rest)
				}
				if rest > idleAfter+20*time.Second {
					assert.Zero(t, a.limiter.Len())
				}
				assert.True(t, b.limiter.Admit(Cost{Requests: 1}, testClaim).Allowed)
			})
		})
	}
}

// Without the log nobody reports a bucket, so one replica may forget it and another may not. When the log is back,
// the total of the other's counter is not new usage.
func TestOldCountersAfterTheLogWasAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// known is whether a had the bucket before the log failed.
		known bool
	}{{"forgotten meanwhile", true}, {"never seen", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newMemoryLog(time.Millisecond, 10*time.Millisecond)
				a := startReplica(t.Context(), log, "a")
				defer a.crash()
				b := startReplica(t.Context(), log, "b")
				defer b.crash()
				time.Sleep(quiet)
				spend := func(bursts int) {
					for range bursts { // at half the rate
						b.limiter.Charge(Cost{Requests: testBurst / 2}, testClaim)
						time.Sleep(time.Duration(testBurst / testRate * float64(time.Second)))
					}
				}
				if c.known {
					spend(50)
				}
				for _, r := range []*replica{a, b} {
					r.log.setCut(true)
				}
				spend(12) // two minutes
				if c.known {
					a.limiter.publish(a.log, a.limiter.now(), false)
					require.Zero(t, a.limiter.Len(), "forgotten")
				}
				for _, r := range []*replica{a, b} {
					r.log.setCut(false)
				}
				b.limiter.Charge(Cost{Requests: 1}, testClaim)
				time.Sleep(2 * snapshotEvery)
				assert.True(t, a.limiter.Admit(Cost{Requests: 1}, testClaim).Allowed)
				b.limiter.Charge(Cost{Requests: 2 * testBurst}, testClaim)
				time.Sleep(time.Second)
				assert.False(t, a.limiter.Admit(Cost{Requests: 1}, testClaim).Allowed, "what is new counts")
			})
		})
	}
}

// Without the log every replica has its share, whatever it knew before, and no debt is left when the log is back.
func TestLogAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		log := newMemoryLog(10*time.Millisecond, 100*time.Millisecond)
		s := simulate(t.Context(), log, n)
		defer func() {
			for _, r := range s.replicas {
				r.crash()
			}
		}()
		demand := patterns["steady"](n)
		s.run(30*time.Second, demand, nil)
		for _, r := range s.replicas {
			r.log.setCut(true)
		}
		s.run(2*time.Second, demand, nil)
		before := s.admitted()
		const away = 5 * time.Minute
		s.run(away, demand, nil)
		assert.InEpsilon(t, testRate*away.Seconds(), s.admitted()-before, 0.03)
		replicas, fresh := s.replicas[0].limiter.Replicas()
		assert.Equal(t, n, replicas, "who is cut off cannot tell who is gone")
		assert.False(t, fresh)

		for _, r := range s.replicas {
			r.log.setCut(false)
		}
		s.run(2*time.Second, demand, nil)
		before = s.admitted()
		s.run(10*time.Second, demand, nil)
		assert.InEpsilon(t, testRate*10, s.admitted()-before, 0.1)
		assert.LessOrEqual(t, s.excess(), bound(n))
	})
}

// A single replica that is cut off continues at its share. The others consider it gone.
func TestOneReplicaCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		log := newMemoryLog(10*time.Millisecond, 100*time.Millisecond)
		s := simulate(t.Context(), log, n)
		defer func() {
			for _, r := range s.replicas {
				r.crash()
			}
		}()
		demand := patterns["steady"](n)
		s.run(30*time.Second, demand, nil)
		s.replicas[0].log.setCut(true)
		const cut = 30 * time.Second
		s.run(cut, demand, nil)
		s.replicas[0].log.setCut(false)
		s.run(30*time.Second, demand, nil)
		limit := bound(n) + testRate/n*cut.Seconds()
		t.Logf("worst window %.0f of %.0f", s.excess(), limit)
		assert.LessOrEqual(t, s.excess(), limit)
	})
}

// A replica that says goodbye no longer counts.
func TestGoodbye(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog(time.Millisecond, 10*time.Millisecond)
		stays := startReplica(t.Context(), log, "a")
		defer stays.crash()
		leaves := New()
		ctx, cancel := context.WithCancel(t.Context())
		caughtUp := leaves.Join("b")
		done := make(chan struct{})
		go func() {
			leaves.Share(ctx, log.replica())
			close(done)
		}()
		<-caughtUp
		time.Sleep(time.Second)
		n, _ := stays.limiter.Replicas()
		assert.Equal(t, 2, n)
		leaves.Charge(Cost{Requests: 5000}, testClaim)
		cancel()
		<-done
		time.Sleep(100 * time.Millisecond)
		n, fresh := stays.limiter.Replicas()
		assert.Equal(t, 1, n)
		assert.True(t, fresh)
		assert.InDelta(t, 5000, stays.limiter.Admit(Cost{}, testClaim).Remaining, 200, "the last admissions were reported")
	})
}

func BenchmarkAdmit(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("shared=%t", shared), func(b *testing.B) {
			l := New()
			if shared {
				l.Join("replica")
			}
			all := Limits{{Rate: 1e9, Burst: 1e9}, {Rate: 1e12, Burst: 1e12}, {Rate: 1e9, Burst: 1e9}}
			key := Claim{Subject: Subject{Kind: Key, ID: "01890000-0000-7000-8000-000000000002"}, Limits: all}
			project := Claim{Subject: testSubject, Limits: all}
			b.ReportAllocs()
			for b.Loop() {
				if !l.Admit(Cost{Requests: 1, Bytes: 10_000}, key, project).Allowed {
					b.Fatal("refused")
				}
			}
		})
	}
}
