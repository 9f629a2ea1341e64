// Package replaytools has the MCP tools that replay runs with edits, and list work that takes longer than a request.
package replaytools

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// tools are the tools about replays and other work.
type tools struct {
	*tool.Shared

	replays    Replays
	batches    ReplayBatches
	work       Work
	readFilter ReadFilter
}

// ReadFilter reads the filters of runs of a project from a query string.
type ReadFilter func(project uuid.UUID, text string) (runs.Filter, error)

// Add adds the tools to a server.
func Add(server *mcp.Server, shared *tool.Shared, replayed Replays, batches ReplayBatches, listed Work, readFilter ReadFilter) error {
	own := &tools{shared, replayed, batches, listed, readFilter}
	for name, add := range map[string]func(*mcp.Server) error{tool.ReplayEdit: own.addReplay, tool.ReplayDiff: own.addReplayDiff, tool.WorkList: own.addWork} {
		if err := add(server); err != nil {
			return fmt.Errorf("add tool %s: %w", name, err)
		}
	}
	return nil
}
