package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

// queuedBatches is how many requests wait in the queue while its processes are killed. A queue that loses some of
// them at such a start exists: the Collector's own one lost 44 of 400.
const queuedBatches = 400

// youngest is how soon after its start a process is killed.
const youngest = 500 * time.Millisecond

// TestKillYoung kills the collector and the broker within half a second of their start, while the queue is full and
// the store hangs.
func TestKillYoung(t *testing.T) {
	s := newSite(t)
	kills := scaled(6, 100)
	r := s.newRow(t, "kill -9 collector and broker 0 to 500 ms after each start",
		fmt.Sprintf("%d kills, %d batches queued", 2*kills, queuedBatches))

	store := s.pids(t)[product.ClickHouseProcess]
	require.NoError(t, syscall.Kill(store, syscall.SIGSTOP))
	resume := func() { _ = syscall.Kill(store, syscall.SIGCONT) } // it exists: it is halted
	t.Cleanup(resume)
	for n := range queuedBatches / s.client.Shape.Parts {
		require.NoError(t, s.client.One(t.Context(), load.Endpoints()[n%len(load.Endpoints())]))
	}
	stop := s.send(t)

	killed := make(chan error)
	for _, name := range []string{product.CollectorProcess, product.BrokerProcess} {
		old := s.strike(t, name)
		go func() { killed <- s.killYoung(t.Context(), name, old, kills) }()
	}
	require.NoError(t, errors.Join(<-killed, <-killed))
	stop()
	begin := time.Now()
	resume()
	s.awaitBack(t, r, begin)
	r.verify(t, visibleWithin)
}

// killYoung kills a killed process's replacement within half a second of its start, so many times.
func (s *site) killYoung(ctx context.Context, name string, old, kills int) error {
	for range kills {
		waiting, cancel := context.WithTimeout(ctx, patience)
		err := product.Wait(waiting, func(context.Context) error {
			pid, err := s.product.PID(name)
			if err != nil || pid == 0 || pid == old {
				return errors.Join(err, fmt.Errorf("%s is not started", name))
			}
			old = pid
			return nil
		})
		cancel()
		if err != nil {
			return err
		}
		<-time.After(rand.N(youngest))
		if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill %s: %w", name, err)
		}
	}
	return nil
}
