package tool

// The names of the tools.
const (
	RunsSearch   = "runs.search"
	RunsFailures = "runs.failures"
	RunsRead     = "runs.read"
	RunsDiff     = "runs.diff"
	ReplayEdit   = "replay.edit"
	ReplayDiff   = "replay.diff"
	WorkList     = "work.list"
)
