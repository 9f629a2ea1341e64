// Package replay replays a recorded run of an agent with an edit.
//
// It is pure: it reads spans, and calls a model through a function that it is given. It knows no store, no HTTP and no
// clock. Times of an attempt are counted from the begin of the run. All messages of requests and responses have the shape
// of chat completions, with the members reasoning_content and anthropic_content beside (package llm).
//
// [Read] makes a [Recording] of the spans of a run and says how far it can be replayed. [Recording.Check] validates edits.
// [Replay] makes an attempt. [MakePlan] says what an attempt would do, without a call. [Recording.SpanWriter] gives the
// steps of an attempt the form of spans.
//
// The engine is a function of the recording, the edits, the options and the answers of the model: the same answers give
// the same attempt. An attempt is resumed by giving its steps as Options.Done.
//
// docs/replay.md says what is copied, served and called, and what cannot be replayed.
package replay

// EngineVersion names the rules by which this package replays. Attempts by different versions are not compared.
const EngineVersion = "1"
