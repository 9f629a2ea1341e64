// Package mcpserver serves runs to agents over the Model Context Protocol. Its tools call the same services as the REST
// API does, for the caller whom the HTTP face has found out. docs/mcp.md describes it.
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

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// Runs reads runs.
type Runs interface {
	List(ctx context.Context, in access.Projects, q runs.ListQuery) (runs.Page, error)
	Outline(ctx context.Context, in access.Projects, runID uuid.UUID) (runs.Outline, error)
	Excerpts(ctx context.Context, outline runs.Outline, spanIDs []uint64) ([]runs.Span, error)
}

// Config is what the tools work with.
type Config struct {
	Runs Runs
	// FenceKey decides the marks around recorded text.
	FenceKey []byte
	Log      *slog.Logger
}

// Names of the parameter that says how tools are named, and of its one value.
const (
	ToolNames  = "tool_names"
	Underscore = "underscore"
)

const (
	// requestTime bounds a request, a stream that a client holds open included.
	requestTime = 50 * time.Second
	// maxBody bounds a request's body; arguments are short.
	maxBody = 64 << 10
)

//go:embed instructions.md
var instructions string

// New returns the server as an HTTP handler. It keeps no sessions: any replica answers any request, each with its own
// key. The context of each request says who calls, as [access.WithCaller] does.
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
		// Every request needs a key, which no page can make a browser add. The Host is the one that web was asked for.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if names := r.URL.Query()[ToolNames]; len(names) > 1 || (len(names) == 1 && names[0] != Underscore) {
			(&reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, ToolNames + " must be " + Underscore + ", or absent"}).write(w)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			(&reply{http.StatusRequestEntityTooLarge, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the body is larger than %d bytes", maxBody)}).write(w)
			return
		case err != nil:
			(&reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "the body was cut off"}).write(w)
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

// newServer makes a server whose tools have the names that name gives them.
func newServer(c Config, name func(string) string) (*mcp.Server, error) {
	text := instructions
	for _, tool := range []string{searchTool, readTool} {
		text = strings.ReplaceAll(text, "`"+tool+"`", "`"+name(tool)+"`")
	}
	server := mcp.NewServer(
		&mcp.Implementation{Name: "looptrace", Title: "Looptrace", Version: "1"},
		&mcp.ServerOptions{
			Instructions: text,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list does not change
		})
	t := &tools{Config: c, name: name}
	if err := t.addSearch(server); err != nil {
		return nil, fmt.Errorf("add tool %s: %w", searchTool, err)
	}
	if err := t.addRead(server); err != nil {
		return nil, fmt.Errorf("add tool %s: %w", readTool, err)
	}
	return server, nil
}
