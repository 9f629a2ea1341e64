package requestbody

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// generous are limits that no test reaches.
var generous = Limits{Idle: time.Minute, Total: time.Minute}

// errorLog is the server's log, which has panics.
type errorLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *errorLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func serve(t *testing.T, stopping context.Context, limits Limits, handler http.HandlerFunc) (string, *errorLog) { //nolint:revive // it is no call's context
	t.Helper()
	logged := &errorLog{}
	server := httptest.NewUnstartedServer(Bound(stopping, handler, limits))
	server.Config.ErrorLog = log.New(logged, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), logged
}

// connect opens a connection that sends text. Its deadline is half a minute.
func connect(t *testing.T, addr, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn, bufio.NewReader(conn)
}

func answer(t *testing.T, from *bufio.Reader) (status int, body string) {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func closed(t *testing.T, from *bufio.Reader) {
	t.Helper()
	rest, err := io.ReadAll(from)
	if err != nil {
		require.ErrorContains(t, err, "reset", "or it is closed on a client that still sends")
	}
	assert.Empty(t, string(rest))
}

func post(length int, sent string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", length, sent)
}

func chunked(sent string) string {
	return "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + sent
}

// tell answers with the error that ended reading.
func tell(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var failed *Error
	switch {
	case err == nil:
		_, _ = fmt.Fprintf(w, "%d bytes", len(body))
	case errors.As(err, &failed):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "late: %t, stopped: %t", failed.Late(), failed.Stopped())
	}
}

func ignore(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "7")
	_, _ = io.WriteString(w, "ignored")
}

func TestBodyThatStandsStill(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{"with a length": post(10, "1"), "in chunks": chunked("5\r\n1")} {
		for limit, limits := range map[string]Limits{"idle": {50 * time.Millisecond, time.Minute}, "total": {time.Minute, 50 * time.Millisecond}} {
			addr, logged := serve(t, t.Context(), limits, tell)
			_, from := connect(t, addr, request)
			status, text := answer(t, from)
			assert.Equal(t, http.StatusBadRequest, status, "%s, %s", name, limit)
			assert.Equal(t, "late: true, stopped: false", text, "%s, %s", name, limit)
			closed(t, from)
			assert.Empty(t, logged.String())
		}
	}
}

// A body that nobody reads has the same limits, and does not delay the answer.
func TestBodyThatNobodyReads(t *testing.T) {
	t.Parallel()
	for _, request := range []string{post(10, "1"), chunked("5\r\n1"), post(10<<20, "1")} {
		addr, logged := serve(t, t.Context(), generous, ignore)
		_, from := connect(t, addr, request)
		status, text := answer(t, from)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, "ignored", text)
		closed(t, from)
		assert.Empty(t, logged.String())
	}
}

func TestSlowBodyThatGoesOn(t *testing.T) {
	t.Parallel()
	const parts, pause = 20, 20 * time.Millisecond
	addr, _ := serve(t, t.Context(), Limits{Idle: 10 * pause, Total: time.Minute}, tell)
	conn, from := connect(t, addr, post(parts, ""))
	beat := time.NewTicker(pause)
	defer beat.Stop()
	for range parts { // longer than a byte may take
		<-beat.C
		_, err := io.WriteString(conn, "x")
		require.NoError(t, err)
	}
	_, text := answer(t, from)
	assert.Equal(t, "20 bytes", text)
}

// The limits of a body do not apply to its answer, neither before its end nor after.
func TestAnswerThatLasts(t *testing.T) {
	t.Parallel()
	limits := Limits{Idle: 20 * time.Millisecond, Total: 40 * time.Millisecond}
	addr, _ := serve(t, t.Context(), limits, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.ReadAll(r.Body) // again, at its end
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(10 * limits.Total):
			_, _ = io.WriteString(w, "lasted")
		case <-r.Context().Done():
			_, _ = io.WriteString(w, "cut off")
		}
	})
	_, from := connect(t, addr, post(1, "1"))
	_, text := answer(t, from)
	assert.Equal(t, "lasted", text)
}

// A client that receives its answer early and sends the rest later keeps its connection. The server's own way to
// discard such a body panics: "invalid concurrent Body.Read call".
func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	for name, request := range map[string][2]string{"with a length": {post(10, "1"), "234567890"}, "in chunks": {chunked("5\r\n1"), "2345\r\n0\r\n\r\n"}} {
		addr, logged := serve(t, t.Context(), generous, ignore)
		conn, from := connect(t, addr, request[0])
		for range 3 {
			_, text := answer(t, from)
			assert.Equal(t, "ignored", text)
			_, err := io.WriteString(conn, request[1])
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
			_, err = from.Peek(1)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the connection stays")
			require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
			_, err = io.WriteString(conn, request[0])
			require.NoError(t, err)
		}
		assert.Empty(t, logged.String(), name)
	}
}

// After a broken body nothing on the connection is a request, because it might come from a different sender.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{"read": tell, "ignored": ignore} {
		addr, logged := serve(t, t.Context(), generous, handler)
		_, from := connect(t, addr, chunked("zz\r\n")+"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, text := answer(t, from)
		assert.Contains(t, []string{"late: false, stopped: false", "ignored"}, text, name)
		closed(t, from)
		assert.Empty(t, logged.String(), name)
	}
}

// A client that disconnects, and one that does not, while two read its body: a goroutine of the handler, and the
// server.
func TestReaderThatOutlivesItsHandler(t *testing.T) {
	t.Parallel()
	var readers sync.WaitGroup
	addr, logged := serve(t, t.Context(), generous, func(w http.ResponseWriter, r *http.Request) {
		started := make(chan struct{})
		readers.Go(func() {
			close(started)
			_, err := io.Copy(io.Discard, r.Body)
			assert.Error(t, err)
		})
		<-started
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "early")
	})
	for _, request := range []string{post(10, "1"), chunked("5\r\n1")} {
		conn, from := connect(t, addr, request)
		_, text := answer(t, from)
		assert.Equal(t, "early", text)
		require.NoError(t, conn.Close())
		_, from = connect(t, addr, request)
		_, text = answer(t, from)
		assert.Equal(t, "early", text)
		closed(t, from)
	}
	readers.Wait()
	assert.Empty(t, logged.String())
}

// The end of a body may be read in the moment in which its handler ends. The requests that follow on the connection are not
// cancelled for it. The reader and the handler meet only sometimes, so there are many tries.
func TestEndOfBodyMeetsEndOfHandler(t *testing.T) {
	t.Parallel()
	var readers sync.WaitGroup
	server := httptest.NewServer(Bound(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusGone)
			return
		}
		started := make(chan struct{})
		readers.Go(func() {
			close(started)
			_, _ = io.Copy(io.Discard, r.Body) // it may be closed
		})
		<-started
		w.WriteHeader(http.StatusForbidden)
	}), generous))
	t.Cleanup(server.Close)
	client := server.Client()
	for n := range 3000 {
		response, err := client.Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("x", n%64<<10)))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusForbidden, response.StatusCode, n)
	}
	readers.Wait()
}

func TestStopping(t *testing.T) {
	t.Parallel()
	stopping, stop := context.WithCancel(t.Context())
	read := make(chan struct{}, 2)
	answering := make(chan struct{})
	addr, _ := serve(t, stopping, generous, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 1 { // it has arrived: it is answered
			_, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			read <- struct{}{}
			<-answering
			assert.NoError(t, r.Context().Err())
			_, _ = io.WriteString(w, "answered")
			return
		}
		_, err := r.Body.Read(make([]byte, 1))
		assert.NoError(t, err)
		read <- struct{}{}
		tell(w, r)
	})
	_, whole := connect(t, addr, post(1, "1"))
	_, part := connect(t, addr, post(10, "1"))
	<-read
	<-read
	stop()
	_, text := answer(t, part)
	assert.Equal(t, "late: true, stopped: true", text)
	closed(t, part)
	close(answering)
	_, text = answer(t, whole)
	assert.Equal(t, "answered", text)

	_, late := connect(t, addr, post(10, "1"))
	status, _ := answer(t, late)
	assert.Equal(t, http.StatusBadRequest, status, "what begins now is not waited for")
}

func TestContinue(t *testing.T) {
	t.Parallel()
	request := strings.Replace(post(10, ""), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1)
	addr, _ := serve(t, t.Context(), generous, ignore)
	_, from := connect(t, addr, request)
	status, text := answer(t, from)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ignored", text)
	closed(t, from)

	addr, _ = serve(t, t.Context(), generous, tell)
	conn, from := connect(t, addr, request)
	status, _ = answer(t, from)
	require.Equal(t, http.StatusContinue, status)
	_, err := io.WriteString(conn, "1234567890")
	require.NoError(t, err)
	_, text = answer(t, from)
	assert.Equal(t, "10 bytes", text)
}

// Without a server below, as in tests of handlers, there is nothing to limit.
func TestWithoutConnection(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Bound(t.Context(), http.HandlerFunc(tell), generous).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("1234")))
	assert.Equal(t, "4 bytes", w.Body.String())
}
