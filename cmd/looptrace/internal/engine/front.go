package engine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/ClickHouse/ch-go/proto"
)

const (
	// helloTime limits the login of a client.
	helloTime = 10 * time.Second
	// maxHellos limits the clients that are logging in. More clients wait to be accepted.
	maxHellos = 512
	// maxClients limits the clients that are logged in. The engine accepts 256 and crashes on some beyond that.
	maxClients = 240
	// maxHelloText limits each text in the Hello, in bytes.
	maxHelloText = 1 << 10
	// acceptPause is how long to wait if too many files are open.
	acceptPause = 50 * time.Millisecond
)

// front is a proxy between clients and the engine's native protocol. The engine and its process end if a client
// resets a connection (a killed client with an unread answer does), sends anything but the protocol's Hello, or logs
// in with a wrong password or an unknown database. The front closes connections in order and forwards valid logins
// only.
type front struct {
	listener net.Listener
	inner    *innerPort
	// hellos and clients have an element for each client that is logging in, and that is logged in.
	hellos, clients chan struct{}
	password        string
	// database is the only one that a client may name, "*" for any. By default clients name "default", which always
	// exists.
	database string
}

func newFront(ctx context.Context, addr, password, database string) (*front, error) {
	inner, err := reserveInnerPort()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		inner.close()
		return nil, fmt.Errorf("listen for the native protocol: %w", err)
	}
	return &front{
		listener: listener, inner: inner, password: password, database: database,
		hellos: make(chan struct{}, maxHellos), clients: make(chan struct{}, maxClients),
	}, nil
}

// port returns the port that the engine must listen on.
func (f *front) port() int { return f.inner.number }

// serve accepts clients once the engine listens, until the front is closed.
func (f *front) serve(ctx context.Context) error {
	if err := f.inner.await(ctx); err != nil {
		return err
	}
	for {
		f.hellos <- struct{}{} // blocks for helloTime at most
		client, err := f.listener.Accept()
		if err == nil {
			go f.relay(ctx, client.(*net.TCPConn))
			continue
		}
		<-f.hellos
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			<-time.After(acceptPause) // clients that do not log in are closed
		default:
			return fmt.Errorf("accept a client of ClickHouse: %w", err)
		}
	}
}

func (f *front) close() {
	_ = f.listener.Close() // its connections were not accepted
	f.inner.close()
}

func (f *front) relay(ctx context.Context, client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	opening, ok := f.admit(client)
	<-f.hellos
	if !ok {
		return
	}
	select {
	case f.clients <- struct{}{}:
		defer func() { <-f.clients }()
	default:
		_, _ = client.Write(exception(proto.ErrTooManySimultaneousQueries, fmt.Sprintf("%d clients are connected, which is the limit", maxClients))) // the client may be gone
		return
	}
	engine, err := f.inner.dial(ctx)
	if err != nil {
		return // the client sees a closed connection and retries
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if _, err := engine.Write(opening); err == nil {
			_, _ = io.Copy(engine, client) // however the client ends
		}
		_ = engine.CloseWrite()
	}()
	_, _ = io.Copy(client, engine)
	// Read what the client no longer reads: a close with unread data would be a reset.
	_, _ = io.Copy(io.Discard, engine)
	_ = client.Close() // ends the copy above if the engine has ended
	<-sent
	_ = engine.Close()
}

// admit reads a client's login and reports whether it is valid. opening is what the client has sent so far.
func (f *front) admit(client net.Conn) (opening []byte, ok bool) {
	var read bytes.Buffer
	_ = client.SetReadDeadline(time.Now().Add(helloTime)) // the read returns an error
	login, err := readHello(bufio.NewReader(io.TeeReader(client, &read)))
	if err != nil {
		return nil, false
	}
	if refusal := f.check(login); refusal != nil {
		_, _ = client.Write(refusal) // the client may be gone
		return nil, false
	}
	_ = client.SetReadDeadline(time.Time{}) // likewise
	return read.Bytes(), true
}

// check returns the answer to an invalid login, nil for a valid one.
func (f *front) check(l login) []byte {
	switch {
	case l.user != clickhouseUser, subtle.ConstantTimeCompare([]byte(l.password), []byte(f.password)) == 0:
		return exception(proto.ErrAuthenticationFailed,
			"Authentication failed: log in as "+clickhouseUser+" with the password in the data folder, see docs/operations.md")
	case f.database != allDatabases && !slices.Contains([]string{"", "default", f.database}, l.database):
		return exception(proto.ErrUnknownDatabase, "There is no such database; use "+f.database)
	default:
		return nil
	}
}

var errNoHello = errors.New("not a Hello of ClickHouse's native protocol")

type login struct{ database, user, password string }

// readHello reads the first packet of a client and returns the login in it. The packet: its number (0), then
// the client's name, major and minor version, protocol revision, database, user and password.
// https://clickhouse.com/docs/native-protocol/client#hello
func readHello(r *bufio.Reader) (login, error) {
	if packet, err := binary.ReadUvarint(r); err != nil || packet != uint64(proto.ClientCodeHello) {
		return login{}, errNoHello
	}
	if _, err := readText(r); err != nil {
		return login{}, err
	}
	for range 3 {
		if n, err := binary.ReadUvarint(r); err != nil || n > math.MaxInt32 {
			return login{}, errNoHello
		}
	}
	var texts [3]string
	for i := range texts {
		var err error
		if texts[i], err = readText(r); err != nil {
			return login{}, err
		}
	}
	return login{database: texts[0], user: texts[1], password: texts[2]}, nil
}

func readText(r *bufio.Reader) (string, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil || size > maxHelloText {
		return "", errNoHello
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", errNoHello
	}
	return string(text), nil
}

// exception returns the packet for an error.
func exception(code proto.Error, message string) []byte {
	var b proto.Buffer
	proto.ServerCodeException.Encode(&b)
	b.PutInt32(int32(code))
	b.PutString("DB::Exception")
	b.PutString(message)
	b.PutString("")  // no stack trace
	b.PutBool(false) // no nested exception
	return b.Buf
}
