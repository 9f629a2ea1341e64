package work_test

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/postgres"
)

// link is what is between a process and PostgreSQL. It can be slow, frozen, and cut.
type link struct {
	target string
	delay  time.Duration

	mu sync.Mutex
	// open is closed unless the link is frozen.
	open  chan struct{}
	gone  bool
	conns []net.Conn
	ended sync.WaitGroup
}

// newLink returns a link, and a pool that uses it, to the server of an address.
func newLink(t *testing.T, address string, delay time.Duration) (*link, *pgxpool.Pool) {
	t.Helper()
	to, err := url.Parse(address)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &link{target: to.Host, delay: delay, open: make(chan struct{})}
	close(l.open)
	l.ended.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			l.ended.Go(func() { l.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
		l.ended.Wait()
	})
	to.Host = listener.Addr().String()
	pool, err := postgres.Open(t.Context(), to.String())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return l, pool
}

// freeze holds back all bytes until thaw.
func (l *link) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default: // it is frozen
	}
}

func (l *link) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// cut ends all connections, and those that come, as the end of a process or of a network does: what was frozen never arrives.
func (l *link) cut() {
	l.mu.Lock()
	l.gone = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.thaw()
}

// keep adds connections to those that cut ends. It returns false when the link is cut.
func (l *link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conns...)
	return !l.gone
}

func (l *link) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !l.keep(client, server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(server, client) })
	both.Go(func() { l.carry(client, server) })
	both.Wait()
}

// carry copies until one end is closed, and closes the other.
func (l *link) carry(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			time.Sleep(l.delay)
			l.mu.Lock()
			open := l.open
			l.mu.Unlock()
			<-open // closed by thaw and by cut
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return // it is closed
		}
	}
}
