package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// cut returns a JSON text as the string that it is, or as it is, and at most reportText bytes of it.
func cut(raw string) string {
	var whole string
	if json.Unmarshal([]byte(raw), &whole) == nil {
		raw = whole
	}
	if len(raw) <= reportText {
		return raw
	}
	at := utf8text.RuneStart(raw, reportText)
	return fmt.Sprintf("%s… (%d bytes more)", raw[:at], len(raw)-at)
}

// costText says what the calls of an evaluation cost.
func costText(c *providers.EvaluationCost) string {
	text := fmt.Sprintf(" Cost: %s in %d requests", dollars(c.Cost), c.Calls)
	if c.BoundedCalls > 0 {
		text += fmt.Sprintf(", and at most %s in %d requests of unknown cost", dollars(c.Bounded), c.BoundedCalls)
	}
	if c.Unpriced > 0 {
		text += fmt.Sprintf(", without %d requests of models without a price", c.Unpriced)
	}
	return text + "."
}

// dollars writes an amount with four digits after the point, or all that a small one has.
func dollars(amount providers.Money) string {
	if amount == 0 || amount >= providers.MoneyOf(0.01) {
		return fmt.Sprintf("$%.4f", amount.Dollars())
	}
	return "$" + strconv.FormatFloat(amount.Dollars(), 'f', -1, 64)
}

func orDash(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.4g", *x)
}

// marks are what makes cells, code, links, mentions and HTML of Markdown.
var marks = strings.NewReplacer(
	"\\", `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", "&lt;", "&", "&amp;", "@", "@\u200B",
)

// inline returns a text that has no meaning in a line of Markdown, and does not change the direction of what follows.
func inline(text string) string {
	return marks.Replace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text))
}

// block writes a recorded text, if there is one. It cannot end the block, whose fence is longer than any of its own.
func block(out *strings.Builder, name, text string) {
	if text == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(out, "\n%s:\n\n%s\n%s\n%s\n", name, fence, text, fence)
}

// intervalCell writes an interval after a value, with a space before it.
func intervalCell(ci *stats.Interval) string {
	if ci == nil {
		return ""
	}
	return fmt.Sprintf(" [%.4g, %.4g]", ci[0], ci[1])
}

// panelWarnings writes the warnings of panels as a list, if there are any.
func panelWarnings(out *strings.Builder, panels []results.PanelSummary) {
	warned := false
	for i := range panels {
		warned = warned || len(panels[i].Warnings) > 0
		for _, warning := range panels[i].Warnings {
			fmt.Fprintf(out, "\n- %s: %s", inline(panels[i].Name), inline(warning))
		}
	}
	if warned {
		out.WriteString("\n") // the list ends
	}
}

// countsText writes how many items are done.
func countsText(out *strings.Builder, c *evaluations.Accounting) {
	fmt.Fprintf(out, "\n%d items: %d scored, %d without an output, %d without a score, %d skipped, %d not done.", c.Items, c.Scored, c.TargetFailed, c.JudgeFailed, c.Skipped, c.Pending)
}
