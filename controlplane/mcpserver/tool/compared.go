package tool

import (
	"strings"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// ChangeHunks are the parts of a change. Whole reports that there are no more.
type ChangeHunks struct {
	List  []diff.Hunk
	Whole bool
}

// Lines are the parts of a change, one on each line, with - and + before what was removed and added. What stayed is context.
func (h ChangeHunks) Lines(most int) []string {
	lines := make([]string, 0, len(h.List)+1)
	for _, hunk := range h.List {
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
	if !h.Whole {
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

// TextsOf returns the texts of a span that say most of what it did.
func TextsOf(run diff.Run, at int) []agentview.Text {
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
