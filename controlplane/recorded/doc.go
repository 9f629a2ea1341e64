// Package recorded reads a recorded run as steps that can be replayed: [Read] makes a [Recording] of its spans. It owns what a step is, the loops
// of model calls, which steps depend on others, how far a run can be replayed, and the messages of model calls in the form of chat completions,
// with the forms in which they are compared. What becomes of the steps is another package's: see controlplane/replays/engine.
package recorded
