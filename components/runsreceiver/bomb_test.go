package runsreceiver

import (
	"fmt"
	"net/http"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/consumer/consumertest"
)

// Sixty concurrent bombs are all stopped at the limit, and take the memory of as many as there are processors.
func TestDecompressionBombs(t *testing.T) { // it measures the memory of the process
	gzipBomb := gzipZeros(t, 1<<10)
	for _, tt := range []struct {
		name, encoding, body string
	}{
		{"gzip_1GiB", "gzip", gzipBomb},
		{"deflate_64MiB", "deflate", deflated(t, strings.Repeat("\x00", 64<<20))},
		{"zstd_512MiB_window", "zstd", zstdBomb(8192)},
		{"zstd_1GiB_of_8MiB_window", "zstd", strings.Replace(zstdBomb(8192), "\x98", "\x68", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink := new(consumertest.TracesSink)
			r := start(t, sink, func(c *Config) {
				c.MaxRequestBodySize = 8 << 20 // all sixty, with their windows, would take a gigabyte
				c.QueueTimeout, c.WriteTimeout = time.Minute, 2*time.Minute
			})
			before := heapBytes()
			peak, stop := watchHeap()

			var all sync.WaitGroup
			statuses := make([]int, 60)
			for i := range statuses {
				all.Go(func() {
					path, contentType := "/v1/runs", typeJSON
					if i%2 == 1 {
						path, contentType = "/v1/traces", typeProtobuf
					}
					resp, _ := send(t, r, sent{
						path: path, body: tt.body,
						header: map[string]string{"Content-Type": contentType, "Content-Encoding": tt.encoding},
					})
					statuses[i] = resp.StatusCode
				})
			}
			started := time.Now()
			all.Wait()
			stop()
			for _, status := range statuses {
				assert.Equal(t, http.StatusRequestEntityTooLarge, status)
			}
			assert.Empty(t, sink.AllTraces())
			grown := int64(peak()) - int64(before)
			t.Logf("60 bombs of %d bytes: %s, heap grew by %d MiB", len(tt.body), time.Since(started).Round(time.Millisecond), grown>>20)
			// The bodies on the wire and their copies during growth, for client and server, and a few outputs.
			assert.Less(t, grown, int64(60*4*len(tt.body)+256<<20))
		})
	}
}

// TestDenseEnvelope sends a body within the limit whose attributes would take twenty times as much memory when
// decoded.
func TestDenseEnvelope(t *testing.T) { // it measures the memory of the process
	r := start(t, consumertest.NewNop())
	var body strings.Builder
	body.WriteString(strings.TrimSuffix(oneRun, "}]}") + `,"attributes":{"a":1`)
	for i := range 1_500_000 {
		fmt.Fprintf(&body, `,"%x":1`, i)
	}
	body.WriteString("}}]}")
	assert.Less(t, body.Len(), 20<<20)
	before := heapBytes()
	peak, stop := watchHeap()
	resp, answer := send(t, r, sent{path: "/v1/runs", body: body.String(), header: map[string]string{"Content-Type": typeJSON}})
	stop()
	assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	assert.Contains(t, answer, `"code":"body_too_dense"`)
	grown := int64(peak()) - int64(before)
	t.Logf("a body of %d MiB: heap grew by %d MiB", body.Len()>>20, grown>>20)
	assert.Less(t, grown, int64(512<<20))
	assert.Eventually(t, func() bool { return r.intake.used.Load() == 0 }, 5*time.Second, time.Millisecond)
}

// gzipZeros returns n MiB of zeros as n members of one gzip stream.
func gzipZeros(t *testing.T, n int) string {
	t.Helper()
	return strings.Repeat(gzipped(t, strings.Repeat("\x00", 1<<20)), n)
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watchHeap samples the size of the heap until stop, which returns the peak.
func watchHeap() (peak func() uint64, stop func()) {
	var largest uint64
	var watching sync.WaitGroup
	done := make(chan struct{})
	watching.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			largest = max(largest, heapBytes())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() uint64 { return largest }, func() { close(done); watching.Wait() }
}

// Bodies that exceed the budget are refused with Retry-After, and do not disturb the accepted ones.
func TestOverload(t *testing.T) {
	t.Parallel()
	next := newStuck()
	r := start(t, next, func(c *Config) {
		c.MaxRequestBodySize = 1 << 20
		c.MaxInFlightBytes = 4 << 20
	})
	large := strings.Replace(oneRun, `"plan"`, `"plan","inputs":"`+strings.Repeat("x", 900<<10)+`"`, 1)
	request := sent{path: "/v1/runs", body: large, header: map[string]string{"Content-Type": typeJSON}}

	// Each takes 1.8 MiB with what is decoded from it, so two leave no space for a third.
	var held sync.WaitGroup
	for range 2 {
		held.Go(func() {
			resp, _ := send(t, r, request)
			assert.Equal(t, http.StatusAccepted, resp.StatusCode)
		})
		<-next.entered
	}
	resp, body := send(t, r, request)
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Equal(t, "1", resp.Header.Get("Retry-After"))
	assert.Contains(t, body, `"code":"overloaded"`)
	close(next.release)
	held.Wait()
	assert.Eventually(t, func() bool { return r.intake.used.Load() == 0 }, 5*time.Second, time.Millisecond)
}
