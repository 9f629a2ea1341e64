package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/faults/report"
	"github.com/looptrace/looptrace/test/product"
)

// TestStoreDown stops ClickHouse for a while under load: everything is accepted without a delay, and all of it is
// stored afterwards.
func TestStoreDown(t *testing.T) {
	s := newSite(t)
	outage := scaled(10*time.Second, 10*time.Minute)
	stop := s.send(t)

	calm := s.newRow(t, "before", "")
	begin := time.Now()
	pause(t.Context(), scaled(5*time.Second, time.Minute))
	calm.endWatch()
	before, failed := s.answers(begin, time.Now())
	require.Zero(t, failed)

	r := s.newRow(t, "store down", fmt.Sprintf("%s at %d spans/s", outage, s.client.SpansPerSecond))
	restore := s.removeStore(t)
	begin = time.Now()
	endWatch := s.product.WatchMemory()
	pause(t.Context(), outage)
	down := endWatch()
	during, failed := s.answers(begin, time.Now())
	require.Zero(t, failed, "while the store was down")
	back := time.Now()
	restore()
	wait(t, s.product.Ready)
	stop()
	s.awaitVisible(t, drainedWithin)
	drained := time.Since(back)
	r.endWatch()
	r.Note("%d of %d requests accepted at once", len(during)-failed, len(during))
	r.Note("answer p50 %.1f ms, p99 %.1f ms; p99 %.2f times that before", milliseconds(during, 0.5), milliseconds(during, 0.99),
		ratio(report.Quantile(during, 0.99), report.Quantile(before, 0.99)))
	r.Note("drained after %.1f s", drained.Seconds())
	r.Note("RSS of all but ClickHouse %.2f times that before while it was away, of all %.2f while the queue was emptied",
		float64(withoutStore(down.Most))/float64(withoutStore(calm.most)), float64(r.PeakRSS)/float64(calm.PeakRSS))
	for _, service := range slices.Sorted(maps.Keys(r.most)) {
		r.Note("%s %d MB, before %d", service, r.most[service]/1e6, calm.most[service]/1e6)
	}
	r.verify(t, drainedWithin)
}

// withoutStore returns the sum of the peak memory of all services but ClickHouse.
func withoutStore(most map[string]int64) (bytes int64) {
	for service, held := range most {
		if service != product.ClickHouseProcess {
			bytes += held
		}
	}
	return bytes
}

func milliseconds(times []time.Duration, part float64) float64 {
	return report.Quantile(times, part).Seconds() * 1e3
}

// removeStore stops ClickHouse so that it cannot be restarted until the returned function is called.
func (s *site) removeStore(t *testing.T) (restore func()) {
	t.Helper()
	folder := filepath.Join(s.product.Data, "clickhouse")
	away := folder + ".away"
	require.NoError(t, syscall.Kill(s.pids(t)[product.ClickHouseProcess], syscall.SIGSTOP)) // or it recreates the folder
	require.NoError(t, os.Rename(folder, away))
	require.NoError(t, os.WriteFile(folder, nil, 0o600)) // not a folder: the start fails
	s.strike(t, product.ClickHouseProcess)
	return func() {
		require.NoError(t, os.Remove(folder))
		require.NoError(t, os.Rename(away, folder))
	}
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// disk is a small disk mounted at a folder of the product, and the file that fills it.
type disk struct{ folder, ballast string }

// newDisk mounts a disk of so many bytes at a folder of the data.
func newDisk(t *testing.T, p *product.Product, name string, size int64) disk {
	t.Helper()
	d := disk{folder: filepath.Join(p.Data, name)}
	d.ballast = filepath.Join(d.folder, "ballast")
	require.NoError(t, os.MkdirAll(d.folder, 0o700))
	if err := syscall.Mount("looptrace-faults", d.folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		row := report.Row{Name: t.Name(), Injected: "NOT RUN: a small disk cannot be mounted (run it as root): " + err.Error()}
		row.Print(t)
		t.Skip(row.Injected)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.folder, 0); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return d
}

// fill leaves so many bytes free, while others write to the disk as well.
func (d disk) fill(t *testing.T, leave int64) {
	t.Helper()
	file, err := os.Create(d.ballast)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	for size := int64(0); ; {
		var stat syscall.Statfs_t
		require.NoError(t, syscall.Statfs(d.folder, &stat))
		more := int64(stat.Bavail)*stat.Bsize - leave
		if more <= 0 {
			return
		}
		if err := syscall.Fallocate(int(file.Fd()), 0, size, more); !errors.Is(err, syscall.ENOSPC) {
			require.NoError(t, err)
			size += more
		}
	}
}

func (d disk) release(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Remove(d.ballast))
}

// TestQueueDiskFull fills the queue's disk: first up to the broker's reserve, then at once and completely, so that a
// write in progress fails.
func TestQueueDiskFull(t *testing.T) {
	var d disk
	s := newSite(t, func(t *testing.T, p *product.Product) { d = newDisk(t, p, "queue", 600<<20) })
	stop := s.send(t)
	for _, c := range []struct {
		name  string
		leave int64
		// crash is true if the broker may end and be restarted.
		crash bool
	}{
		{name: "queue disk nearly full", leave: 200 << 20},
		{name: "queue disk full at once, to the last byte", crash: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.newRow(t, c.name, outageTime.String())
			pids := s.pids(t)
			d.fill(t, c.leave)
			waitFor(t, patience, func(ctx context.Context) error { return ingestAsksToRetry(ctx, s) })
			refusedFrom := time.Now()
			for begin := time.Now(); time.Since(begin) < outageTime; {
				require.NoError(t, apiReads(t.Context(), s))
				require.NoError(t, webReads(t.Context(), s))
				pause(t.Context(), 100*time.Millisecond)
			}
			for _, attempt := range s.client.Ledger.Attempts(refusedFrom, time.Now()) {
				require.Error(t, attempt.Err, "a request was acknowledged without room for it")
			}
			back := time.Now()
			d.release(t)
			s.awaitBack(t, r, back)
			if !c.crash {
				require.Equal(t, pids, s.pids(t), "a process ended")
			}
			r.verify(t, visibleWithin)
		})
	}
	stop()
}

// TestStoreDiskFull fills ClickHouse's disk beyond its reserve: everything is accepted, and stored when there is
// space again.
func TestStoreDiskFull(t *testing.T) {
	var d disk
	s := newSite(t, func(t *testing.T, p *product.Product) { d = newDisk(t, p, "clickhouse", 1<<30) })
	stop := s.send(t)
	r := s.newRow(t, "store disk full", fmt.Sprintf("%s at %d spans/s", scaled(5*time.Second, time.Minute), s.client.SpansPerSecond))
	pids := s.pids(t)
	read := func() int {
		runs := s.client.Ledger.Runs(0)
		if len(runs) == 0 {
			return 0
		}
		var run struct{}
		status, err := s.api.Get(t.Context(), "/v1/runs/"+runs[0].ID.String(), &run)
		require.NoError(t, err)
		return status
	}
	// Stored runs must be readable while the disk is full, so one must exist.
	require.NoError(t, product.Wait(t.Context(), func(context.Context) error {
		if status := read(); status != http.StatusOK {
			return fmt.Errorf("the first run answers %d", status)
		}
		return nil
	}))
	d.fill(t, 200<<20)
	begin := time.Now()
	pause(t.Context(), scaled(5*time.Second, time.Minute))
	times, failed := s.answers(begin, time.Now())
	require.Zero(t, failed, "while the disk of the store was full")
	require.NoError(t, apiReads(t.Context(), s))
	require.Equal(t, http.StatusOK, read())
	back := time.Now()
	d.release(t)
	s.awaitBack(t, r, back)
	require.Equal(t, pids, s.pids(t), "a process ended")
	stop()
	r.Note("%d of %d requests accepted at once", len(times)-failed, len(times))
	r.verify(t, drainedWithin)
}
