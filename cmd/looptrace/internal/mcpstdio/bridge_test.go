package mcpstdio

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rig is a bridge between pipes and a test server.
type rig struct {
	in     *io.PipeWriter
	out    *bufio.Scanner
	ended  chan error
	bridge *bridge
}

func start(t *testing.T, server http.HandlerFunc) *rig {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	base, err := url.Parse(s.URL)
	require.NoError(t, err)
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	r := &rig{in: inWriter, out: bufio.NewScanner(outReader), ended: make(chan error, 1), bridge: newBridge(base, "lt_k.s", underscore)}
	go func() { r.ended <- r.bridge.run(context.Background(), inReader, outWriter) }()
	t.Cleanup(func() { assert.NoError(t, inWriter.Close()) })
	return r
}

func (r *rig) send(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(r.in, line+"\n")
	require.NoError(t, err)
}

func (r *rig) receive(t *testing.T) map[string]any {
	t.Helper()
	require.True(t, r.out.Scan(), "%v", r.out.Err())
	var answer map[string]any
	require.NoError(t, json.Unmarshal(r.out.Bytes(), &answer), r.out.Text())
	return answer
}

func TestMessagesAreHandedOn(t *testing.T) {
	t.Parallel()
	r := start(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer lt_k.s", r.Header.Get("Authorization"))
		assert.Equal(t, "/mcp?tool_names=underscore", r.URL.RequestURI())
		body, _ := io.ReadAll(r.Body)
		var m message
		assert.NoError(t, json.Unmarshal(body, &m))
		assert.Equal(t, m.Method, r.Header.Get("Mcp-Method"))
		if !m.isRequest() {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
			"protocolVersion": "2025-06-18", "asked": r.Header.Get("Mcp-Protocol-Version"), "name": r.Header.Get("Mcp-Name"),
		}})
		_, _ = w.Write([]byte(strings.ReplaceAll(string(answer), ",", ",\n")))
	})
	result := func(answer map[string]any) map[string]any { return answer["result"].(map[string]any) }
	r.send(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
	assert.Empty(t, result(r.receive(t))["asked"])
	r.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	r.send(t, "")
	r.send(t, `{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"runs_read"}}`)
	answer := r.receive(t)
	assert.Equal(t, "two", answer["id"])
	assert.Equal(t, "2025-06-18", result(answer)["asked"], "what was agreed on")
	assert.Equal(t, "runs_read", result(answer)["name"])
	r.send(t, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	assert.Equal(t, "2026-07-28", result(r.receive(t))["asked"], "what the message says")
	r.send(t, "not JSON")
	assert.InDelta(t, codeParse, r.receive(t)["error"].(map[string]any)["code"], 0)
	require.NoError(t, r.in.Close())
	require.NoError(t, <-r.ended)
}

func TestWhatGoesWrongIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"detail":"The key is revoked."}`)
	})
	r.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	assert.Equal(t, "Looptrace answers 401 Unauthorized: The key is revoked.", r.receive(t)["error"].(map[string]any)["message"])
	require.ErrorContains(t, r.bridge.check(t.Context()), "refuses the key in LOOPTRACE_API_KEY: The key is revoked.")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	asked, left := make(chan struct{}), make(chan struct{})
	r := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "slow") {
			close(asked)
			<-r.Context().Done()
			close(left)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	})
	r.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)
	<-asked
	r.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-left
	r.send(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	assert.InDelta(t, 2, r.receive(t)["id"], 0, "no answer to what was cancelled")
}
