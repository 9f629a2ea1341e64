// Package mcpstdio is the MCP server of an installation for clients that use stdio. It forwards each message to the
// installation's /mcp, which implements the tools.
package mcpstdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	underscore = "underscore"
	// answerTime limits a request. The server's own limit is shorter.
	answerTime = 70 * time.Second
	checkTime  = 10 * time.Second
	// maxMessage limits a line from the client. It is above the server's limit, which has a better error.
	maxMessage = 1 << 20
	// maxAnswer limits the size of a response, in bytes.
	maxAnswer = 16 << 20
	// maxRequests limits concurrent requests.
	maxRequests = 8
)

// bridge forwards messages to a server and returns its answers.
type bridge struct {
	base     *url.URL
	endpoint string
	key      string
	client   *http.Client

	mu sync.Mutex // guards the fields below
	// version is the protocol version that client and server agreed on in initialize.
	version string
	// cancels cancel the requests in progress, by id.
	cancels map[string]context.CancelFunc
	out     io.Writer
}

func newBridge(base *url.URL, key, toolNames string) *bridge {
	endpoint := base.JoinPath("mcp")
	if toolNames != "" {
		endpoint.RawQuery = url.Values{"tool_names": {toolNames}}.Encode()
	}
	return &bridge{
		base: base, endpoint: endpoint.String(), key: key, client: &http.Client{}, cancels: map[string]context.CancelFunc{},
	}
}

// check checks the address and the key at the start, when a person may still read the error.
func (b *bridge) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base.JoinPath("v1", "me").String(), http.NoBody) //nolint:gosec // the user says where
	if err != nil {
		return fmt.Errorf("check the key: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+b.key)
	response, err := b.client.Do(request) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("no Looptrace at %s: %w; give its address with --url or LOOPTRACE_ENDPOINT", b.base, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("check the key: %w", err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized:
		return fmt.Errorf("%s refuses the key in LOOPTRACE_API_KEY: %s", b.base, detail(body))
	default:
		return fmt.Errorf("%s answers %s: %s", b.base, response.Status, detail(body))
	}
}

// message is the part of a message that the bridge reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

func (m message) isRequest() bool { return len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null")) }

// run serves until in or ctx ends.
func (b *bridge) run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.out = out
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() { // ends with in, at the latest when the process ends
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(make([]byte, 64<<10), maxMessage)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		failed <- scanner.Err()
	}()
	var underWay sync.WaitGroup
	defer underWay.Wait()
	slots := make(chan struct{}, maxRequests)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, open := <-lines:
			if !open {
				if err := <-failed; err != nil {
					return fmt.Errorf("read from the client: %w", err)
				}
				return nil
			}
			if err := b.take(ctx, line, slots, &underWay); err != nil {
				return err
			}
		}
	}
}

// take forwards one message. Requests run concurrently up to a limit. Answers are returned in the order in which they
// arrive.
func (b *bridge) take(ctx context.Context, line []byte, slots chan struct{}, underWay *sync.WaitGroup) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return b.write(problem(nil, codeParse, "the message is not a JSON object of JSON-RPC"))
	}
	switch m.Method {
	case "notifications/cancelled":
		b.cancel(string(m.Params.RequestID))
		return nil
	case "": // a response: the server sends no requests
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	if m.isRequest() {
		b.mu.Lock()
		b.cancels[string(m.ID)] = cancel
		b.mu.Unlock()
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return nil
	}
	underWay.Go(func() {
		defer func() { <-slots }()
		defer b.cancel(string(m.ID))
		defer cancel()
		answer := b.ask(ctx, line, m)
		if m.isRequest() && !errors.Is(ctx.Err(), context.Canceled) {
			_ = b.write(answer) // the client is gone, and with it in
		}
	})
	return nil
}

func (b *bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.cancels[id]; cancel != nil {
		cancel()
		delete(b.cancels, id)
	}
}

// ask returns the server's answer, or an error as an answer.
func (b *bridge) ask(ctx context.Context, line []byte, m message) []byte {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.endpoint, bytes.NewReader(line)) //nolint:gosec // the user says where
	if err != nil {
		return problem(m.ID, codeServer, err.Error())
	}
	version := m.Params.Meta.Version
	if version == "" {
		b.mu.Lock()
		version = b.version
		b.mu.Unlock()
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + b.key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": version, "Mcp-Method": m.Method, "Mcp-Name": m.Params.Name,
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := b.client.Do(request) //nolint:gosec // as above
	if err != nil {
		return problem(m.ID, codeServer, "Looptrace does not answer: "+err.Error())
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return problem(m.ID, codeServer, "the answer was cut off: "+err.Error())
	}
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		Result  struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.JSONRPC == "" {
		return problem(m.ID, codeServer, fmt.Sprintf("Looptrace answers %s: %s", response.Status, detail(body)))
	}
	if m.Method == "initialize" && answer.Result.Version != "" {
		b.mu.Lock()
		b.version = answer.Result.Version
		b.mu.Unlock()
	}
	return body
}

// write writes one message as a line.
func (b *bridge) write(answer []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, answer); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.out.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// JSON-RPC error codes.
const (
	codeParse  = -32700
	codeServer = -32000
)

// problem returns an error response.
func problem(id json.RawMessage, code int, text string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	answer, _ := json.Marshal(struct { // text, a number and an id that was parsed as JSON
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   rpcError        `json:"error"`
	}{"2.0", id, rpcError{code, text}})
	return answer
}

// detail returns the detail of a problem response in one line.
func detail(body []byte) string {
	var p struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(body, &p) == nil && p.Detail != "" {
		return p.Detail
	}
	const maxDetail = 200
	line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	return string(line[:min(len(line), maxDetail)])
}
