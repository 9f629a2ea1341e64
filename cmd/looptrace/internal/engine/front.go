package engine

import (
	"context"
	"fmt"
	"io"
	"net"
)

// front stands between clients and the engine's native protocol. The engine ends, and its process with it, when a
// client resets a connection: one that is killed with an answer unread does. From the front the engine meets only
// orderly ends.
type front struct {
	listener net.Listener
	engine   string // where the engine listens
}

func newFront(ctx context.Context, addr string) (*front, error) {
	inner, err := unusedAddr(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the native protocol: %w", err)
	}
	return &front{listener: listener, engine: inner}, nil
}

// unusedAddr is an address of this machine at which nobody listens now.
func unusedAddr(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }() // it was there for its address
	return listener.Addr().String(), nil
}

// serve takes connections until the front is closed. Those that are open live as long as both sides want: the process
// ends with the engine.
func (f *front) serve(ctx context.Context) {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.relay(ctx, client.(*net.TCPConn))
	}
}

func (f *front) close() { _ = f.listener.Close() } // what waits in it has not been taken

func (f *front) relay(ctx context.Context, client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", f.engine)
	if err != nil {
		return // it is starting; the client meets an end and tries again
	}
	engine := conn.(*net.TCPConn)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(engine, client) // however the client ends
		_ = engine.CloseWrite()
	}()
	_, _ = io.Copy(client, engine)
	// What the client no longer takes is read all the same: to close over it would be a reset again.
	_, _ = io.Copy(io.Discard, engine)
	_ = client.Close() // ends the copy above, where it is the engine that has ended
	<-sent
	_ = engine.Close()
}
