package apikey

import "slices"

// Scopes of keys. A key does what its scopes name and nothing else; admin names
// everything.
const (
	ScopeIngestWrite   = "ingest:write"
	ScopeRunsRead      = "runs:read"
	ScopeRunsWrite     = "runs:write"
	ScopeDatasetsRead  = "datasets:read"
	ScopeDatasetsWrite = "datasets:write"
	ScopePromptsRead   = "prompts:read"
	ScopePromptsWrite  = "prompts:write"
	ScopeEvalsRead     = "evals:read"
	ScopeEvalsWrite    = "evals:write"
	ScopeReplaysRead   = "replays:read"
	ScopeReplaysWrite  = "replays:write"
	ScopeAdmin         = "admin"
)

var scopes = []string{
	ScopeIngestWrite,
	ScopeRunsRead, ScopeRunsWrite,
	ScopeDatasetsRead, ScopeDatasetsWrite,
	ScopePromptsRead, ScopePromptsWrite,
	ScopeEvalsRead, ScopeEvalsWrite,
	ScopeReplaysRead, ScopeReplaysWrite,
	ScopeAdmin,
}

// Scopes returns every scope, in the order in which they are shown.
func Scopes() []string { return slices.Clone(scopes) }

// ValidScope tells whether scope is one that a key can have.
func ValidScope(scope string) bool { return slices.Contains(scopes, scope) }

// Allows tells whether a key that was granted these scopes may do what scope
// names.
func Allows(granted []string, scope string) bool {
	return slices.Contains(granted, scope) || slices.Contains(granted, ScopeAdmin)
}
