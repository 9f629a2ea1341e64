package verdict

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// Mode is how a replay runs.
type Mode string

// Modes. Cassette calls nothing; Server calls models again behind a copied prefix.
const (
	Cassette Mode = "cassette"
	Server   Mode = "server"
)

// Role is what an attempt is for.
type Role string

// Roles. Controls are replayed without the edit, treatments with it; both start at the same step.
const (
	Control   Role = "control"
	Treatment Role = "treatment"
)

// Input is an edit of a recorded run with its attempts.
type Input struct {
	Mode     Mode
	Recorded Run
	Attempts []Attempt
	// Structure and Answer are distances between all of [Recorded, Attempts...], in that order and 0 or more: those of the sequences of
	// tool calls, and of the final answers. Nil if there are none; NaN on the diagonal for a run of which it is unknown.
	Structure, Answer [][]float64
	// Steps are the aligned positions downstream of the edit, in the order of the run.
	Steps []Step
	// Integrity has what makes the replay unusable, such as a step that could not be rebuilt from the recording.
	Integrity []Reason
	// Changes are those of the surroundings since the recording.
	Changes []Change
	// Proven says that the recording proves that the edit has no effect, such as a timeout above the recorded duration.
	Proven bool
	// Failure is a call that the recording proves to fail by the edit, where no attempt can go on: what the model does then is not
	// recorded. Nil if there is none.
	Failure *Failure
	// DiffEmpty says that no treatment differs from the recorded run downstream of the edit.
	DiffEmpty bool
	// ModelEdited says that the edit sets the model, so that controls and treatments need not have the same.
	ModelEdited bool
	// Looks are the verdicts on fewer attempts of this replay that could have found an effect. See [Verdict.Looks].
	Looks int
	// Alpha is the level of all looks together, .05 if 0, below .5. Delta is the change of the success rate, or of the score, that is no matter; .2 if 0. Of
	// distances it is the part of the distance between controls.
	Alpha, Delta float64
	// Seed is [Seed] of the run, the edit and the design.
	Seed uint64
}

// Failure is a call that fails for certain. Its texts are for people.
type Failure struct {
	// Scope is what changes for certain, such as the tool call and the next request.
	Scope string
	// Text says in a sentence what fails, and Remedy what to do to see more.
	Text, Remedy string
}

// Design is a number of controls and of treatments.
type Design struct {
	Controls   int `json:"controls"`
	Treatments int `json:"treatments"`
}

// Run is what is known of a run. An unknown figure is nil; one that is not finite, or an amount below 0, counts as unknown.
type Run struct {
	// Outcome is 1 for success and 0 for failure, or a score.
	Outcome                     *float64
	CostUSD, DurationMS, Tokens *float64
	// Bytes is a hash of all of the run after normalisation, Decisions one of tool names, arguments and the outcome. Empty if unknown.
	Bytes, Decisions string
}

// Attempt is a replay of the run.
type Attempt struct {
	Run
	Role  Role
	Index int
	// Unfinished says why the attempt has no end, in a word or two, such as a miss; empty if it finished.
	Unfinished string
	// ReachedEdit says that it got to the edited step.
	ReachedEdit bool
	Exposure    Exposure
	// DownstreamCalls counts the downstream calls of models and tools, DownstreamLive those of them that were made, and not served.
	DownstreamCalls, DownstreamLive int
	// OutsideDifferences counts the steps that are not downstream of the edit and differ from the recorded run.
	OutsideDifferences int
	// Batch is the same for attempts that were made together, controls and treatments in turn. What depends on the time is compared within a
	// batch only: prices, caches, and the load of a provider.
	Batch int64
	// Models and Fingerprints are those of the answers that were made, as far as providers tell them.
	Models, Fingerprints []string
	// CachedShare is the part of the input tokens that came from a provider's cache, nil if it is unknown.
	CachedShare *float64
}

// Exposure counts steps by where their results came from, as far as that weakens a verdict.
type Exposure struct {
	// Stale: read after a call that changed the world otherwise than recorded. Nearest: of a similar call.
	Stale, Nearest int
	// Reissued to a model.
	Reissued int
}

func (e Exposure) tainted() int { return e.Stale + e.Nearest }

// Step is a position of the alignment.
type Step struct {
	// ID is that of the recorded step, if there is one, and Name for people.
	ID, Name string
	// Signatures are of [Recorded, Attempts...]: equal for equal steps, [Absent] for a run without the step, empty if unknown.
	Signatures []string
}

// Absent is the signature of a run that has no such step.
const Absent = "absent"

// Change is one of the surroundings since the recording.
type Change struct {
	// What is in words, such as model, system fingerprint or tool schema.
	What, From, To string
}

// Seed makes a seed of what identifies a replay: the run, the edit and the design.
func Seed(parts ...string) uint64 {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return binary.LittleEndian.Uint64(hash.Sum(nil))
}

// number returns a score, and false if it is unknown.
func number(x *float64) (float64, bool) {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return 0, false
	}
	return *x, true
}

// amount returns a cost, a duration or a number of tokens, and false if it is unknown.
func amount(x *float64) (float64, bool) {
	value, ok := number(x)
	return value, ok && value >= 0
}
