package security

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// openings is how often each port is opened, workers the number of concurrent connections.
	openings = 10_000
	workers  = 32
	// hold limits the time of an open connection: most are closed by the other side.
	hold = 20 * time.Millisecond
)

// beginnings are prefixes of protocols, with which decoders get further than with noise.
var beginnings = []string{
	"", "\x00", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",                                 // a TLS hello
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04\x00\x00",                     // HTTP/2
	"\x00\x02py\x18\x01\xae\xa9\x03\x00\x09looptrace\x05wrong",                     // a ClickHouse hello
	"\x00\x00\x00\x14\x27\x0f\x00\x00\x00\x00\x00\x01\x00\x01a",                    // a Kafka request with an unknown number
	"\x00\x00\x00\x10\x00\x12\x00\x04\x00\x00\x00\x01\x00\x01a",                    // Kafka's ApiVersions
	"\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\x09\x00\x03\x00\x00user\x00", // PostgreSQL: TLS asked for, a startup
}

// testGarbage sends noise to every port, also to internal ones.
func testGarbage(t *testing.T, p *product.Product) {
	before := pids(t, p)
	processes, err := p.Processes()
	require.NoError(t, err)
	var open []string
	for _, process := range processes {
		addresses, err := process.Listeners()
		require.NoError(t, err)
		open = append(open, addresses...)
	}
	slices.Sort(open)
	open = slices.Compact(open) // PostgreSQL's processes share its socket
	require.Len(t, open, len(ports)+1, "ClickHouse listens once more, for its front, which testOtherUser tests")
	for _, port := range ports {
		assert.Contains(t, open, p.Ports.Addr(port))
	}

	begin := time.Now()
	var opened, refused atomic.Int64
	jobs := make(chan string, workers)
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			for addr := range jobs {
				if annoy(addr) {
					opened.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	for range openings {
		for _, port := range ports {
			jobs <- p.Ports.Addr(port)
		}
	}
	close(jobs)
	work.Wait()
	t.Logf("%d connections, %d refused, in %s", opened.Load(), refused.Load(), time.Since(begin).Round(time.Second))
	assert.Zero(t, refused.Load())
	assert.Equal(t, before, pids(t, p), "the same processes")
	require.NoError(t, p.Ready(t.Context()))
}

// annoy opens a connection, sends noise and closes it in one of several ways. It returns false if nobody listened.
func annoy(addr string) bool {
	client, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = client.Close() }()
	noise := make([]byte, rand.IntN(200))
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	_, _ = io.Copy(client, io.MultiReader(strings.NewReader(beginnings[rand.IntN(len(beginnings))]), strings.NewReader(string(noise)))) // it may be refused
	_ = client.SetReadDeadline(time.Now().Add(hold))
	switch rand.IntN(3) {
	case 0: // a reset
		_ = client.(*net.TCPConn).SetLinger(0)
	case 1:
		_ = client.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, client)
	default:
		_, _ = client.Read(make([]byte, 10))
	}
	return true
}
