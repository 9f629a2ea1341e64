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

// Neither driver gives up a server that halts in the middle of a statement, and a deadline for the whole of a statement would have to be as
// long as the longest one takes. A server that works on a statement says so many times a second (interactive_delay): a connection on
// which nothing has come for a while is given up.
const (
	// statementSilence bounds it for reads and small writes, for which somebody waits.
	statementSilence = 7 * time.Second
	// insertSilence bounds it for batches, of which ClickHouse says nothing until it has all of them on disk: tens of megabytes, on
	// a slow network.
	insertSilence = time.Minute
	// acquireTimeout bounds the wait for a free connection, or for a new one that the server has greeted, where the URL does not say.
	acquireTimeout = 8 * time.Second
	// dialTimeout bounds the wait for one address.
	dialTimeout = 5 * time.Second
)

// errSilent is no timeout in the sense of [net.Error]: after one of those ch-go reads on.
var errSilent = errors.New("ClickHouse says nothing")

// dialer dials the database's addresses.
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
			return nil, errors.Join(fmt.Errorf("name the server of %s: %w", addr, err), conn.Close())
		}
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS with %s: %w", addr, err), conn.Close())
	}
	return secure, nil
}

// impatient is a connection that gives a silent server up.
type impatient struct {
	*net.TCPConn

	silence time.Duration

	mu sync.Mutex
	// read and write are the deadlines that the driver has set.
	read, write time.Time
	// greeted is when the server must have greeted; the driver lifts it with its own deadline for that.
	greeted time.Time
	// asked is since when the server has been waited for; zero where it has said something.
	asked time.Time
}

// Read waits for what the server says, for no longer than the silence in all, however often the driver's own deadline ends one wait.
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

// wait sets the deadline of a read and returns when the server is given up.
func (c *impatient) wait() (limit time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() {
		c.asked = time.Now()
	}
	limit = earlier(c.asked.Add(c.silence), c.greeted)
	return limit, c.TCPConn.SetReadDeadline(earlier(limit, c.read))
}

// Write sends what the server must take within the silence. A batch is written past this, with one system call for all of its columns
// ([net.Buffers]): while it is, the answer is waited for.
func (c *impatient) Write(p []byte) (int, error) {
	limit := time.Now().Add(c.silence)
	c.mu.Lock()
	c.asked = time.Time{} // what is sent now is not answered yet
	err := c.TCPConn.SetWriteDeadline(earlier(limit, c.write))
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(limit) {
		err = fmt.Errorf("%w: it does not take what is sent", errSilent)
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

// earlier is the first of two times; a zero one is none.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
