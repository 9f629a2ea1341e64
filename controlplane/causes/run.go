package causes

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/recorded"
)

// Kind is what a candidate is about.
type Kind string

// The kinds that are found without a model.
const (
	PromptVersion  Kind = "prompt_version"
	Instructions   Kind = "instructions"
	Model          Kind = "model"
	Parameter      Kind = "parameter"
	ToolDefinition Kind = "tool_definition"
	ToolResult     Kind = "tool_result"
	Timeout        Kind = "timeout"
	Retry          Kind = "retry"
	Order          Kind = "order"
	Release        Kind = "release"
	AgentRelease   Kind = "agent_release"
	Environment    Kind = "environment"
	Attribute      Kind = "attribute"
)

// subject is what a trait is about: a kind, and within it the name of a parameter, a tool, a prompt or an attribute. agent is set where
// model calls of several agents are told apart.
type subject struct {
	kind  Kind
	name  string
	agent string
}

// trait is a value of a subject that a run has before its failing step. A run can have several of a subject.
type trait struct {
	subject
	value string
}

// key is the stable id of a trait.
func (t trait) key() string {
	key := string(t.kind) + ":"
	if t.agent != "" {
		key += t.agent + "/"
	}
	if t.name != "" {
		key += t.name + "="
	}
	return key + t.value
}

// Values of traits that are no recorded ones.
const (
	absent  = "absent"  // a parameter or a tool definition that the run does not have
	empty   = "empty"   // a tool result
	failing = "error"   // a tool result
	cutOff  = "cut off" // a timeout that good calls exceed
	never   = "0"       // no retry
)

// Recorded is a run as it was recorded.
type Recorded struct {
	ID    uuid.UUID
	Start time.Time
	// FailingSpanID is the step at which it failed, 0 for a good run.
	FailingSpanID uint64
	// Names and Values are its attributes, as runs of a group are compared by: see docs/failed-runs.md.
	Names, Values []string
	Spans         []recorded.Span
}

// Place is the step at which the runs of a group fail: a tool, or none if it is a call of a model or unknown.
type Place struct{ Tool string }

// Run is what is compared of a run.
type Run struct {
	ID    uuid.UUID
	Start time.Time

	traits map[trait]string // with the text that an edit would set, "" for none
	told   map[subject]bool // what the run tells of
	// called are the tools before the failing step in the order of their first call.
	called []string
	calls  map[string]callTimes
}

// callTimes are the calls of a tool: their number, the duration of the longest one that succeeded, and that of one at the failing step that
// timed out. Zero is none.
type callTimes struct {
	number            int
	longest, timedOut time.Duration
}

// values are the values of a subject that a run has, in order.
func (r *Run) values(of subject) []string {
	var list []string
	for t := range r.traits {
		if t.subject == of {
			list = append(list, t.value)
		}
	}
	if len(list) == 0 && (of.kind == Parameter || of.kind == ToolDefinition) && r.told[subject{of.kind, "", of.agent}] {
		return []string{absent}
	}
	slices.Sort(list)
	return list
}

func (r *Run) add(t trait, text string) {
	r.told[t.subject] = true
	if old, has := r.traits[t]; !has || old == "" {
		r.traits[t] = text
	}
}
