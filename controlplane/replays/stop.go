package replays

import "github.com/looptrace/looptrace/controlplane/replays/engine"

// Why an attempt was not made to its end, besides the reasons of the engine. The first two also end a replay before all of its attempts are
// made.
const (
	StopMaxCost   = engine.StopMaxCost
	StopBudget    = engine.StopReason("budget")
	StopCancelled = engine.StopReason("cancelled")
	StopFailed    = engine.StopReason("replay_failed")
)

// notMade says what happened to attempts that were not made to their end, and what to do. The engine says it of the others.
var notMade = map[engine.StopReason]struct{ detail, remedy string }{
	StopMaxCost:   {"The replay reached its cost cap before the attempt ended.", "Make the missing attempts with a higher cap."},
	StopBudget:    {"The budget of the connection was spent before the attempt ended.", "Raise the budget of the connection, then make the missing attempts."},
	StopCancelled: {"The replay was cancelled before the attempt ended.", "Make the missing attempts to go on."},
	StopFailed:    {"The replay failed before the attempt ended.", "Correct what the error of the replay says, then make the missing attempts."},
}

// NotMade says what happened to attempts that were not made to their end, and what to do.
func NotMade(stop engine.StopReason) (detail, remedy string) {
	return notMade[stop].detail, notMade[stop].remedy
}
