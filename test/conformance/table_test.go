package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// verdict is the result for one field of one span.
type verdict int

const (
	right verdict = iota
	wrong
	absent   // the source does not have it, which the expectation declares with the reason
	excepted // wrong, with a documented reason
)

// check is the comparison of one field of one span or run.
type check struct {
	dialect, payload, span, field string
	verdict                       verdict
	want, got                     any
	reason                        string
}

func (c *check) String() string {
	return fmt.Sprintf("%s: %s of %s: want %s, got %s", c.payload, c.field, c.span, short(c.want), short(c.got))
}

func short(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte(fmt.Sprint(value))
	}
	const most = 2500
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// tally is the verdicts of one cell of the table.
type tally [4]int

func (t tally) String() string {
	checked := t[right] + t[wrong] + t[excepted]
	switch {
	case checked == 0 && t[absent] == 0:
		return ""
	case checked == 0:
		return "–"
	case checked == t[right]:
		return fmt.Sprint(t[right])
	}
	cell := fmt.Sprintf("%d/%d", t[right], checked)
	if t[wrong] > 0 {
		cell += " ✗"
	}
	return cell
}

// groups are the columns of the table: fields that belong together.
var groups = []struct {
	name   string
	fields []string
}{
	{"kind, operation", []string{fieldKind, fieldOperation}},
	{"provider, models", []string{fieldProvider, fieldRequestModel, fieldResponseModel}},
	{"input", []string{fieldInput}},
	{"output", []string{fieldOutput}},
	{"system", []string{fieldSystem}},
	{"tool definitions", []string{fieldTools}},
	{"tool call", []string{fieldToolName, fieldToolCallID, fieldToolArguments, fieldToolResult}},
	{"tokens", []string{fieldInputTokens, fieldOutputTokens}},
	{"cache, reasoning", []string{fieldCacheRead, fieldCacheWrite, fieldReasoningTokens}},
	{"counted once", []string{fieldCounted}},
	{"run totals", []string{fieldTotals}},
	{"cost", []string{fieldCost}},
	{"first token", []string{fieldTTFT}},
	{"finish", []string{fieldFinish}},
	{"error", []string{fieldStatus, fieldErrorType, fieldErrorMessage}},
	{"session, user, agent", []string{fieldSession, fieldConversation, fieldUser, fieldAgent, fieldPrompt, fieldPromptVersion, fieldTags}},
	{"scores", []string{fieldScore}},
}

// table formats dialect × field as Markdown.
func table(checks []check) string {
	cells := make(map[string]map[string]*tally)
	for _, c := range checks {
		row := cells[c.dialect]
		if row == nil {
			row = make(map[string]*tally)
			cells[c.dialect] = row
		}
		if row[c.field] == nil {
			row[c.field] = new(tally)
		}
		row[c.field][c.verdict]++
	}
	var b strings.Builder
	b.WriteString("| dialect |")
	for _, g := range groups {
		b.WriteString(" " + g.name + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(groups)) + "\n")
	for _, dialect := range slices.Sorted(maps.Keys(cells)) {
		b.WriteString("| " + dialect + " |")
		for _, g := range groups {
			var sum tally
			for _, f := range g.fields {
				if t := cells[dialect][f]; t != nil {
					for v, n := range t {
						sum[v] += n
					}
				}
			}
			b.WriteString(" " + sum.String() + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func summary(checks []check) string {
	var sum tally
	dialects := make(map[string]bool)
	for _, c := range checks {
		sum[c.verdict]++
		dialects[c.dialect] = true
	}
	return fmt.Sprintf("%d dialects, %d fields: %d right, %d wrong, %d absent at source, %d excepted.",
		len(dialects), sum[right]+sum[wrong]+sum[absent]+sum[excepted], sum[right], sum[wrong], sum[absent], sum[excepted])
}

// reasons lists what is absent or excepted in each dialect, and why.
func reasons(checks []check, of verdict) string {
	seen := make(map[string]bool)
	var lines []string
	for _, c := range checks {
		line := fmt.Sprintf("- %s, %s: %s", c.dialect, c.field, c.reason)
		if c.verdict == of && !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
