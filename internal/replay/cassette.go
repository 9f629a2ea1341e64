package replay

// Tier is how well a tool call fits a recorded one.
type Tier string

// The tiers, from the best to the worst.
const (
	// TierHit: the same tool, arguments and occurrence.
	TierHit Tier = "hit"
	// TierReordered: another occurrence of the same call of a reading tool, all of which had the same result.
	TierReordered Tier = "hit_reordered"
	// TierAmbiguous: another occurrence, and the results differ or the tool writes.
	TierAmbiguous Tier = "stateful_ambiguous"
	// TierNormalised: the same call after normalisation: without the dropped arguments, spaces and case of Unicode forms.
	TierNormalised Tier = "hit_normalised"
	// TierMiss: no recorded call.
	TierMiss Tier = "miss"
)

// OnMiss is what happens to a tool call that the recording does not have.
type OnMiss string

// The policies. MissSimulate and MissWorker are refused by this version.
const (
	// MissStop ends the attempt. It is the default.
	MissStop OnMiss = "stop"
	// MissNearest serves the recorded call of the tool with the most similar arguments, if they are similar enough. Else it stops.
	MissNearest OnMiss = "nearest"
	// MissFixed serves ToolPolicy.Result.
	MissFixed    OnMiss = "fixed"
	MissSimulate OnMiss = "simulate"
	MissWorker   OnMiss = "worker"
)

// ToolPolicy is what the caller says of a tool.
type ToolPolicy struct {
	OnMiss OnMiss `json:"on_miss,omitempty"`
	// SideEffects overrides what was recorded.
	SideEffects SideEffects `json:"side_effects,omitempty"`
	// Drop names top-level arguments that do not count, such as request_id.
	Drop []string `json:"drop,omitempty"`
	// Result is for MissFixed.
	Result *string `json:"result,omitempty"`
}

// CheckTools validates policies. Its error is a problem.Error of kind Invalid that names each wrong value below path, such as
// body.tools.search.on_miss, with what to do.
func CheckTools(tools map[string]ToolPolicy, path string) error { return checkTools(tools, path) }
