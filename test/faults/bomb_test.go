package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// bombs are sent concurrently.
	bombs = 60
	// maxMemory is the collector's memory limit meanwhile, in bytes.
	maxMemory = 300e6
)

// TestBombs sends bodies that are too large, or that inflate to be, concurrently.
func TestBombs(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		name, encoding string
		body           []byte
	}{
		{"body of 21 MiB", "", bytes.Repeat([]byte(" "), 21<<20)},
		{"gzip of 1 GB", "gzip", gzipBomb(t)},
		{"zstd with a window of 512 MiB", "zstd", zstdBomb()},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.newRow(t, c.name, fmt.Sprintf("%d at once, %d bytes each, to ports 7080 and 4318", bombs, len(c.body)))
			for port, contentType := range map[int]string{product.Ingest: product.JSON, product.OTLPHTTP: product.Protobuf} {
				s.bombard(t, r, port, contentType, c.encoding, c.body)
			}
			r.verify(t, visibleWithin)
		})
	}
}

func (s *site) bombard(t *testing.T, r *row, port int, contentType, encoding string, body []byte) {
	t.Helper()
	// Each volley starts with a fresh collector, because memory is returned to the system over minutes.
	s.awaitOther(t, product.CollectorProcess, s.strike(t, product.CollectorProcess))
	s.awaitAccepting(t)
	collector := s.collector(t)
	before, err := collector.PeakRSS()
	require.NoError(t, err)
	header := http.Header{"Content-Type": {contentType}, "Authorization": {"Bearer " + s.client.Key}}
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	times := make([]time.Duration, bombs)
	send := func(n int) error {
		begin := time.Now()
		answer, err := product.Do(t.Context(), http.MethodPost, s.product.Ports.URL(port)+"/v1/traces", header, body)
		times[n] = time.Since(begin)
		if err == nil && answer.Status != http.StatusRequestEntityTooLarge {
			err = fmt.Errorf("port %d answers %d: %s", port, answer.Status, answer.Body)
		}
		return err
	}
	require.NoError(t, send(0))
	alone := times[0]
	var volley errgroup.Group
	for n := range bombs {
		volley.Go(func() error { return send(n) })
	}
	require.NoError(t, volley.Wait())
	peak, err := collector.PeakRSS()
	require.NoError(t, err)
	r.Note("port %d: one alone is answered after %.0f ms, of all at once p50 %.0f, max %.0f; collector at most %.0f MB, %.0f before",
		port, alone.Seconds()*1e3, milliseconds(times, 0.5), milliseconds(times, 1), float64(peak)/1e6, float64(before)/1e6)
	s.awaitBack(t, r, time.Now())
	require.Less(t, float64(peak), maxMemory, "the collector's memory")
	require.Equal(t, collector, s.collector(t), "it was started again")
}

func (s *site) collector(t *testing.T) product.Process {
	t.Helper()
	processes, err := s.product.Processes()
	require.NoError(t, err)
	i := slices.IndexFunc(processes, func(p product.Process) bool { return p.Name == product.CollectorProcess })
	require.GreaterOrEqual(t, i, 0, "the collector does not run")
	return processes[i]
}

// gzipBomb returns 1 GB of zeros.
func gzipBomb(t *testing.T) []byte {
	t.Helper()
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	megabyte := make([]byte, 1e6)
	for range 1000 {
		_, err := w.Write(megabyte)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return body.Bytes()
}

// zstdBomb returns a frame of 1 GiB with a window of 512 MiB (RFC 8878, 3.1.1).
func zstdBomb() []byte {
	const blocks, blockSize = 8192, 128 << 10
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 19 << 3} // magic number, descriptor, window of 2 to the 10+19
	for n := range blocks {
		header := uint32(1<<1 | blockSize<<3) // one byte, repeated
		if n == blocks-1 {
			header |= 1
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16), ' ')
	}
	return frame
}
