package replay

import "time"

// Effect is what timeouts, retries and latencies do to a step.
type Effect string

// The effects.
const (
	// EffectNone: the step begins, ends and answers as recorded.
	EffectNone Effect = "none"
	// EffectShifted: only its times change.
	EffectShifted Effect = "shifted"
	// EffectTimedOut: it fails at the new timeout, or after fewer attempts than it took.
	EffectTimedOut Effect = "timed_out"
	// EffectCensored: it would have gone on longer than recorded, so that its result is unknown.
	EffectCensored Effect = "censored"
	// EffectUnknown: it begins after a step that failed by the edit, or whose end is unknown.
	EffectUnknown Effect = "unknown"
)

// Structure is what timeouts, retries and latencies do to a run, decided by its recorded durations.
type Structure struct {
	// Steps are those of the recording, in its order.
	Steps []StepTime
	// Duration is that of the run, nil if it is unknown.
	Duration *time.Duration
	// NoEffect reports that nothing changes but the times of the steps.
	NoEffect bool
}

// StepTime is when a step happens.
type StepTime struct {
	Effect Effect
	// Offset is the start from the start of the run, nil if it is unknown. So is Duration.
	Offset, Duration *time.Duration
}

// Structure decides the timeouts, retries and latencies among edits. It ignores others.
//
// A step begins when the last of the siblings that had ended before it ends, and the recorded pause has passed. A step ends
// when its last child ends, and the recorded rest has passed.
func (r *Recording) Structure(edits *Checked) Structure { return r.structure(edits) }
