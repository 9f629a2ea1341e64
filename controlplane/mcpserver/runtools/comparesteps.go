package runtools

import (
	"cmp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// differingSteps returns the indices of the steps that differ in the order in which they are shown. A step around others that differ comes
// after all others unless what it was given differs: it fails or answers otherwise because of what happened in it.
func differingSteps(d *diff.Diff) []int {
	around := map[int]bool{}
	for i := range d.Steps {
		if d.Steps[i].State == diff.Same {
			continue
		}
		for parent := d.Steps[i].Parent; parent >= 0 && !around[parent]; parent = d.Steps[parent].Parent {
			around[parent] = true
		}
	}
	var first, consequences []int
	for i := range d.Steps {
		s := &d.Steps[i]
		switch {
		case s.State == diff.Same:
		case s.State == diff.Changed && around[i] && !slices.ContainsFunc(s.Changes, func(c diff.Change) bool { return c.IsGiven() }):
			consequences = append(consequences, i)
		default:
			first = append(first, i)
		}
	}
	return append(first, consequences...)
}

// comparedStep is a step that differs. N is its position among the steps of both runs, SameBefore how many equal ones stand right before it.
type comparedStep struct {
	N          int    `json:"n"`
	State      string `json:"state"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	SpanID     string `json:"span_id,omitempty"`
	OtherSpan  string `json:"other_span_id,omitempty"`
	SameBefore int    `json:"same_before,omitempty"`
	// AsAbove are fields whose differences an earlier step shows.
	AsAbove []string `json:"as_above,omitempty"`
	// Recorded has the differences between marks: - is the first run, + the other.
	Recorded string `json:"recorded,omitempty"`
}

// stepWriter writes steps that differ. A difference that an earlier step has, such as a tool's result in all prompts after it, is shown there.
type stepWriter struct {
	t           *tools
	base, other diff.Run
	d           *diff.Diff
	// hunks are those that were computed.
	hunks map[*diff.Change]tool.ChangeHunks
	// seen are the differences that were written, without their paths.
	seen map[string]bool
}

func (w *stepWriter) hunksOf(change *diff.Change) tool.ChangeHunks {
	h, ok := w.hunks[change]
	if !ok {
		h.List, h.Whole = change.Hunks()
		w.hunks[change] = h
	}
	return h
}

// write writes a step with about so many tokens of each field, and so many bytes of each part that differs.
func (w *stepWriter) write(at, tokens, hunk int) comparedStep {
	step := &w.d.Steps[at]
	shown := comparedStep{N: at + 1, State: string(step.State)}
	span := (*runmodel.Span)(nil)
	if step.Other >= 0 {
		span = &w.other.Outline.Spans[step.Other]
		shown.OtherSpan = runmodel.FormatSpanID(span.SpanID)
	}
	if step.Base >= 0 {
		span = &w.base.Outline.Spans[step.Base]
		shown.SpanID = runmodel.FormatSpanID(span.SpanID)
	}
	shown.Kind, shown.Name = agentview.SafeName(span.EffectiveKind()), agentview.SafeName(cmp.Or(span.ToolName, span.Name))
	for before := at - 1; before >= 0 && w.d.Steps[before].State == diff.Same; before-- {
		shown.SameBefore++
	}
	var texts []agentview.Text
	for i := range step.Changes {
		change := &step.Changes[i]
		if w.asAbove(change) {
			shown.AsAbove = append(shown.AsAbove, change.Field)
			continue
		}
		texts = append(texts, agentview.Text{Name: change.Field, Text: strings.Join(w.hunksOf(change).Lines(hunk), "\n")})
	}
	texts = append(texts, w.ofOneRun(step)...)
	shown.Recorded = agentview.Recorded(w.base.Outline.Run.RunID, texts, tokens, w.t.FenceKey)
	return shown
}

// asAbove reports whether earlier steps show all differences of a text that a step was given or returned.
func (w *stepWriter) asAbove(change *diff.Change) bool {
	hunks := w.hunksOf(change)
	differences, above := 0, 0
	for i := range hunks.List {
		if hunks.List[i].Op == diff.OpSame {
			continue
		}
		differences++
		value := string(hunks.List[i].Op) + hunks.List[i].Text
		if w.seen[value] {
			above++
		}
		w.seen[value] = true
	}
	isText := change.IsGiven() || change.Field == "output" || change.Field == "error"
	return isText && hunks.Whole && differences > 0 && above == differences
}

// ofOneRun returns what a step that only one run has was given and returned.
func (w *stepWriter) ofOneRun(step *diff.Step) []agentview.Text {
	switch step.State {
	case diff.Removed:
		return tool.TextsOf(w.base, step.Base)
	case diff.Added:
		return tool.TextsOf(w.other, step.Other)
	default:
		return nil
	}
}
