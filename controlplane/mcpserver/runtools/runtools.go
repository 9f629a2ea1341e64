// Package runtools has the MCP tools that find, read and compare runs, and group failed ones.
package runtools

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
)

// tools are the tools about runs.
type tools struct {
	*tool.Shared

	failures Failures
	causes   Causes
}

// Add adds the tools to a server.
func Add(server *mcp.Server, shared *tool.Shared, grouped Failures, candidates Causes) error {
	own := &tools{shared, grouped, candidates}
	for name, add := range map[string]func(*mcp.Server) error{
		tool.RunsSearch: own.addSearch, tool.RunsFailures: own.addFailures, tool.RunsRead: own.addRead, tool.RunsDiff: own.addCompare,
	} {
		if err := add(server); err != nil {
			return fmt.Errorf("add tool %s: %w", name, err)
		}
	}
	return nil
}
