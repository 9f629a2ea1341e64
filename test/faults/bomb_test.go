package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// bombs are sent at once.
	bombs = 60
	// mostMemory is what the collector may hold meanwhile, in bytes.
	mostMemory = 300e6
)

// TestBombs sends bodies that are too large, or that inflate to be, all at once.
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
			for _, port := range []int{product.Ingest, product.OTLPHTTP} {
				for _, contentType := range []string{product.JSON, product.Protobuf} {
					s.bombard(t, fmt.Sprintf("%s to port %d as %s", c.name, port, contentType), port, contentType, c.encoding, c.body)
				}
			}
		})
	}
}

func (s *site) bombard(t *testing.T, name string, port int, contentType, encoding string, body []byte) {
	t.Helper()
	r := s.newRow(t, name, fmt.Sprintf("%d at once, %d bytes each", bombs, len(body)))
	// Each volley meets a collector that holds nothing from the one before: it gives memory back over minutes.
	s.awaitOther(t, product.CollectorProcess, s.strike(t, product.CollectorProcess))
	s.awaitAccepting(t)
	collector := s.collector(t)
	before, err := collector.PeakRSS()
	require.NoError(t, err)
	header := http.Header{"Content-Type": {contentType}, "Authorization": {"Bearer " + s.client.Key}}
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	var (
		sending  sync.WaitGroup
		times    = make([]time.Duration, bombs)
		statuses = make([]int, bombs)
		errs     = make([]error, bombs)
	)
	for n := range bombs {
		sending.Go(func() {
			begin := time.Now()
			answer, err := product.Do(t.Context(), http.MethodPost, s.product.Ports.URL(port)+"/v1/traces", header, body)
			times[n], statuses[n], errs[n] = time.Since(begin), answer.Status, err
		})
	}
	sending.Wait()
	peak, err := collector.PeakRSS()
	require.NoError(t, err)
	r.Note("answered after p50 %.0f ms, max %.0f ms; collector at most %.0f MB, %.0f before", milliseconds(times, 0.5),
		slices.Max(times).Seconds()*1e3, float64(peak)/1e6, float64(before)/1e6)
	begin := time.Now()
	s.awaitBack(t, r, begin)
	r.verify(t, visibleWithin)
	for n := range bombs {
		require.NoError(t, errs[n])
		require.Equal(t, http.StatusRequestEntityTooLarge, statuses[n])
	}
	require.Less(t, float64(peak), mostMemory, "the collector's memory")
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

// gzipBomb is 1 GB of zeros.
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

// zstdBomb is a frame of 1 GiB that asks its reader to keep 512 MiB (RFC 8878, 3.1.1).
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
