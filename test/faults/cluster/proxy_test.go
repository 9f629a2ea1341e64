package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/engines"
)

// fault is what the proxy does to its traffic. The zero value forwards everything.
type fault struct {
	// refuse closes all connections.
	refuse bool
	// bytesPerSecond limits a connection in one direction, if it is not 0.
	bytesPerSecond int
	// delay is how long the answer to an insert is delayed.
	delay time.Duration
	// fail is the share of inserts that are answered with an error, without reaching the server.
	fail float64
	// cut is the share of inserts whose connection is closed after their rows were forwarded.
	cut float64
	// loseAnswer is the share of inserts whose connection is closed instead of their answer: the rows are stored.
	loseAnswer float64
	// sent is called when the rows of an insert begin to be forwarded.
	sent func(*link)
}

// proxy forwards connections between ClickHouse and its clients. It parses enough of the native protocol
// (https://clickhouse.com/docs/native-protocol) to recognize the steps of an insert: the query, the server's block of
// columns, the client's rows, the server's answer, whose last byte is that of EndOfStream.
type proxy struct {
	address string
	target  string

	mu    sync.Mutex
	fault fault
	links map[*link]struct{}
	// inserts are the start times of inserts.
	inserts []time.Time
	running sync.WaitGroup
}

// startProxy listens in front of the server until the test ends.
func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{address: listener.Addr().String(), target: target, links: map[*link]struct{}{}}
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			p.running.Go(func() { p.serve(client.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.cutAll()
		p.running.Wait()
	})
	return p
}

// set sets the fault from now on, for open connections too.
func (p *proxy) set(f fault) {
	p.mu.Lock()
	p.fault = f
	p.mu.Unlock()
	if f.refuse {
		p.cutAll()
	}
}

func (p *proxy) now() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// cutAll closes the open connections.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.end()
	}
}

// insertsSince returns the start times of inserts.
func (p *proxy) insertsSince(since time.Time) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, _ := slices.BinarySearchFunc(p.inserts, since, time.Time.Compare)
	return slices.Clone(p.inserts[first:])
}

func (p *proxy) serve(client *net.TCPConn) {
	l := &link{proxy: p, client: client}
	if p.now().refuse {
		l.end()
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		l.end()
		return
	}
	defer func() { _ = server.Close() }() // it is read to its end
	p.mu.Lock()
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var directions sync.WaitGroup
	directions.Go(func() {
		l.carry(server, client, l.fromClient)
		// The server gets an end instead of a reset: the engine of the tests (libchdb 26.7) aborts when a client resets
		// its connection, which is a different fault.
		_ = server.(*net.TCPConn).CloseWrite() // it may be closed already
	})
	directions.Go(func() {
		l.carry(client, server, l.fromServer)
		l.end()
		_, _ = io.Copy(io.Discard, server) // until its end, however it ends
	})
	directions.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// step is the progress of a connection's insert.
type step int

const (
	idle     step = iota
	asked         // the query was forwarded
	prepared      // the server has sent the columns
	sent          // rows were forwarded, the answer was not
)

// link is one connection through the proxy.
type link struct {
	proxy  *proxy
	client *net.TCPConn

	mu   sync.Mutex
	step step
}

// end resets the client's connection, and closes the server's.
func (l *link) end() {
	_ = l.client.SetLinger(0) // it may be closed already
	_ = l.client.Close()
}

// answered reports whether the server has answered the insert whose rows were forwarded.
func (l *link) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.step != sent
}

var errCut = errors.New("the proxy cuts the connection")

// carry copies until one end is closed, and inspects each chunk before it is forwarded.
func (l *link) carry(to io.Writer, from io.Reader, look func([]byte) ([]byte, error)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if rate := l.proxy.now().bytesPerSecond; rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
		}
		pass, err := look(buffer[:n])
		if err != nil {
			return
		}
		if _, err := to.Write(pass); err != nil {
			return
		}
	}
}

// fromClient forwards what the client sends.
func (l *link) fromClient(chunk []byte) ([]byte, error) {
	f := l.proxy.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	const query, data = 1, 2
	switch {
	case chunk[0] != data && bytes.Contains(chunk, []byte("INSERT INTO ")):
		l.proxy.mu.Lock()
		l.proxy.inserts = append(l.proxy.inserts, time.Now())
		l.proxy.mu.Unlock()
		if rand.Float64() < f.fail {
			_, err := l.client.Write(tooMuchMemory)
			return nil, err
		}
		l.step = asked
	case chunk[0] == query:
		l.step = idle
	case l.step == prepared && chunk[0] == data:
		l.step = sent
		if rand.Float64() < f.cut {
			const most = 20 * time.Millisecond // within the duration of an insert
			time.AfterFunc(rand.N(most), l.end)
		}
		if f.sent != nil {
			f.sent(l)
		}
	}
	return chunk, nil
}

// fromServer forwards what the server sends.
func (l *link) fromServer(chunk []byte) ([]byte, error) {
	const endOfStream = 5
	f := l.proxy.now()
	l.mu.Lock()
	at := l.step
	switch {
	case at == asked:
		l.step = prepared
	case at == sent && chunk[len(chunk)-1] == endOfStream:
		l.step = idle
	}
	l.mu.Unlock()
	if at != sent {
		return chunk, nil
	}
	if f.delay > 0 {
		time.Sleep(f.delay)
	}
	if chunk[len(chunk)-1] == endOfStream && rand.Float64() < f.loseAnswer {
		return nil, errCut
	}
	return chunk, nil
}

// tooMuchMemory is the server's packet Exception: code 241, name, message, no stack trace, no nested exception.
var tooMuchMemory = func() []byte {
	const exception, memoryLimitExceeded = 2, 241
	packet := binary.LittleEndian.AppendUint32([]byte{exception}, memoryLimitExceeded)
	for _, text := range []string{"DB::Exception", "DB::Exception: Memory limit (total) exceeded", ""} {
		packet = append(binary.AppendUvarint(packet, uint64(len(text))), text...)
	}
	return append(packet, 0)
}()

// The proxy's faults have the intended effect on a real server.
func TestProxy(t *testing.T) {
	t.Parallel()
	target, err := clickhouse.ParseDSN(engines.ClickHouse(t))
	require.NoError(t, err)
	p := startProxy(t, target.Addr[0])
	through := *target
	through.Addr = []string{p.address}
	direct, err := clickhouse.Open(target)
	require.NoError(t, err)
	defer func() { _ = direct.Close() }()
	conn, err := clickhouse.Open(&through)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt64) ENGINE = MergeTree ORDER BY x"))
	insert := func() error {
		batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t (x)")
		if err != nil {
			return err
		}
		for x := range uint64(1000) {
			if err := batch.Append(x); err != nil {
				return err
			}
		}
		return batch.Send()
	}
	stored := func() (rows uint64) {
		require.NoError(t, direct.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&rows))
		return rows
	}

	begin := time.Now()
	require.NoError(t, insert())
	require.EqualValues(t, 1000, stored())

	p.set(fault{loseAnswer: 1})
	require.Error(t, insert(), "the answer is lost")
	require.EqualValues(t, 2000, stored(), "and the rows are stored")

	p.set(fault{fail: 1})
	var exception *clickhouse.Exception
	require.ErrorAs(t, insert(), &exception)
	require.EqualValues(t, 241, exception.Code)
	require.EqualValues(t, 2000, stored())

	p.set(fault{delay: time.Second})
	before := time.Now()
	require.NoError(t, insert(), "the connection is sound after the error")
	require.GreaterOrEqual(t, time.Since(before), time.Second)
	require.EqualValues(t, 3000, stored())

	p.set(fault{refuse: true})
	require.Error(t, conn.Exec(t.Context(), "SELECT 1"))

	passed := make(chan uint64, 1)
	p.set(fault{sent: func(*link) { passed <- stored() }})
	require.NoError(t, insert())
	require.EqualValues(t, 3000, <-passed, "called before the rows are stored")
	require.EqualValues(t, 4000, stored())
	require.Len(t, p.insertsSince(begin), 5)
}
