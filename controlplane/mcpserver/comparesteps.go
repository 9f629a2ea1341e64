package mcpserver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
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
	hunks map[*diff.Change]changeHunks
	// seen are the differences that were written, without their paths.
	seen map[string]bool
}

// changeHunks are the parts of a change. whole reports that there are no more.
type changeHunks struct {
	list  []diff.Hunk
	whole bool
}

func (w *stepWriter) hunksOf(change *diff.Change) changeHunks {
	h, ok := w.hunks[change]
	if !ok {
		h.list, h.whole = change.Hunks()
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
		texts = append(texts, agentview.Text{Name: change.Field, Text: strings.Join(w.hunksOf(change).lines(hunk), "\n")})
	}
	texts = append(texts, w.ofOneRun(step)...)
	shown.Recorded = agentview.Recorded(w.base.Outline.Run.RunID, texts, tokens, w.t.FenceKey)
	return shown
}

// asAbove reports whether earlier steps show all differences of a text that a step was given or returned.
func (w *stepWriter) asAbove(change *diff.Change) bool {
	hunks := w.hunksOf(change)
	differences, above := 0, 0
	for i := range hunks.list {
		if hunks.list[i].Op == diff.OpSame {
			continue
		}
		differences++
		value := string(hunks.list[i].Op) + hunks.list[i].Text
		if w.seen[value] {
			above++
		}
		w.seen[value] = true
	}
	isText := change.IsGiven() || change.Field == "output" || change.Field == "error"
	return isText && hunks.whole && differences > 0 && above == differences
}

// ofOneRun returns what a step that only one run has was given and returned.
func (w *stepWriter) ofOneRun(step *diff.Step) []agentview.Text {
	switch step.State {
	case diff.Removed:
		return textsOf(w.base, step.Base)
	case diff.Added:
		return textsOf(w.other, step.Other)
	default:
		return nil
	}
}

// textsOf returns the texts of a span that say most of what it did.
func textsOf(run diff.Run, at int) []agentview.Text {
	span := &run.Spans[at]
	output := ""
	switch {
	case len(span.OutputMessages) > 0:
		var parts []string
		for _, raw := range span.OutputMessages {
			message, _ := runmodel.ReadMessage(raw)
			for i := range message.Parts {
				parts = append(parts, message.Parts[i].Text())
			}
		}
		output = strings.Join(parts, "\n")
	case span.Outputs != nil && span.ToolResult == "":
		output = *span.Outputs
	}
	return []agentview.Text{
		{Name: "error", Text: strings.Trim(span.ErrorType+": "+span.ErrorMessage, ": ")},
		{Name: "arguments", Text: span.ToolArguments},
		{Name: "result", Text: span.ToolResult},
		{Name: "output", Text: output},
	}
}

// lines are the parts of a change, one on each line, with - and + before what was removed and added. What stayed is context.
func (h changeHunks) lines(most int) []string {
	lines := make([]string, 0, len(h.list)+1)
	for _, hunk := range h.list {
		mark := "  "
		switch hunk.Op {
		case diff.OpRemoved:
			mark = "- "
		case diff.OpAdded:
			mark = "+ "
		}
		text := cutMiddle(strings.TrimSpace(hunk.Text), most)
		if hunk.Path != "" {
			text = hunk.Path + ": " + text
		}
		lines = append(lines, mark+text)
	}
	if !h.whole {
		lines = append(lines, "  …")
	}
	return lines
}

// cutMiddle leaves out the middle of a text with more bytes than that.
func cutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return utf8text.Bytes(text, most*2/3) + "…" + text[utf8text.NextRuneStart(text, len(text)-most/3):]
}
