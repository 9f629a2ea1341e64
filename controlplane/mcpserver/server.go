// Package mcpserver serves runs and prompts to agents over the Model Context Protocol. It uses the same services as the
// REST API. The HTTP layer authenticates the caller. docs/mcp.md describes the server.
package mcpserver

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/mcpserver/replaytools"
	"github.com/looptrace/looptrace/controlplane/mcpserver/runtools"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
)

// Config holds the dependencies of the tools. All fields are required.
type Config struct {
	Runs     tool.Runs
	Failures runtools.Failures
	Causes   runtools.Causes
	Prompts  Prompts
	Replays  replaytools.Replays
	Batches  replaytools.ReplayBatches
	Work     replaytools.Work
	// ReadFilter reads the filters of runs of a project from a query string.
	ReadFilter replaytools.ReadFilter
	// FenceKey is the secret key that determines the marks around recorded text.
	FenceKey []byte
	Log      *slog.Logger
}

// ToolNames is the query parameter for the style of tool names. Its only value is Underscore.
const (
	ToolNames  = "tool_names"
	Underscore = "underscore"
)

const (
	// requestTime is the time limit of a request, including a stream that a client keeps open.
	requestTime = 50 * time.Second
	// maxBody is the maximum size of a request body in bytes.
	maxBody = 64 << 10
)

//go:embed instructions.md
var instructions string

// New returns the server as an HTTP handler. It has no sessions, so every replica can serve every request. The context
// of a request must have the caller (see [access.WithCaller]).
func New(c Config) (http.Handler, error) {
	dotted, err := newServer(c, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	underscored, err := newServer(c, func(name string) string { return strings.ReplaceAll(name, ".", "_") })
	if err != nil {
		return nil, err
	}
	streamable := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if r.URL.Query().Get(ToolNames) == Underscore {
			return underscored
		}
		return dotted
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		// Every request needs a key, which a web page cannot make a browser send. Host is the host of the request to web.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if names := r.URL.Query()[ToolNames]; len(names) > 1 || (len(names) == 1 && names[0] != Underscore) {
			(&reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, ToolNames + " must be " + Underscore + " or absent"}).write(w)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			(&reply{http.StatusRequestEntityTooLarge, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the body is larger than %d bytes", maxBody)}).write(w)
			return
		case err != nil:
			(&reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "the body is incomplete"}).write(w)
			return
		}
		if direct := replyTo(body, r.Header.Get("Mcp-Protocol-Version")); direct != nil {
			direct.write(w)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		streamable.ServeHTTP(w, r)
	}), nil
}

// newServer creates a server. name maps the canonical names of tools to the names that clients see.
func newServer(c Config, name func(string) string) (*mcp.Server, error) {
	text := instructions
	for _, canonical := range []string{tool.RunsSearch, tool.RunsFailures, tool.RunsRead, tool.RunsDiff, tool.ReplayEdit, tool.ReplayDiff, tool.WorkList} {
		text = strings.ReplaceAll(text, "`"+canonical+"`", "`"+name(canonical)+"`")
	}
	server := mcp.NewServer(
		&mcp.Implementation{Name: "looptrace", Title: "Looptrace", Version: "1"},
		&mcp.ServerOptions{
			Instructions: text,
			// There are no streams that could tell of changes.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}},
		})
	t := &tool.Shared{Runs: c.Runs, FenceKey: c.FenceKey, Log: c.Log, Name: name}
	if err := runtools.Add(server, t, c.Failures, c.Causes); err != nil {
		return nil, err
	}
	if err := replaytools.Add(server, t, c.Replays, c.Batches, c.Work, c.ReadFilter); err != nil {
		return nil, err
	}
	server.AddReceivingMiddleware(promptServer{c.Prompts, c.Log}.servePrompts)
	return server, nil
}
