// Package engine replays a recorded run of an agent with an edit. It owns what an attempt does with each step, what a plan says of it, how
// calls of tools are answered from the recording, and the form in which an attempt is written as spans.
//
// It is pure: it takes a recording, and calls a model through a function that it is given. It knows no store, no HTTP and no
// clock. Times of an attempt are counted from the begin of the run. All messages of requests and responses have the shape
// of chat completions, with the members reasoning_content and anthropic_content beside (package llm).
//
// [Replay] makes an attempt at a [recorded.Recording] with edits that [edit.Check] has checked. [MakePlan] says what an attempt would do,
// without a call. [SpanWriter] gives the steps of an attempt the form of spans.
//
// The engine is a function of the recording, the edits, the options and the answers of the model: the same answers give
// the same attempt. An attempt is resumed by giving its steps as Options.Done.
//
// docs/replay.md says what is copied, served and called, and what cannot be replayed.
package engine

// EngineVersion names the rules by which this package replays. Attempts by different versions are not compared.
const EngineVersion = "1"
