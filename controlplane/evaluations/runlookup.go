package evaluations

// RunLookup is what became of the look at the run of a result.
type RunLookup string

// The lookups of runs.
const (
	RunWaiting     RunLookup = "waiting"
	RunRead        RunLookup = "read"
	RunNotFound    RunLookup = "not_found"
	RunUnfinished  RunLookup = "unfinished"
	RunUnavailable RunLookup = "unavailable"
	RunNotAllowed  RunLookup = "not_allowed"
	// lookupUngraded: no run is looked for, but graders have yet to grade the result. lookupNone is left of it.
	RunUngraded RunLookup = "ungraded"
	RunNone     RunLookup = ""
)
