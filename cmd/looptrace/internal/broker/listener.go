package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// loginTime is how long a client may take to log in.
	loginTime = 10 * time.Second
	// maxLoginBytes bounds a request before that.
	maxLoginBytes = 16 << 10
	// maxRequestBytes bounds a request after it: one record, and what stands around it.
	maxRequestBytes = maxRecordBytes + 1<<20
	// acceptPause is how long to wait for open files to be closed when there are too many.
	acceptPause = 50 * time.Millisecond
)

// listener lets connections in once ready is closed, and holds each answer back until the disk has what it
// is about.
type listener struct {
	net.Listener
	ready  <-chan struct{}
	syncer *syncer
	fail   func(error)
}

func (l listener) Accept() (net.Conn, error) {
	<-l.ready
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			_ = c.SetReadDeadline(time.Now().Add(loginTime)) // an error shows at the read
			return &conn{Conn: c, listener: l}, nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			<-time.After(acceptPause) // kfake ends on any error
		default:
			return nil, err //nolint:wrapcheck // as if there were nothing between
		}
	}
}

// conn passes only requests to kfake that it can take: it makes room for as many bytes as a client announces, and
// panics on a request whose number it does not know.
type conn struct {
	net.Conn
	listener listener

	mu sync.Mutex
	// head holds the size, number and version of the request that is being read, as far as they are there; rest is how
	// much of it is still to come.
	head []byte
	rest uint32
	// requests and answers are counted until the client has logged in.
	requests, answers int
	// logins are the requests that are part of it, lastLogin the number of the last of them.
	logins, lastLogin int
	loggedIn          bool
}

const (
	sizeBytes = 4
	// headBytes is the size, number and version of a request.
	headBytes = sizeBytes + 4
)

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if refused := c.look(p[:n]); refused != nil {
		return 0, refused
	}
	return n, err //nolint:wrapcheck // as if there were nothing between
}

// look follows the requests in what is read, and refuses what must not be handed on.
func (c *conn) look(read []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(read) > 0 {
		if len(c.head) < headBytes {
			before := len(c.head)
			taken := min(headBytes-before, len(read))
			if before < sizeBytes {
				taken = min(sizeBytes-before, len(read))
			}
			c.head, read = append(c.head, read[:taken]...), read[taken:]
			if before >= sizeBytes {
				c.rest -= uint32(taken)
			}
			if err := c.checkHead(); err != nil {
				return err
			}
			continue
		}
		taken := uint32(min(int64(c.rest), int64(len(read))))
		read, c.rest = read[taken:], c.rest-taken
		if c.rest == 0 {
			c.head = c.head[:0]
		}
	}
	return nil
}

// checkHead looks at the size once it is there, and at the number likewise.
func (c *conn) checkHead() error {
	switch len(c.head) {
	case sizeBytes:
		c.rest = binary.BigEndian.Uint32(c.head)
		limit := uint32(maxRequestBytes)
		if !c.loggedIn {
			limit = maxLoginBytes
		}
		// Behind number and version stands at least the request's correlation.
		if c.rest < 8 || c.rest > limit {
			return fmt.Errorf("a request of %d bytes", c.rest)
		}
	case headBytes:
		key := kmsg.Key(int16(binary.BigEndian.Uint16(c.head[sizeBytes:])))
		if c.loggedIn {
			if kmsg.RequestForKey(key.Int16()) == nil {
				return fmt.Errorf("a request with the number %d", key)
			}
			return nil
		}
		c.requests++
		switch key {
		case kmsg.ApiVersions, kmsg.SASLHandshake:
		case kmsg.SASLAuthenticate:
			c.logins++
			c.lastLogin = c.requests
		default:
			return fmt.Errorf("a request with the number %d before the login", key)
		}
	}
	return nil
}

func (c *conn) Write(answer []byte) (int, error) {
	if err := c.listener.syncer.sync(); err != nil {
		if !errors.Is(err, errClosed) {
			c.listener.fail(err)
		}
		return 0, err
	}
	c.answered()
	return c.Conn.Write(answer) //nolint:wrapcheck // as if there were nothing between
}

// answered notes when the client has logged in: SCRAM is two requests, and kfake closes the connection in place of an
// answer to one that is wrong.
func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loggedIn {
		return
	}
	c.answers++
	if c.logins >= 2 && c.answers >= c.lastLogin {
		c.loggedIn = true
		_ = c.SetReadDeadline(time.Time{}) // an error shows at the read
	}
}
