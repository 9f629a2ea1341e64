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
	// helloTime is how long a client may take to say who it is.
	helloTime = 10 * time.Second
	// maxHellos is how many clients may be saying it at once. Who comes beyond waits to be accepted.
	maxHellos = 512
	// maxClients is how many may be logged in. The engine takes 256, and ends over some of those that it does not take.
	maxClients = 240
	// maxHelloText bounds each text in it, in bytes.
	maxHelloText = 1 << 10
	// acceptPause is how long to wait for open files to be closed when there are too many.
	acceptPause = 50 * time.Millisecond
)

// front stands between clients and the engine's native protocol, for the engine ends, and its process with it, when a
// client resets a connection (one that is killed with an answer unread does), opens one with anything but the
// protocol's Hello, or logs in with a wrong password or to a database that is not there. From the front the engine
// meets orderly ends only, and only logins that succeed.
type front struct {
	listener net.Listener
	inner    *innerPort
	// hellos and clients have an element for each client that says who it is, and that has logged in.
	hellos, clients chan struct{}
	password        string
	// database is the only one that may be named, "*" for any. Without one, clients name "default", which is always there.
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

// port is the one that the engine is to listen on.
func (f *front) port() int { return f.inner.number }

// serve lets clients in once the engine listens, until the front is closed.
func (f *front) serve(ctx context.Context) error {
	if err := f.inner.await(ctx); err != nil {
		return err
	}
	for {
		f.hellos <- struct{}{} // there is room within helloTime
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
			<-time.After(acceptPause) // who does not log in is let go
		default:
			return fmt.Errorf("accept a client of ClickHouse: %w", err)
		}
	}
}

func (f *front) close() {
	_ = f.listener.Close() // what waits in it has not been taken
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
		_, _ = client.Write(exception(proto.ErrTooManySimultaneousQueries, fmt.Sprintf("%d clients are connected, and no more are taken", maxClients))) // it may be gone
		return
	}
	engine, err := f.inner.dial(ctx)
	if err != nil {
		return // the client meets an end and tries again
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
	// What the client no longer takes is read all the same: to close over it would be a reset again.
	_, _ = io.Copy(io.Discard, engine)
	_ = client.Close() // ends the copy above, where it is the engine that has ended
	<-sent
	_ = engine.Close()
}

// admit reads who the client is, and tells whether it may speak to the engine. Opening is what it has sent so far.
func (f *front) admit(client net.Conn) (opening []byte, ok bool) {
	var read bytes.Buffer
	_ = client.SetReadDeadline(time.Now().Add(helloTime)) // an error shows at the read
	login, err := readHello(bufio.NewReader(io.TeeReader(client, &read)))
	if err != nil {
		return nil, false
	}
	if refusal := f.check(login); refusal != nil {
		_, _ = client.Write(refusal) // it may be gone
		return nil, false
	}
	_ = client.SetReadDeadline(time.Time{}) // likewise
	return read.Bytes(), true
}

// check returns the answer to a login that is refused, nil to one that is right.
func (f *front) check(l login) []byte {
	switch {
	case l.user != clickhouseUser, subtle.ConstantTimeCompare([]byte(l.password), []byte(f.password)) == 0:
		return exception(proto.ErrAuthenticationFailed,
			"Authentication failed: log in as "+clickhouseUser+" with the password in the data folder, see docs/operations.md")
	case f.database != allDatabases && !slices.Contains([]string{"", "default", f.database}, l.database):
		return exception(proto.ErrUnknownDatabase, "There is no such database, but "+f.database)
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

// exception is the packet in which the engine tells of an error.
func exception(code proto.Error, message string) []byte {
	var b proto.Buffer
	proto.ServerCodeException.Encode(&b)
	b.PutInt32(int32(code))
	b.PutString("DB::Exception")
	b.PutString(message)
	b.PutString("")  // no stack
	b.PutBool(false) // no cause
	return b.Buf
}
