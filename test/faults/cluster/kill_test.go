package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/kafka"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

// testKill kills each part repeatedly under load, and restarts it at once; a broker only when the other two have
// taken over.
func (s *site) testKill(t *testing.T) {
	for _, victim := range []struct {
		name string
		kill func(*testing.T)
	}{
		{"ingest", func(t *testing.T) {
			p := s.ingests[rand.IntN(len(s.ingests))]
			p.kill(t)
			p.start(t)
		}},
		{"store worker with an instance id", func(t *testing.T) { s.workers[0].kill(t); s.workers[0].start(t) }},
		{"store worker without", func(t *testing.T) { s.workers[1].kill(t); s.workers[1].start(t) }},
		{"broker of three", func(t *testing.T) { s.brokers[rand.IntN(len(s.brokers))].Kill(t) }},
		{"ClickHouse", func(t *testing.T) { s.killClickHouse(); s.startClickHouse(t) }},
		{"all of these at once", func(t *testing.T) {
			for _, b := range s.brokers {
				b.Kill(t)
			}
			s.killClickHouse()
			for _, p := range s.ingests {
				p.kill(t)
			}
			for _, w := range s.workers {
				w.kill(t)
			}
			s.startAll(t)
		}},
	} {
		t.Run(victim.name, func(t *testing.T) {
			kills := scaled(1, 20)
			r := s.newRow(t, "cluster: kill -9 "+victim.name, fmt.Sprintf("%d kills at %d spans/s", kills, scaled(500, 5000)))
			for range kills {
				pause(t, rand.N(2*time.Second))
				begin := time.Now()
				victim.kill(t)
				r.awaitBack(t, begin)
				kafka.Resume(t, s.brokers...)
			}
			r.verify(t)
		})
	}
}

// testRebalance lets a third worker join and leave every five seconds, in order or by a kill.
func (s *site) testRebalance(t *testing.T) {
	const every = 5 * time.Second
	changes := scaled(4, 60)
	r := s.newRow(t, "cluster: rebalance", fmt.Sprintf("%d, every %s", changes, every))
	for n := range changes {
		switch n % 4 {
		case 0, 2:
			s.spare.start(t)
		case 1:
			s.spare.stop(t)
		case 3:
			s.spare.kill(t)
		}
		pause(t, every)
	}
	r.awaitBack(t, time.Now())
	r.verify(t)
}

// testZombie halts a worker during an insert until the group has reassigned its partitions, and continues it: then
// two workers store the same records, and one of them may commit.
func (s *site) testZombie(t *testing.T) {
	rounds := scaled(1, 10)
	r := s.newRow(t, "cluster: zombie worker", fmt.Sprintf("%d, halted in an insert until its session has ended", rounds))
	zombie := s.workers[1]
	for range rounds {
		wait(t, func(ctx context.Context) error { return s.hasMembers(ctx, len(s.workers)) })
		inserting := make(chan *link, 1)
		zombie.proxy.set(fault{delay: time.Second, sent: func(l *link) {
			select {
			case inserting <- l:
			default:
			}
		}})
		<-inserting
		zombie.signal(t, syscall.SIGSTOP)
		wait(t, func(ctx context.Context) error { return s.hasMembers(ctx, len(s.workers)-1) })
		s.awaitStored(t) // by the other worker, including the records of the halted one
		zombie.proxy.set(fault{})
		begin := time.Now()
		zombie.signal(t, syscall.SIGCONT)
		r.awaitBack(t, begin)
	}
	r.verify(t)
}

// hasMembers returns an error unless the group has this number of members.
func (s *site) hasMembers(ctx context.Context, want int) error {
	groups, err := s.admin.DescribeGroups(ctx, group)
	if err != nil {
		return err
	}
	if err := groups.Error(); err != nil {
		return err
	}
	if members := len(groups[group].Members); members != want || groups[group].State != "Stable" {
		return fmt.Errorf("the group is %s and has %d members, not %d", groups[group].State, members, want)
	}
	return nil
}

// testRollingRestart restarts every process of ingest and store in order. The client retries the other ingest if a
// connection is refused, like a load balancer.
func (s *site) testRollingRestart(t *testing.T) {
	rounds := scaled(1, 20)
	r := s.newRow(t, "cluster: rolling restart", fmt.Sprintf("2 ingest and 2 workers, %d times", rounds))
	begin := time.Now()
	var slowest time.Duration
	for range rounds {
		for _, p := range append(s.ingests[:2:2], s.workers[0].process, s.workers[1].process) {
			slowest = max(slowest, p.stop(t))
			p.start(t)
			r.awaitBack(t, time.Now())
		}
	}
	r.Note("slowest stop %.1f s", slowest.Seconds())
	first, accepted := 0, 0
	var failure error
	for _, a := range r.client.Ledger.Attempts(begin, time.Now()) {
		if a.Again {
			continue
		}
		first++
		if a.Err == nil {
			accepted++
		} else {
			failure = a.Err
		}
	}
	r.Note("%d of %d requests accepted at the first try", accepted, first)
	r.verify(t)
	// One in a thousand, and at least one for each stopped process: an idle connection may be closed in the moment of
	// its reuse.
	most := max(first/1000, len(s.ingests)*rounds)
	require.LessOrEqual(t, first-accepted, most, "refused at the first try; the last one: %v", failure)
}

// testStopWithoutQueue stops an ingest that waits for an unavailable queue, and a worker that cannot leave the group.
func (s *site) testStopWithoutQueue(t *testing.T) {
	r := s.newRow(t, "cluster: stop in order, queue away", "an ingest and a worker")
	pause(t, time.Second)
	for _, b := range s.brokers {
		b.Kill(t)
	}
	pause(t, time.Second)
	r.Note("ingest ends after %.1f s", s.ingests[0].stop(t).Seconds())
	r.Note("worker ends after %.1f s", s.workers[0].stop(t).Seconds())
	begin := time.Now()
	s.startAll(t)
	r.awaitBack(t, begin)
	r.verify(t)
}

// testWithoutPostgres stops the keys' database: keys in use continue to work, also beyond their time in the cache.
// Requests with other keys get 503.
func (s *site) testWithoutPostgres(t *testing.T) {
	outage := scaled(5*time.Second, 2*time.Minute)
	r := s.newRow(t, "cluster: PostgreSQL away", outage.String())
	unknown, err := r.account.Key(t.Context(), "unknown", "ingest:write")
	require.NoError(t, err)
	s.postgres.Stop(t)
	begin := time.Now()
	body := []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"n","startTimeUnixNano":"1"}]}]}]}`)
	for time.Since(begin) < outage {
		for _, p := range s.ingests {
			for _, port := range []int{product.Ingest, product.OTLPHTTP} {
				answer, err := product.Post(t.Context(), p.ports.URL(port)+"/v1/traces", unknown, product.JSON, body)
				require.NoError(t, err)
				require.Equal(t, http.StatusServiceUnavailable, answer.Status, "%s", answer.Body)
				require.NotEmpty(t, answer.Header.Get("Retry-After"))
			}
		}
		pause(t, time.Second)
	}
	for _, a := range r.client.Ledger.Attempts(begin, time.Now()) {
		require.NoError(t, a.Err, "with a key in use")
	}
	s.postgres.Start(t)
	r.awaitBack(t, time.Now())
	r.verify(t)
}

// testTwice sends every request twice, reads the last hour of the queue again, and expects each run once.
func (s *site) testTwice(t *testing.T) {
	r := s.newRow(t, "cluster: every request twice, offsets rewound by an hour", "", func(c *load.Client) { c.Twice = true })
	pause(t, scaled(4*time.Second, time.Minute))
	r.stopSending()
	s.awaitStored(t)
	for _, w := range s.workers {
		w.stop(t)
	}
	offsets, err := s.admin.ListOffsetsAfterMilli(t.Context(), time.Now().Add(-time.Hour).UnixMilli(), topic)
	require.NoError(t, err)
	require.NoError(t, offsets.Error())
	ends, err := s.admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	again := int64(0)
	for partition, end := range ends[topic] {
		again += end.Offset - offsets[topic][partition].Offset
	}
	require.Positive(t, again)
	wait(t, func(ctx context.Context) error { return s.admin.CommitAllOffsets(ctx, group, offsets.Offsets()) })
	r.Injected = fmt.Sprintf("%d records read again", again)
	begin := time.Now()
	for _, w := range s.workers {
		w.start(t)
	}
	r.awaitBack(t, begin)
	r.verify(t)
}
