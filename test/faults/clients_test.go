package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/faults/report"
	"github.com/looptrace/looptrace/test/product"
)

// TestBadClients runs clients that send slowly, that disconnect, and that send nothing, and measures their effect on
// healthy ones.
func TestBadClients(t *testing.T) {
	s := newSite(t)
	s.send(t)
	period := scaled(5*time.Second, 30*time.Second)
	begin := time.Now()
	pause(t.Context(), period)
	before, failed := s.answers(begin, time.Now())
	require.Zero(t, failed)

	header := func(length int) string {
		return fmt.Sprintf("POST /v1/traces HTTP/1.1\r\nHost: ingest\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
			s.client.Key, product.JSON, length)
	}
	for _, c := range []struct {
		name  string
		count int
		// be acts as one such client until ctx ends. Each has its own connection.
		be func(context.Context, net.Conn) error
	}{
		{"slow bodies, a byte a second", 200, func(ctx context.Context, conn net.Conn) error {
			if _, err := io.WriteString(conn, header(1<<20)+"{"); err != nil {
				return err
			}
			for ctx.Err() == nil {
				pause(ctx, time.Second)
				if _, err := io.WriteString(conn, " "); err != nil {
					return err
				}
			}
			return nil
		}},
		{"resets in mid-body, again and again", 20, func(ctx context.Context, conn net.Conn) error {
			address := conn.RemoteAddr().String()
			for ctx.Err() == nil {
				if _, err := io.WriteString(conn, header(1<<20)+`{"resourceSpans":[`); err != nil {
					return err
				}
				if err := errors.Join(conn.(*net.TCPConn).SetLinger(0), conn.Close()); err != nil { // a reset
					return err
				}
				pause(ctx, 100*time.Millisecond)
				var err error
				if conn, err = net.Dial("tcp", address); err != nil {
					return err
				}
			}
			return conn.Close()
		}},
		{"idle connections", 5000, func(ctx context.Context, _ net.Conn) error {
			<-ctx.Done()
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.newRow(t, c.name, fmt.Sprintf("%d at once", c.count))
			allowFiles(t, uint64(c.count)+1000)
			being, stop := context.WithCancel(t.Context())
			var clients sync.WaitGroup
			defer clients.Wait()
			defer stop()
			problems := make(chan error, c.count)
			for n := range c.count {
				ports := []int{product.Ingest, product.OTLPHTTP}
				conn, err := net.Dial("tcp", s.product.Ports.Addr(ports[n%len(ports)]))
				require.NoError(t, err)
				clients.Go(func() {
					defer func() { _ = conn.Close() }() // it may be broken on purpose
					problems <- c.be(being, conn)
				})
			}
			begin := time.Now()
			pause(t.Context(), period)
			during, failed := s.answers(begin, time.Now())
			stop()
			clients.Wait()
			for range c.count {
				require.NoError(t, <-problems)
			}
			require.Zero(t, failed, "of healthy clients")
			r.Note("healthy clients: answer p50 %.1f ms, p99 %.1f ms, %.2f and %.2f times those before", milliseconds(during, 0.5),
				milliseconds(during, 0.99), ratio(report.Quantile(during, 0.5), report.Quantile(before, 0.5)),
				ratio(report.Quantile(during, 0.99), report.Quantile(before, 0.99)))
			s.awaitVisible(t, patience)
			r.verify(t, visibleWithin)
		})
	}
}

// allowFiles raises the limit of open files for the test. The product has its own limit, which Go raises for it.
func allowFiles(t *testing.T, wanted uint64) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Cur >= wanted {
		return
	}
	limit.Cur = wanted
	limit.Max = max(limit.Max, wanted)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit), "%d open files are needed: raise ulimit -n", wanted)
}
