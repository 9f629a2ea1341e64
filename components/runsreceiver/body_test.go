package runsreceiver

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBuffersAreUsedAgain reads bodies of many sizes, of declared and unknown length. The allocations for a body must
// be below its size: pools that lose buffers allocate more than twice as much, and the race detector, which drops
// some on purpose, half. Bodies of a MiB and more are not pooled.
func TestBuffersAreUsedAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // garbage collection would empty the pools
	in := newIntake(20<<20, 256<<20)
	var sent uint64
	receive := func(size int, declared bool) {
		body := bytes.Repeat([]byte{byte(size)}, size)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(bytes.NewReader(body)))
		req.ContentLength = -1
		if declared {
			req.ContentLength = int64(size)
		}
		c := &charge{in: in}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read, err := in.read(req, c)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, read), "%d bytes", size)
		in.recycle(read)
		c.release()
		runtime.ReadMemStats(&after)
		sent += after.TotalAlloc - before.TotalAlloc
	}
	sizes := []int{0, 1, 4 << 10, 100_000, 180_000, 400_000, 1<<20 - 1}
	all := func() (bytes uint64) {
		sent = 0
		for _, size := range sizes {
			receive(size, true)
			receive(size, false)
			bytes += 2 * uint64(size)
		}
		return bytes
	}
	all() // fills the pools
	var bytes, allocated uint64
	for range 20 {
		bytes += all()
		allocated += sent
	}
	assert.Less(t, allocated, bytes)
	assert.Zero(t, in.used.Load())
	t.Logf("allocated %.2f times the bodies", float64(allocated)/float64(bytes))
}
