package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// Neither driver gives up a server that hangs in the middle of a statement. A deadline for whole statements would
// have to allow for the longest one. A server that works on a statement sends progress many times a second
// (interactive_delay), so a connection that was silent for a while is given up.
const (
	// statementSilence is for reads and small writes, for which somebody waits.
	statementSilence = 7 * time.Second
	// insertSilence is for batches: ClickHouse sends nothing until all of a batch is on disk, which may be tens of
	// megabytes over a slow network.
	insertSilence = time.Minute
	// acquireTimeout limits the wait for a free connection, or for a new one that the server has greeted, unless the
	// URL has a limit.
	acquireTimeout = 8 * time.Second
	// dialTimeout limits the wait for one address.
	dialTimeout = 5 * time.Second
)

// errSilent is not a timeout in the sense of [net.Error], after which ch-go would continue to read.
var errSilent = errors.New("ClickHouse does not answer")

// dialer dials the addresses of the database.
type dialer struct {
	opts    *ch.Options
	silence time.Duration
}

// DialContext dials the first address that answers.
func (d dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	var errs []error
	for _, addr := range d.opts.Addr {
		conn, err := d.dial(ctx, addr)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (d dialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	plain, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn := &impatient{TCPConn: plain.(*net.TCPConn), silence: d.silence}
	if deadline, ok := ctx.Deadline(); ok {
		conn.greeted = deadline
	}
	if d.opts.TLS == nil {
		return conn, nil
	}
	config := d.opts.TLS
	if config.ServerName == "" {
		config = config.Clone()
		if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, errors.Join(fmt.Errorf("set the server name for %s: %w", addr, err), conn.Close())
		}
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS with %s: %w", addr, err), conn.Close())
	}
	return secure, nil
}

// impatient is a connection that gives up a silent server.
type impatient struct {
	*net.TCPConn

	silence time.Duration

	mu sync.Mutex
	// read and write are the deadlines that the driver set.
	read, write time.Time
	// greeted is when the server must have sent its greeting. The driver clears it with its own deadline.
	greeted time.Time
	// asked is since when the connection waits for the server. It is zero once the server has sent something.
	asked time.Time
}

// Read waits for the server at most for the silence in total, even if the driver's own deadline ends a single wait.
func (c *impatient) Read(p []byte) (int, error) {
	limit, err := c.wait()
	if err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		if !time.Now().Before(limit) {
			return 0, errSilent
		}
		return 0, err
	}
	c.mu.Lock()
	c.asked = time.Time{}
	c.mu.Unlock()
	return n, err
}

// wait sets the deadline of a read and returns when the server will be given up.
func (c *impatient) wait() (limit time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() {
		c.asked = time.Now()
	}
	limit = earlier(c.asked.Add(c.silence), c.greeted)
	return limit, c.TCPConn.SetReadDeadline(earlier(limit, c.read))
}

// Write fails if the server does not take the data within the silence. A batch bypasses it, since all of its columns
// are written with one system call ([net.Buffers]): in that case the wait for the answer is limited.
func (c *impatient) Write(p []byte) (int, error) {
	limit := time.Now().Add(c.silence)
	c.mu.Lock()
	c.asked = time.Time{} // the data that is sent now is not answered yet
	err := c.TCPConn.SetWriteDeadline(earlier(limit, c.write))
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(limit) {
		err = fmt.Errorf("%w: it does not accept data", errSilent)
	}
	return n, err
}

// SetDeadline sets the driver's deadlines of reads and writes.
func (c *impatient) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the driver's deadline of reads.
func (c *impatient) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read = t; t.IsZero() {
		c.greeted = time.Time{}
	}
	return c.TCPConn.SetReadDeadline(t)
}

// SetWriteDeadline sets the driver's deadline of writes.
func (c *impatient) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.TCPConn.SetWriteDeadline(t)
}

// earlier returns the earlier of two times. A zero time means none.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
