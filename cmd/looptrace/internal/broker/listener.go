package broker

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// loginTime is how long a client may take to log in.
	loginTime = 10 * time.Second
	// maxLoginBytes bounds a request before that.
	maxLoginBytes = 16 << 10
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
			return nil, err
		}
	}
}

// conn looks at what a client sends until it has logged in, and hands on to kfake only what it can take: kfake makes room
// for as many bytes as a client announces, panics on a request whose number it does not know, and counts to billions where
// a request says that it has so many tags.
type conn struct {
	net.Conn
	listener listener
	// pending is what was looked at and not handed on yet.
	pending []byte

	mu sync.Mutex
	// requests and answers are counted until the client has logged in.
	requests, answers int
	// logins are the requests that are part of it, lastLogin the number of the last of them.
	logins, lastLogin int
	loggedIn          bool
}

func (c *conn) Read(p []byte) (int, error) {
	if len(c.pending) == 0 && !c.hasLoggedIn() {
		if err := c.readRequest(); err != nil {
			return 0, err
		}
	}
	if len(c.pending) > 0 {
		n := copy(p, c.pending)
		c.pending = c.pending[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// sizeBytes stand before each request.
const sizeBytes = 4

// readRequest reads a request that belongs to a login.
func (c *conn) readRequest() error {
	size := make([]byte, sizeBytes)
	if _, err := io.ReadFull(c.Conn, size); err != nil {
		return err
	}
	if c.hasLoggedIn() { // while this was waited for
		c.pending = size
		return nil
	}
	length := binary.BigEndian.Uint32(size)
	if length > maxLoginBytes {
		return errNoLogin
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(c.Conn, body); err != nil {
		return err
	}
	key, ok := readLogin(body)
	if !ok {
		return errNoLogin
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if key == kmsg.SASLAuthenticate {
		c.logins++
		c.lastLogin = c.requests
	}
	c.pending = slices.Concat(size, body)
	return nil
}

var errNoLogin = errors.New("the client does not log in")

// readLogin tells whether a request is whole and of the kinds that a login is made of, and of which. Tags, which no client
// sends, are refused. https://kafka.apache.org/protocol has the layouts.
func readLogin(body []byte) (kmsg.Key, bool) {
	r := kbin.Reader{Src: body}
	key, version := kmsg.Key(r.Int16()), r.Int16()
	_ = r.Int32()          // correlation
	_ = r.NullableString() // client
	tags := uint32(0)
	switch {
	case key == kmsg.ApiVersions && version >= 0 && version <= 2:
	case key == kmsg.ApiVersions && version >= 3 && version <= 5:
		tags = r.Uvarint()
		_, _ = r.CompactString(), r.CompactString() // software and its version
		if version >= 5 {
			_, _ = r.CompactNullableString(), r.Int32() // cluster and node
		}
		tags |= r.Uvarint()
	case key == kmsg.SASLHandshake && version == 1:
		_ = r.String() // mechanism
	case key == kmsg.SASLAuthenticate && version >= 0 && version <= 1:
		_ = r.Bytes()
	case key == kmsg.SASLAuthenticate && version == 2:
		tags = r.Uvarint()
		_ = r.CompactBytes()
		tags |= r.Uvarint()
	default:
		return 0, false
	}
	return key, r.Complete() == nil && len(r.Src) == 0 && tags == 0
}

func (c *conn) hasLoggedIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loggedIn
}

func (c *conn) Write(answer []byte) (int, error) {
	if err := c.listener.syncer.sync(); err != nil {
		if !errors.Is(err, errClosed) {
			c.listener.fail(err)
		}
		return 0, err
	}
	c.answered()
	return c.Conn.Write(answer)
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
