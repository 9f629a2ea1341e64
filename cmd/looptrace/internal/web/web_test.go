package web_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/web"
	"github.com/looptrace/looptrace/internal/allowedhost"
)

// backend answers with its name and the request.
func backend(t *testing.T, name string) *url.URL {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s host=%s for=%s proto=%s fhost=%s body=%s", name, r.Method, r.URL.RequestURI(), r.Host,
			r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Forwarded-Host"), body)
	}))
	t.Cleanup(server.Close)
	return parse(t, server.URL)
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func uiDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": "<html>", "favicon.svg": "<svg/>", "assets/app-1a2b.js": "js",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func do(t *testing.T, handler http.Handler, method, target string, header http.Header) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	request.Host = "looptrace.test:7090"
	for name, values := range header {
		request.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

func text(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// hosts allow the host that do requests.
func hosts(t *testing.T) allowedhost.List {
	t.Helper()
	list, err := allowedhost.FromEnvironment(func(name string) string {
		return map[string]string{allowedhost.Setting: "looptrace.test"}[name]
	})
	require.NoError(t, err)
	return list
}

func TestRouting(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	const seen = " host=looptrace.test:7090 for=192.0.2.1 proto=http fhost=looptrace.test:7090 body="
	for _, c := range []struct {
		method, target string
		status         int
		body           string
	}{
		{"POST", "/v1/runs", 200, "ingest POST /v1/runs" + seen},
		{"POST", "/v1/traces", 200, "ingest POST /v1/traces" + seen},
		{"GET", "/v1/runs?limit=5", 200, "api GET /v1/runs?limit=5" + seen},
		{"GET", "/v1/runs/7", 200, "api GET /v1/runs/7" + seen},
		{"POST", "/v1/runs/7/replays", 200, "api POST /v1/runs/7/replays" + seen},
		{"POST", "/mcp", 200, "api POST /mcp" + seen},
		{"GET", "/llms.txt", 200, "api GET /llms.txt" + seen},
		{"GET", "/", 200, "<html>"},
		{"GET", "/index.html", 200, "<html>"},
		{"GET", "/runs/0190a7c2", 200, "<html>"},
		{"HEAD", "/runs", 200, ""},
		{"GET", "/assets/app-1a2b.js", 200, "js"},
		{"GET", "/healthz", 200, "{\"status\":\"ok\"}\n"},
	} {
		t.Run(c.method+" "+c.target, func(t *testing.T) {
			t.Parallel()
			response := do(t, handler, c.method, c.target, http.Header{
				"X-Forwarded-For": {"6.6.6.6"}, "X-Forwarded-Host": {"evil.test"}, "X-Forwarded-Proto": {"gopher"},
			})
			assert.Equal(t, c.status, response.StatusCode)
			assert.Equal(t, c.body, text(t, response))
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	for _, c := range []struct {
		method, target string
		status         int
		code           string
	}{
		{"GET", "/assets/gone-9.js", 404, "not_found"},
		{"GET", "/..%2f..%2fetc%2fpasswd.txt", 404, "not_found"},
		{"POST", "/runs", 405, "method_not_allowed"},
		// Where MCP clients look for an authorization server. A page would be an error in its JSON.
		{"GET", "/.well-known/oauth-authorization-server", 404, "not_found"},
		{"GET", "/.well-known/oauth-authorization-server/mcp", 404, "not_found"},
		{"GET", "/.well-known/oauth-protected-resource", 404, "not_found"},
		{"GET", "/.well-known/oauth-protected-resource/mcp", 404, "not_found"},
		{"GET", "/.well-known/openid-configuration", 404, "not_found"},
		{"POST", "/.well-known/oauth-protected-resource", 404, "not_found"},
		{"GET", "/mcp/", 404, "not_found"},
		{"POST", "/mcp/sse", 404, "not_found"},
		{"GET", "/mcp/.well-known/openid-configuration", 404, "not_found"},
	} {
		t.Run(c.method+" "+c.target, func(t *testing.T) {
			t.Parallel()
			response := do(t, handler, c.method, c.target, nil)
			assert.Equal(t, c.status, response.StatusCode)
			assert.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
			assert.Contains(t, text(t, response), `"code":"`+c.code+`"`)
		})
	}
}

// TestMethods: what ingest and the API serve at one path is told together.
func TestMethods(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	t.Cleanup(api.Close)
	handler := web.NewHandler(web.Config{API: parse(t, api.URL), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	for target, allow := range map[string]string{"/v1/runs": "GET, POST", "/v1/traces": "POST", "/v1/logs": "POST", "/v1/prompts": "GET"} {
		for _, method := range []string{http.MethodTrace, http.MethodOptions, http.MethodDelete} {
			response := do(t, handler, method, target, nil)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode, "%s %s", method, target)
			assert.Equal(t, allow, response.Header.Get("Allow"), "%s %s", method, target)
			assert.Equal(t, []string{"same-origin"}, response.Header.Values("Cross-Origin-Resource-Policy"), "%s %s", method, target)
		}
	}
}

// A request with a foreign Host gets no pages, and an error that names the setting to change.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	ask := func(host, method, target string, header http.Header) *http.Response {
		request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		request.Host = host
		for name, values := range header {
			request.Header[name] = values
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder.Result()
	}
	for _, target := range []string{"/", "/runs/7", "/index.html", "/assets/app-1a2b.js", "/assets/gone.js"} {
		response := ask("192.168.1.7:7090", http.MethodGet, target, nil)
		assert.Equal(t, http.StatusMisdirectedRequest, response.StatusCode)
		assert.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
		body := text(t, response)
		assert.Contains(t, body, `"code":"host_not_allowed"`)
		assert.Contains(t, body, "ALLOWED_HOSTS=192.168.1.7")

		page := ask("evil.example:7090", http.MethodGet, target, http.Header{"Accept": {"text/html,*/*"}})
		assert.Equal(t, http.StatusMisdirectedRequest, page.StatusCode)
		assert.Equal(t, "text/plain; charset=utf-8", page.Header.Get("Content-Type"))
		assert.Equal(t, "nosniff", page.Header.Get("X-Content-Type-Options"))
		assert.Contains(t, text(t, page), "evil.example is none of them")
	}
	for _, host := range []string{"localhost:7090", "127.0.0.1", "[::1]:7090", "LOOPTRACE.test."} {
		assert.Equal(t, "<html>", text(t, ask(host, http.MethodGet, "/runs", nil)), host)
	}
	for _, target := range []string{"/healthz", "/metrics"} {
		assert.Equal(t, http.StatusOK, ask("10.1.2.3:7090", http.MethodGet, target, nil).StatusCode, target)
	}
	// The API receives the original Host, and no forwarding headers that a page could set.
	assert.Contains(t, text(t, ask("evil.example:7090", http.MethodGet, "/v1/me", http.Header{"X-Forwarded-Host": {"localhost"}})), "fhost=evil.example:7090")
}

func TestHeadersOfTheUI(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	for target, cache := range map[string]string{
		"/":                   "no-cache",
		"/runs/7":             "no-cache",
		"/favicon.svg":        "no-cache",
		"/assets/app-1a2b.js": "public, max-age=31536000, immutable",
		"/assets/gone.js":     "no-cache",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			response := do(t, handler, http.MethodGet, target, nil)
			defer response.Body.Close()
			assert.Equal(t, cache, response.Header.Get("Cache-Control"))
			assert.Equal(t, "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "+
				"base-uri 'none'; frame-ancestors 'none'; form-action 'self'", response.Header.Get("Content-Security-Policy"))
			assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-referrer", response.Header.Get("Referrer-Policy"))
			assert.Equal(t, "same-origin", response.Header.Get("Cross-Origin-Opener-Policy"))
			assert.Equal(t, "same-origin", response.Header.Get("Cross-Origin-Resource-Policy"))
		})
	}
}

// The build of the UI compresses its files. The server chooses by what the client accepts.
func TestCompressedFiles(t *testing.T) {
	t.Parallel()
	dir := uiDir(t)
	for name, text := range map[string]string{
		"index.html.br": "index in brotli", "index.html.gz": "index in gzip", "assets/app-1a2b.js.br": "js in brotli", "assets/app-1a2b.js.gz": "js in gzip",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: dir, Hosts: hosts(t)})
	etags := map[string]bool{}
	for _, c := range []struct{ target, accepted, coding, kind, body string }{
		{"/assets/app-1a2b.js", "gzip, deflate, br, zstd", "br", "text/javascript; charset=utf-8", "js in brotli"},
		{"/assets/app-1a2b.js", "gzip, br;q=0", "gzip", "text/javascript; charset=utf-8", "js in gzip"},
		{"/assets/app-1a2b.js", "", "", "text/javascript; charset=utf-8", "js"},
		{"/runs/7", "br", "br", "text/html; charset=utf-8", "index in brotli"},
		{"/", "gzip", "gzip", "text/html; charset=utf-8", "index in gzip"},
		{"/", "identity", "", "text/html; charset=utf-8", "<html>"},
	} {
		response := do(t, handler, http.MethodGet, c.target, http.Header{"Accept-Encoding": {c.accepted}})
		assert.Equal(t, c.body, text(t, response), c)
		assert.Equal(t, c.coding, response.Header.Get("Content-Encoding"), c)
		assert.Equal(t, c.kind, response.Header.Get("Content-Type"), c)
		assert.Equal(t, strconv.Itoa(len(c.body)), response.Header.Get("Content-Length"), c)
		assert.Equal(t, "Accept-Encoding", response.Header.Get("Vary"), c)
		etag := response.Header.Get("ETag")
		assert.NotContains(t, etags, etag, "each coding of a file has its own")
		etags[etag] = true

		again := do(t, handler, http.MethodGet, c.target, http.Header{"Accept-Encoding": {c.accepted}, "If-None-Match": {etag}})
		assert.Equal(t, http.StatusNotModified, again.StatusCode, c)
		assert.Empty(t, text(t, again), c)
	}
	plain := do(t, handler, http.MethodGet, "/favicon.svg", http.Header{"Accept-Encoding": {"br"}})
	assert.Equal(t, "<svg/>", text(t, plain))
	assert.Empty(t, plain.Header.Get("Vary"))
	compressed := do(t, handler, http.MethodGet, "/assets/app-1a2b.js.br", nil)
	assert.Contains(t, text(t, compressed), `"code":"not_found"`)
}

func TestBackendAway(t *testing.T) {
	t.Parallel()
	away := parse(t, "http://127.0.0.1:1")
	handler := web.NewHandler(web.Config{API: away, Ingest: away, UI: uiDir(t), Hosts: hosts(t)})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		response := do(t, handler, method, "/v1/runs", nil)
		assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
		assert.Equal(t, "2", response.Header.Get("Retry-After"))
		assert.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
		body := text(t, response)
		assert.Contains(t, body, `"code":"upstream_unavailable"`)
		assert.Contains(t, body, map[string]string{http.MethodGet: "The API is not running", http.MethodPost: "Ingest is not running"}[method])
	}
	metrics := text(t, do(t, handler, http.MethodGet, "/metrics", nil))
	assert.Contains(t, metrics, `looptrace_web_requests_total{code="503",part="ingest"} 1`)
}

// part answers /readyz like the API and the collector.
func part(t *testing.T, ready *atomic.Bool) *url.URL {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/readyz", r.URL.Path)
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, `{"checks":{"postgresql":"unavailable: 10.0.0.7 refused"}}`)
	}))
	t.Cleanup(server.Close)
	return parse(t, server.URL)
}

// The health address names the parts that are not ready, without reasons.
func TestReadiness(t *testing.T) {
	t.Parallel()
	var api, collector atomic.Bool
	api.Store(true)
	handler := web.NewHandler(web.Config{
		API: part(t, &api), Ingest: backend(t, "ingest"), Collector: part(t, &collector), UI: uiDir(t), Hosts: hosts(t),
	})
	response := do(t, handler, http.MethodGet, "/readyz", nil)
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.JSONEq(t, `{"status":"unavailable","checks":{"ui":"ok","api":"ok","collector":"unavailable"}}`, text(t, response))

	collector.Store(true)
	require.Eventually(t, func() bool {
		response = do(t, handler, http.MethodGet, "/readyz", nil)
		return response.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	assert.JSONEq(t, `{"status":"ok","checks":{"ui":"ok","api":"ok","collector":"ok"}}`, text(t, response))

	alone := web.NewHandler(web.Config{API: part(t, &api), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	assert.JSONEq(t, `{"status":"ok","checks":{"ui":"ok","api":"ok"}}`, text(t, do(t, alone, http.MethodGet, "/readyz", nil)))
}

func TestUINotBuilt(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: t.TempDir(), Hosts: hosts(t)})
	for _, target := range []string{"/", "/readyz"} {
		response := do(t, handler, http.MethodGet, target, nil)
		defer response.Body.Close()
		assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	}
}

// start serves a handler until the returned function is called, and records what Serve logs, such as panics.
func start(t *testing.T, handler http.Handler) (addr string, logged *syncBuffer, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr = listener.Addr().String()
	require.NoError(t, listener.Close())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	logged = &syncBuffer{}
	go func() { ended <- web.Serve(ctx, addr, handler, slog.New(slog.NewTextHandler(logged, nil))) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { assert.NoError(t, stop()) })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		return err == nil && conn.Close() == nil
	}, 5*time.Second, 5*time.Millisecond)
	return addr, logged, stop
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// send opens a connection that sends text. Its deadline is 20 seconds.
func send(t *testing.T, addr, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn, bufio.NewReader(conn)
}

// A client that sends a broken body, or leaves before its end, is neither an error of a backend nor a bug.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	addr, logged, stop := start(t, handler)
	const chunks = " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, path := range []string{"/v1/runs", "/v1/traces", "/mcp", "/v1/login"} {
		_, from := send(t, addr, "POST "+path+chunks+"5\r\nabcdeX\r\n")
		response, err := http.ReadResponse(from, nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, path)
		assert.Empty(t, response.Header.Get("Retry-After"))
		assert.Contains(t, text(t, response), `"code":"malformed_body"`)

		conn, from := send(t, addr, "POST "+path+chunks+"5\r\nab")
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		response, err = http.ReadResponse(from, nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, path)
		require.NoError(t, response.Body.Close())

		conn, _ = send(t, addr, "POST "+path+chunks+"5\r\nab")
		require.NoError(t, conn.Close())
	}
	require.NoError(t, stop())
	assert.NotContains(t, logged.String(), "panic")
}

// A connection whose body does not arrive is closed: when the body is not read, and when the server ends.
func TestBodiesThatNeverEnd(t *testing.T) {
	t.Parallel()
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	addr, logged, stop := start(t, handler)
	const one = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n1"
	_, page := send(t, addr, "POST /"+one)
	response, err := http.ReadResponse(page, nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	require.NoError(t, response.Body.Close())
	_, err = page.ReadByte()
	require.ErrorIs(t, err, io.EOF)

	var open []*bufio.Reader
	for _, path := range []string{"/v1/runs", "/v1/login", "/mcp"} {
		_, from := send(t, addr, "POST "+path+one)
		open = append(open, from)
	}
	begin := time.Now()
	require.NoError(t, stop())
	assert.Less(t, time.Since(begin), 12*time.Second, "a body may stop for 15 s")
	for _, from := range open {
		_, _ = io.Copy(io.Discard, from) // to the end
	}
	assert.NotContains(t, logged.String(), "panic")
}

// TestEventsArriveAtOnce needs a real server: the first event must arrive while the response is open, and the end of
// the server must close the stream.
func TestEventsArriveAtOnce(t *testing.T) {
	t.Parallel()
	events := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(events.Close)
	addr, _, stop := start(t, web.NewHandler(web.Config{API: parse(t, events.URL), Ingest: parse(t, events.URL), UI: uiDir(t), Hosts: hosts(t)}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/v1/events", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "data: 1\n", line)

	require.NoError(t, stop())
}

// A response may begin before the end of its request: both must be complete.
func TestAnswerWhileAsking(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.NoError(t, http.NewResponseController(w).EnableFullDuplex())
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			_, _ = fmt.Fprintln(w, lines.Text())
			_ = http.NewResponseController(w).Flush()
		}
		assert.NoError(t, lines.Err())
	}))
	t.Cleanup(echo.Close)
	addr, _, _ := start(t, web.NewHandler(web.Config{API: parse(t, echo.URL), Ingest: parse(t, echo.URL), UI: uiDir(t), Hosts: hosts(t)}))

	body, lines := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = body.Close() }) // the client waits for what it reads from
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/mcp", body)
	require.NoError(t, err)
	request.ContentLength = int64(len("asked\nand asked\n"))
	go func() { _, _ = io.WriteString(lines, "asked\n") }()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer := bufio.NewReader(response.Body)
	line, err := answer.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "asked\n", line)
	_, err = io.WriteString(lines, "and asked\n")
	require.NoError(t, err)
	require.NoError(t, lines.Close())
	rest, err := io.ReadAll(answer)
	require.NoError(t, err)
	assert.Equal(t, "and asked\n", string(rest))
}
