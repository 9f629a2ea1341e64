package runmodel

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Why a run has no AgentRelease.
const (
	// NoModelCall: the run has no model call of its own agent.
	NoModelCall = "no_model_call"
	// NoModel and NoInstructions: its first model call does not say the model that it asks, or neither messages nor instructions. Runs that
	// were stored before releases of agents were found have the same.
	NoModel        = "no_model"
	NoInstructions = "no_instructions"
)

// AgentReleaseMissing returns why a run has no AgentRelease, "" if it has one.
func (r *Run) AgentReleaseMissing() string {
	switch {
	case r.AgentRelease != "":
		return ""
	case r.LLMCallCount == 0:
		return NoModelCall
	case r.AgentParts[PartModel] == "":
		return NoModel
	}
	return NoInstructions
}

// ReleaseOf returns the short hash of the parts of an agent.
func ReleaseOf(parts map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		b.WriteString(key)
		b.WriteByte(0)
		b.WriteString(parts[key])
		b.WriteByte(0)
	}
	return PartHash("release", b.String())
}

// setAgentRelease finds what makes the agent of a run. It is what the first model call of the run's own agent says, so that it does not depend on
// the path that the run took. What the call does not say is taken from the steps around it, up to its agent.
func (r *Run) setAgentRelease(spans []Span, index map[uint64]int, calls []int) {
	at := agentCall(r.AgentName, spans, index, calls)
	if at < 0 {
		return
	}
	around := surrounding(spans, index, at)
	parts := map[string]string{}
	for _, of := range [...]func(key string) bool{
		func(key string) bool { return key == PartTools || strings.HasPrefix(key, PartTool) },
		func(key string) bool { return strings.HasPrefix(key, PartParameter) },
	} {
		// The parts of one kind come from one step.
		for _, i := range around {
			if addParts(parts, spans[i].AgentParts, of) {
				break
			}
		}
	}
	asked := ""
	for _, i := range around {
		s := &spans[i]
		asked = cmp.Or(asked, s.RequestModel)
		// Only messages of the call itself show that it has no instructions. Those of an agent are what the user said.
		instructions := s.AgentParts[PartInstructions]
		if instructions != "" && (i == at || instructions != WithoutInstructions) && cmp.Or(parts[PartInstructions], WithoutInstructions) == WithoutInstructions {
			parts[PartInstructions] = instructions
		}
	}
	if asked = cmp.Or(asked, spans[at].ResponseModel); asked != "" {
		parts = withPart(parts, PartModel, asked)
	}
	for i := range pathUp(spans, index, at) {
		if s := &spans[i]; s.PromptName != "" || s.PromptID != "" {
			parts = withPart(parts, PartPrompt+utf8text.Bytes(cmp.Or(s.PromptName, s.PromptID), maxPartName), s.PromptVersion)
			break
		}
	}
	r.AgentParts = parts
	if asked != "" && parts[PartInstructions] != "" {
		r.AgentRelease = ReleaseOf(parts)
	}
}

func addParts(parts, from map[string]string, of func(key string) bool) (added bool) {
	for key, value := range from {
		if of(key) {
			parts[key], added = value, true
		}
	}
	return added
}

// AgentSteps returns which of a run's folded spans say what makes its agent: a model call, and those around it up to its agent, which are asked
// for what it does not say. It is empty if there is no such call.
func AgentSteps(agent string, spans []Span) []int {
	index := indexOf(spans)
	at := agentCall(agent, spans, index, modelCalls(spans, index))
	if at < 0 {
		return nil
	}
	return surrounding(spans, index, at)
}

// agentCall returns the model call that says what makes the agent, -1 for none: the first call of the agent with the name, or else the first
// one. Calls below a tool or a check are of others. A call that failed before it said anything is skipped if another one follows.
func agentCall(agent string, spans []Span, index map[uint64]int, calls []int) int {
	first, silent := -1, -1
	for _, i := range calls {
		name, own := agentOf(spans, index, i)
		if !own {
			continue
		}
		s := &spans[i]
		if s.failed() && len(s.AgentParts) == 0 && len(s.InputMessageIDs) == 0 {
			if silent < 0 {
				silent = i
			}
			continue
		}
		if agent == "" || name == agent {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return silent
	}
	return first
}

// agentOf returns the name of the agent that makes a call. own is false if the call is below a tool or another step that has a purpose of its
// own.
func agentOf(spans []Span, index map[uint64]int, call int) (name string, own bool) {
	for i := range pathUp(spans, index, call) {
		switch spans[i].EffectiveKind() {
		case KindTool, KindGuardrail, KindEvaluator, KindRetriever, KindReranker, KindMemory:
			return "", false
		}
		name = cmp.Or(name, spans[i].AgentName)
	}
	return name, true
}

// surrounding are a call and the steps above it up to the nearest agent.
func surrounding(spans []Span, index map[uint64]int, call int) []int {
	var around []int
	for i := range pathUp(spans, index, call) {
		around = append(around, i)
		if i != call && spans[i].EffectiveKind() == KindAgent {
			break
		}
	}
	return around
}

// maxAbove limits how many steps above a call are looked at, so that a chain of them does not take the square of its length, nor a cycle for ever.
const maxAbove = 256

// pathUp iterates over a span and those above it.
func pathUp(spans []Span, index map[uint64]int, from int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for range maxAbove {
			if !yield(from) {
				return
			}
			parent, ok := index[spans[from].ParentSpanID]
			if !ok {
				return
			}
			from = parent
		}
	}
}
