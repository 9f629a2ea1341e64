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
	// maxLoginBytes limits a request before the login.
	maxLoginBytes = 16 << 10
	// acceptPause is how long to wait if too many files are open.
	acceptPause = 50 * time.Millisecond
)

// listener accepts connections once ready is closed, and delays each answer until the disk has what it reports.
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
			_ = c.SetReadDeadline(time.Now().Add(loginTime)) // the read returns an error
			return &conn{Conn: c, listener: l}, nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			<-time.After(acceptPause) // kfake ends on any error
		default:
			return nil, err
		}
	}
}

// conn checks what a client sends until it has logged in, and passes only valid requests to kfake: kfake allocates as
// many bytes as a client announces, panics on an unknown request key, and loops over any number of tags that a
// request claims to have.
type conn struct {
	net.Conn
	listener listener
	// pending is input that was checked but not passed on yet.
	pending []byte

	mu sync.Mutex
	// requests and answers are counted until the client has logged in.
	requests, answers int
	// logins are the requests of the login, lastLogin is the number of the last of them.
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

// sizeBytes is the size of the length before each request.
const sizeBytes = 4

// readRequest reads a request that belongs to a login.
func (c *conn) readRequest() error {
	size := make([]byte, sizeBytes)
	if _, err := io.ReadFull(c.Conn, size); err != nil {
		return err
	}
	if c.hasLoggedIn() { // during the wait
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

// readLogin reports whether a request is complete and belongs to a login, and returns its key. It refuses tags, which
// no client sends. https://kafka.apache.org/protocol defines the formats.
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

// answered detects the end of the login. SCRAM takes two requests. kfake closes the connection instead of answering a
// wrong one.
func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loggedIn {
		return
	}
	c.answers++
	if c.logins >= 2 && c.answers >= c.lastLogin {
		c.loggedIn = true
		_ = c.SetReadDeadline(time.Time{}) // the read returns an error
	}
}
