package agentview

import (
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// maxSuspects is how many suspects a view names.
const maxSuspects = 3

// Reasons why a step is a suspect.
const (
	// whyWrites: its model calls a tool that changes something.
	whyWrites = "writes"
	// whyNew: no earlier step has its name and begins with its word.
	whyNew = "new"
	// whyLong: it has much text for its kind.
	whyLong = "long"
)

// Suspect is a step that may be why the run failed.
type Suspect struct {
	StepRef
	Why string `json:"why"`
}

// findSuspects returns the steps in which a model acted that are most likely why the run failed, given these steps in the order of the
// view. Those that call a tool that writes come first: what an agent looked up seldom makes a run fail, what it did does. The step with
// the error is named beside them, and what began after it did not cause it.
func (v *view) findSuspects(acting []int) []int {
	var found []int
	for _, i := range acting {
		if len(v.chain) > 0 {
			failing := v.steps[v.chain[0]].span
			if i == v.chain[0] || (!runmodel.IsAbsent(failing.EndTime) && v.steps[i].span.StartTime.After(failing.EndTime)) {
				continue
			}
		}
		found = append(found, i)
	}
	if len(found) < 2 { // there is no choice
		return nil
	}
	slices.SortStableFunc(found, func(a, b int) int { return one(v.steps[b].writes) - one(v.steps[a].writes) })
	return found[:min(len(found), maxSuspects)]
}

func (v *view) suspectsShown() []Suspect {
	shown := make([]Suspect, len(v.suspects))
	for at, i := range v.suspects {
		shown[at] = Suspect{StepRef: v.ref(i), Why: whyLong}
		switch s := &v.steps[i]; {
		case s.writes:
			shown[at].Why = whyWrites
		case s.earlier == 0:
			shown[at].Why = whyNew
		}
	}
	return shown
}

// reading are words in the names of tools that change nothing.
var reading = []string{
	"ask", "browse", "calculate", "calculator", "check", "count", "describe", "fetch", "find", "get", "glob", "grep", "inspect", "list", "lookup", "ls",
	"query", "read", "retrieve", "retrieval", "retriever", "search", "show", "summarize", "think", "view",
}

// words are those of a name such as get_order or getOrder.
var words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// writes reports whether a tool changes something, as far as its name says: none of its words is one of reading.
func writes(tool string) bool {
	found := words.FindAllString(tool, -1)
	return len(found) > 0 && !slices.ContainsFunc(found, func(word string) bool { return slices.Contains(reading, strings.ToLower(word)) })
}
