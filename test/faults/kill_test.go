package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	// outageTime is how long a part is kept stopped.
	outageTime = 2 * time.Second
	// maxWait is the maximum number of runs that are acknowledged between a recovery and the next kill.
	maxWait = 60
)

// everything is the name of all parts together.
const everything = "everything at once"

// part is a process to kill, and what works without it.
type part struct {
	name string
	// ingest is true if every endpoint continues to accept.
	ingest bool
	// goesOn are further checks.
	goesOn []func(context.Context, *site) error
}

var parts = []part{
	{name: product.WebProcess, ingest: true, goesOn: []func(context.Context, *site) error{apiReads}},
	{name: product.ControlPlaneProcess, ingest: true, goesOn: []func(context.Context, *site) error{webServesUI}},
	{name: product.ClickHouseProcess, ingest: true, goesOn: []func(context.Context, *site) error{webServesUI, identityAnswers}},
	{name: product.PostgresProcess, ingest: true, goesOn: []func(context.Context, *site) error{webServesUI}},
	{name: product.CollectorProcess, goesOn: []func(context.Context, *site) error{webServesUI, identityAnswers, apiReads, webReads}},
	{name: product.BrokerProcess, goesOn: []func(context.Context, *site) error{webServesUI, identityAnswers, apiReads, webReads, ingestAsksToRetry}},
}

func apiReads(ctx context.Context, s *site) error { return s.lists(ctx, s.api) }

func webReads(ctx context.Context, s *site) error { return s.lists(ctx, s.reader) }

func identityAnswers(ctx context.Context, s *site) error {
	return answersOK(s.api.Get(ctx, "/v1/me", &struct{}{}))
}

func webServesUI(ctx context.Context, s *site) error {
	answer, err := product.Do(ctx, http.MethodGet, s.product.Ports.URL(product.Web)+"/", nil, nil)
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("web answers %d", answer.Status)
	}
	return err
}

// ingestAsksToRetry checks that runs which cannot be queued are not acknowledged, and that the answer has
// Retry-After.
func ingestAsksToRetry(ctx context.Context, s *site) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, port := range []int{product.Ingest, product.OTLPHTTP} {
		group.Go(func() error {
			answer, err := product.Post(ctx, s.product.Ports.URL(port)+"/v1/traces", s.client.Key, product.JSON,
				[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"n","startTimeUnixNano":"1"}]}]}]}`))
			if err == nil && (answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "") {
				err = fmt.Errorf("port %d answers %d, Retry-After %q", port, answer.Status, answer.Header.Get("Retry-After"))
			}
			return err
		})
	}
	return group.Wait()
}

// TestKill kills each process repeatedly at random moments under load, and all together. Before that it keeps each
// stopped for a while, and checks what works without it.
func TestKill(t *testing.T) {
	s := newSite(t)
	s.send(t)
	t.Run("away", func(t *testing.T) {
		r := s.newRow(t, "each part away for a while", fmt.Sprintf("%s each", outageTime))
		for _, part := range parts {
			t.Run(part.name, func(t *testing.T) { s.withhold(t, r, part) })
		}
		r.verify(t, visibleWithin)
	})
	launcher := part{name: product.LauncherProcess}
	for _, part := range append(slices.Clone(parts), launcher, part{name: everything}) {
		t.Run("kill "+part.name, func(t *testing.T) {
			kills := scaled(1, 20)
			r := s.newRow(t, "kill -9 "+part.name, fmt.Sprintf("%d kills at %d spans/s", kills, s.client.SpansPerSecond))
			for range kills {
				s.kill(t, r, part)
			}
			r.verify(t, visibleWithin)
		})
	}
}

// withhold kills a part while the launcher is halted, so that it is not restarted for a while, and checks what works
// meanwhile.
func (s *site) withhold(t *testing.T, r *row, part part) {
	t.Helper()
	resume := s.halt(t)
	s.strike(t, part.name)
	// Not faster: the logs of the parts wait in their pipes while the launcher does not read.
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	begin := time.Now()
	for asked := 0; time.Since(begin) < outageTime; asked++ {
		<-pace.C
		if part.ingest {
			endpoint := load.Endpoints()[asked%len(load.Endpoints())]
			require.NoError(t, s.client.One(t.Context(), endpoint), "ingest without %s", part.name)
		}
		for _, goesOn := range part.goesOn {
			require.NoError(t, goesOn(t.Context(), s), "without %s", part.name)
		}
	}
	back := time.Now()
	resume()
	s.awaitBack(t, r, back)
}

// kill kills a part at a random moment and waits until all is back.
func (s *site) kill(t *testing.T, r *row, part part) {
	t.Helper()
	s.awaitRuns(t, rand.IntN(maxWait))
	old := s.pids(t)
	begin := time.Now()
	switch part.name {
	case product.LauncherProcess:
		s.product.Kill() // returns when it is gone
		begin = time.Now()
		require.NoError(t, s.product.Launch())
	case everything:
		for _, pid := range old {
			_ = syscall.Kill(pid, syscall.SIGKILL) // its parent's death may have ended it
		}
		s.product.Kill()
		begin = time.Now()
		require.NoError(t, s.product.Launch())
	default:
		s.strike(t, part.name)
		s.awaitOther(t, part.name, old[part.name])
	}
	s.awaitBack(t, r, begin)
	if part.name != product.LauncherProcess && part.name != everything {
		for name, pid := range s.pids(t) {
			if name != part.name && pid != old[name] {
				r.Note("%s ended as well", name)
			}
		}
	}
	if part.ingest {
		for _, attempt := range s.client.Ledger.Attempts(begin, time.Now()) {
			require.NoError(t, attempt.Err, "ingest while %s was away", part.name)
		}
	}
}

// awaitBack waits until the product has recovered: all parts are ready, each endpoint accepts, and newly accepted
// runs are readable.
func (s *site) awaitBack(t *testing.T, r *row, begin time.Time) {
	t.Helper()
	s.awaitAccepting(t)
	r.Accepts = append(r.Accepts, time.Since(begin))
	s.awaitVisible(t, patience)
	r.Visible = append(r.Visible, time.Since(begin))
}
