// Package faults injects faults of machines, stores and clients into the running product: processes are killed, disks
// fill up, stores become unavailable, clients send too much, too slowly or invalid data. Meanwhile clients keep
// sending, and every acknowledged run must be there afterwards, complete and once. See docs/reliability.md.
package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/faults/report"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	// patience is how long the test waits for a part, to distinguish a slow one from one that never recovers. Times are
	// reported. Only a wait beyond patience fails.
	patience = 3 * time.Minute
	// visibleWithin is the time after a recovery by which everything must be readable, or counts as lost.
	visibleWithin = time.Minute
	// drainedWithin is the same after an outage that filled the queue.
	drainedWithin = 10 * time.Minute
)

// scaled returns small in CI and full with FAULTS=full.
func scaled[T any](short, full T) T {
	if os.Getenv("FAULTS") == "full" {
		return full
	}
	return short
}

// site is the product under load.
type site struct {
	product *product.Product
	account *product.Account
	client  *load.Client
	reader  product.Reader // through web
	api     product.Reader // directly
}

// newSite starts the product. prepare runs before the start, for example to mount a disk.
func newSite(t *testing.T, prepare ...func(*testing.T, *product.Product)) *site {
	t.Helper()
	p, err := product.New(t.TempDir())
	require.NoError(t, err)
	for _, step := range prepare {
		step(t, p)
	}
	t.Cleanup(func() {
		if err := p.Down(); err != nil {
			t.Errorf("stop the product: %v", err)
		}
		if t.Failed() {
			t.Log(p.Logs())
		}
	})
	require.NoError(t, p.Up(t.Context()))
	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "faults", "ingest:write", "runs:read")
	require.NoError(t, err)
	s := &site{
		product: p, account: account,
		client: &load.Client{
			Ports: []product.Ports{p.Ports}, Key: key, SpansPerSecond: scaled(500, 5000), Shape: load.Shape{Spans: 25, Parts: 2},
			Ledger: &load.Ledger{},
		},
		reader: product.Reader{Base: p.Ports.URL(product.Web), Key: key},
		api:    product.Reader{Base: p.Ports.URL(product.API), Key: key},
	}
	t.Cleanup(func() { require.NoError(t, s.client.Close()) })
	for _, endpoint := range load.Endpoints() { // each endpoint has verified the key once
		require.NoError(t, s.client.One(t.Context(), endpoint))
	}
	return s
}

// send sends until the returned function is called, which waits for the requests in progress.
func (s *site) send(t *testing.T) (stop func()) {
	t.Helper()
	sending, cancel := context.WithCancel(t.Context())
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.client.Send(sending)
	}()
	stop = func() {
		cancel()
		<-sent
	}
	t.Cleanup(stop)
	return stop
}

// newRow begins a row: runs acknowledged from here on and memory count towards it.
func (s *site) newRow(t *testing.T, name, injected string) *row {
	t.Helper()
	r := &row{
		Row: report.Row{Name: name, Injected: injected}, site: s,
		from: len(s.client.Ledger.Runs(0)), stopWatch: s.product.WatchMemory(),
	}
	t.Cleanup(r.endWatch)
	return r
}

// row is a row in progress.
type row struct {
	report.Row

	site      *site
	from      int
	stopWatch func() product.Memory
	most      map[string]int64 // peak bytes of each service, once the watch has ended
}

func (r *row) endWatch() {
	if r.stopWatch != nil {
		memory := r.stopWatch()
		r.PeakRSS, r.most, r.stopWatch = memory.Sum, memory.Most, nil
	}
}

// verify reads back everything acknowledged for the row, and prints it. within is how long that may take.
func (r *row) verify(t *testing.T, within time.Duration) {
	t.Helper()
	r.endWatch()
	runs := r.site.client.Ledger.Runs(r.from)
	r.Acknowledge(runs)
	err := r.Differ(load.Verify(t.Context(), r.site.reader, r.site.account.ProjectID, runs, within))
	r.Print(t)
	require.NotEmpty(t, runs, "nothing was acknowledged")
	require.NoError(t, err)
	require.Empty(t, r.site.client.Ledger.Refusals(), "a valid request was refused for good")
}

// strike sends SIGKILL and returns the process id.
func (s *site) strike(t *testing.T, name string) int {
	t.Helper()
	pid, err := s.product.PID(name)
	require.NoError(t, err)
	require.NotZero(t, pid, "%s does not run", name)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	return pid
}

// awaitOther waits until a killed process is replaced.
func (s *site) awaitOther(t *testing.T, name string, old int) {
	t.Helper()
	wait(t, func(context.Context) error {
		if pid, err := s.product.PID(name); err != nil || pid == 0 || pid == old {
			return errors.Join(err, fmt.Errorf("%s is not started yet", name))
		}
		return nil
	})
}

// halt keeps the launcher from restarting processes until the returned function is called.
func (s *site) halt(t *testing.T) (resume func()) {
	t.Helper()
	launcher := s.product.Launched()
	require.NoError(t, syscall.Kill(launcher, syscall.SIGSTOP))
	resume = func() { _ = syscall.Kill(launcher, syscall.SIGCONT) } // it exists: it is halted
	t.Cleanup(resume)
	return resume
}

// wait waits for a condition with patience.
func wait(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	waitFor(t, patience, condition)
}

func waitFor(t *testing.T, within time.Duration, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}

// awaitRuns waits until so many more runs are acknowledged.
func (s *site) awaitRuns(t *testing.T, more int) {
	t.Helper()
	from := len(s.client.Ledger.Runs(0))
	wait(t, func(context.Context) error {
		if missing := more - len(s.client.Ledger.Runs(from)); missing > 0 {
			return fmt.Errorf("%d more runs are to be acknowledged", missing)
		}
		return nil
	})
}

// awaitAccepting waits until all parts are ready and each endpoint accepts.
func (s *site) awaitAccepting(t *testing.T) {
	t.Helper()
	wait(t, func(ctx context.Context) error {
		if err := s.product.Ready(ctx); err != nil {
			return err
		}
		for _, endpoint := range load.Endpoints() {
			if err := s.client.One(ctx, endpoint); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitVisible waits until the last acknowledged run is readable.
func (s *site) awaitVisible(t *testing.T, within time.Duration) {
	t.Helper()
	runs := s.client.Ledger.Runs(0)
	newest := runs[len(runs)-1]
	waitFor(t, within, func(ctx context.Context) error {
		run, _, err := s.reader.Run(ctx, newest.ID.String())
		if err == nil && !newest.Shown(run) {
			err = fmt.Errorf("run %s is not visible", newest.ID)
		}
		return err
	})
}

// answers returns the times of the attempts that began within a period, and how many of those failed.
func (s *site) answers(from, to time.Time) (times []time.Duration, failed int) {
	for _, attempt := range s.client.Ledger.Attempts(from, to) {
		times = append(times, attempt.End.Sub(attempt.Begin))
		if attempt.Err != nil {
			failed++
		}
	}
	return times, failed
}

// ratio returns a time as a ratio to the same one before.
func ratio(during, before time.Duration) float64 {
	return during.Seconds() / max(before, time.Microsecond).Seconds()
}

func (s *site) lists(ctx context.Context, reader product.Reader) error {
	return answersOK(reader.Get(ctx, "/v1/runs?limit=1&project_id="+s.account.ProjectID, &struct{}{}))
}

func answersOK(status int, err error) error {
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the API answers %d", status)
	}
	return err
}

// pids returns the processes of the services, by name.
func (s *site) pids(t *testing.T) map[string]int {
	t.Helper()
	processes, err := s.product.Processes()
	require.NoError(t, err)
	pids := map[string]int{}
	for _, process := range processes {
		if slices.Contains(services, process.Name) {
			pids[process.Name] = process.PID
		}
	}
	return pids
}

var services = []string{
	product.LauncherProcess, product.PostgresProcess, product.ClickHouseProcess, product.BrokerProcess,
	product.CollectorProcess, product.ControlPlaneProcess, product.WebProcess,
}
