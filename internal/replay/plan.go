package replay

// Fate is what an attempt would do with a recorded step.
type Fate string

// The fates.
const (
	FateCopied Fate = "copied"
	FateServed Fate = "served"
	// FateLive: the model would be called.
	FateLive Fate = "live"
	// FateUnknown: it depends on an answer that nobody has yet, or the attempt would have stopped before.
	FateUnknown Fate = "unknown"
)

// Plan is what an attempt would do. Calls that only the attempt would make are not part of it.
type Plan struct {
	// Steps are those of the recording, in its order.
	Steps []PlanStep `json:"steps"`
	// Fork is the first step that is not copied, -1 if all are.
	Fork int `json:"fork"`
	// Counts are the model calls and tool calls by their fate.
	Counts map[Fate]int `json:"counts"`
	// Stop is where the attempt would end for certain. Its reason is StopCompleted if nothing is known that ends it early.
	Stop Stop `json:"stop"`
	// Calls estimate the live model calls of one attempt.
	Calls Estimates `json:"calls"`
	// Missing is what the recording lacks, as in Replayability.
	Missing []Missing `json:"missing,omitempty"`
	// Warnings are sentences about what weakens a verdict, such as tools that count as writing because nothing is known of them.
	Warnings []string `json:"warnings,omitempty"`
}

// PlanStep is what an attempt would do with a recorded step.
type PlanStep struct {
	Recorded int    `json:"recorded"`
	SpanID   string `json:"span_id"`
	Kind     Kind   `json:"kind"`
	Name     string `json:"name"`
	Fate     Fate   `json:"fate"`
	// Edits are the indexes of the edits that change the step.
	Edits []int `json:"edits,omitempty"`
	// InCone reports that the step can depend on the edit: see Recording.Cone.
	InCone bool `json:"in_cone"`
	// OnMiss says of a tool call of the fate unknown what happens if the recording does not have it.
	OnMiss OnMiss `json:"on_miss,omitempty"`
	// SideEffects is the class that counts for a tool call.
	SideEffects SideEffects `json:"side_effects,omitempty"`
	// Note says why, if it is not plain.
	Note string `json:"note,omitempty"`
}

// Estimates are the least, the likely and the most of the live calls of an attempt. The least is one call for each loop that
// is live, the likely as many as recorded, the most as many as the step limit allows, each as large as the largest.
type Estimates struct {
	Least, Likely, Most Estimate
}

// Estimate is the size of some model calls.
type Estimate struct {
	Calls int `json:"calls"`
	// ByModel are the tokens by the name of the model.
	ByModel map[string]Tokens `json:"by_model"`
}

// Tokens are those of some calls. Guessed counts the calls whose tokens were not recorded: they are guessed from the
// length of the texts, with 2.7 bytes a token.
type Tokens struct {
	Calls, Input, Output int64
	Guessed              int64
}

// MakePlan says what an attempt would do. No call is made.
func MakePlan(recording *Recording, edits *Checked, options Options) (*Plan, error) {
	return makePlan(recording, edits, options)
}
