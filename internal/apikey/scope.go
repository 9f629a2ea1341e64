package apikey

import "slices"

// Scopes of keys. A key may do only what its scopes name. admin includes all others.
const (
	ScopeIngestWrite      = "ingest:write"
	ScopeRunsRead         = "runs:read"
	ScopeRunsWrite        = "runs:write"
	ScopeDatasetsRead     = "datasets:read"
	ScopeDatasetsWrite    = "datasets:write"
	ScopePromptsRead      = "prompts:read"
	ScopePromptsWrite     = "prompts:write"
	ScopeEvalsRead        = "evals:read"
	ScopeEvalsWrite       = "evals:write"
	ScopeReplaysRead      = "replays:read"
	ScopeReplaysWrite     = "replays:write"
	ScopeCompletionsWrite = "completions:write"
	ScopeAdmin            = "admin"
)

var scopes = []string{
	ScopeIngestWrite,
	ScopeRunsRead, ScopeRunsWrite,
	ScopeDatasetsRead, ScopeDatasetsWrite,
	ScopePromptsRead, ScopePromptsWrite,
	ScopeEvalsRead, ScopeEvalsWrite,
	ScopeReplaysRead, ScopeReplaysWrite,
	ScopeCompletionsWrite,
	ScopeAdmin,
}

// Scopes returns all scopes in their display order.
func Scopes() []string { return slices.Clone(scopes) }

// ValidScope reports whether a key may have the scope.
func ValidScope(scope string) bool { return slices.Contains(scopes, scope) }

// Allows reports whether a key with the granted scopes has the scope.
func Allows(granted []string, scope string) bool {
	return slices.Contains(granted, scope) || slices.Contains(granted, ScopeAdmin)
}
