package causes

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// explain says a candidate in words, and adds the edit that undoes it.
func (c *comparison) explain(col *column) {
	counter, text := c.counter(col)
	col.candidate.Title = c.title(col, counter, text)
	change, why := c.edit(col, counter, text)
	if change == nil {
		col.candidate.WhyNoEdit = why
		return
	}
	col.candidate.Edits = []edit.Edit{*change}
}

// counter is the value that most good runs without the trait have of its subject, with its text. Of equally many that of the newest run counts.
func (c *comparison) counter(col *column) (value, text string) {
	counts := map[string]int{}
	var order []string
	for i := range c.good {
		if at := len(c.failed) + i; col.told[at] && !col.has[at] {
			for _, own := range c.good[i].values(col.subject) {
				if counts[own]++; counts[own] == 1 {
					order = append(order, own)
				}
			}
		}
	}
	for _, own := range order {
		if counts[own] > counts[value] {
			value = own
		}
	}
	for i := range c.good {
		if text = c.good[i].traits[trait{col.subject, value}]; text != "" {
			break
		}
	}
	return value, text
}

// textOf is the text of a trait in a failed run.
func (c *comparison) textOf(t trait) string {
	for i := range c.failed {
		if text := c.failed[i].traits[t]; text != "" {
			return text
		}
	}
	return ""
}

// title is a sentence about a trait.
func (c *comparison) title(col *column, counter, text string) string {
	in := ""
	if col.agent != "" {
		in = " for agent " + quoted(col.agent)
	}
	name := quoted(col.name)
	switch col.kind {
	case PromptVersion:
		return fmt.Sprintf("Prompt %s has version %s%s", name, quoted(col.value), instead(quoted(counter)))
	case Instructions:
		own, other := differing(runmodel.ConstantText(c.textOf(col.trait)), runmodel.ConstantText(text))
		if own == "" && other == "" {
			return "The instructions are another text" + in
		}
		return fmt.Sprintf("The instructions%s say %s%s", in, quoted(own), instead(quoted(other)))
	case Model:
		return fmt.Sprintf("The model%s is %s%s", in, quoted(col.value), instead(quoted(counter)))
	case Parameter:
		return fmt.Sprintf("The parameter %s%s is %s%s", name, in, quoted(col.value), instead(quoted(counter)))
	case ToolDefinition:
		switch {
		case col.value == absent:
			return fmt.Sprintf("The tool %s is not offered%s", name, in)
		case counter == absent || counter == "":
			return fmt.Sprintf("The tool %s is offered%s", name, in)
		}
		return fmt.Sprintf("The tool %s has %s%s", name, definitionChange(c.textOf(col.trait), text), in)
	case ToolResult:
		switch col.value {
		case empty:
			return fmt.Sprintf("The tool %s returns nothing", name)
		case failing:
			return fmt.Sprintf("The tool %s returns an error", name)
		}
		return fmt.Sprintf("The tool %s returns %s%s", name, quoted(col.value), instead(quoted(counter)))
	case Timeout:
		if col.value != cutOff {
			return fmt.Sprintf("The tool %s has a timeout of %s%s", name, milliseconds(col.value), instead(milliseconds(counter)))
		}
		return fmt.Sprintf("The tool %s is cut off before the %s that good calls take", name, c.longestGood(col.name).Round(time.Millisecond))
	case Retry:
		if col.value == never {
			return fmt.Sprintf("The tool %s is not called again after it failed", name)
		}
		return fmt.Sprintf("The tool %s is called again %s times after it failed%s", name, quoted(col.value), instead(quoted(counter)))
	case Order:
		return fmt.Sprintf("The tool %s is called without %s before it", name, quoted(col.value))
	case Release:
		return fmt.Sprintf("The release is %s%s", quoted(col.value), instead(quoted(counter)))
	case AgentRelease:
		return fmt.Sprintf("The agent's release is %s%s", quoted(col.value), instead(quoted(counter)))
	case Environment:
		return fmt.Sprintf("The environment is %s%s", quoted(col.value), instead(quoted(counter)))
	default:
		return fmt.Sprintf("The %s is %s", quoted(strings.TrimPrefix(col.name, "metadata.")), quoted(col.value))
	}
}

// instead names the value of good runs.
func instead(value string) string {
	if value == "" {
		return ""
	}
	return " instead of " + value
}

func milliseconds(value string) string {
	if value == "" {
		return ""
	}
	return (time.Duration(number(value)) * time.Millisecond).String()
}

// maxQuoted is how many bytes of recorded text a title quotes at a time.
const maxQuoted = 80

// quoted is recorded text on one line, cut.
func quoted(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	if len(text) <= maxQuoted {
		return text
	}
	return utf8text.Bytes(text, maxQuoted) + "…"
}

// differing returns where two texts differ: what is between their common beginning and their common end, with the words that it cuts.
func differing(a, b string) (ofA, ofB string) {
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	to := 0
	for to < min(len(a), len(b))-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	for from > 0 && a[from-1] != ' ' {
		from--
	}
	for to > 0 && a[len(a)-to] != ' ' {
		to--
	}
	return a[from : len(a)-to], b[from : len(b)-to]
}

// definitionChange says what of a tool's definition differs.
func definitionChange(own, other string) string {
	type definition struct {
		Function struct {
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	var a, b definition
	if json.Unmarshal([]byte(own), &a) != nil || json.Unmarshal([]byte(other), &b) != nil {
		return "another definition"
	}
	description, parameters := a.Function.Description != b.Function.Description, string(a.Function.Parameters) != string(b.Function.Parameters)
	switch {
	case description && parameters:
		return "another description and other parameters"
	case parameters:
		return "other parameters"
	case description:
		mine, its := differing(a.Function.Description, b.Function.Description)
		if mine == "" && its == "" {
			return "another description"
		}
		return fmt.Sprintf("the description %s%s", quoted(mine), instead(quoted(its)))
	}
	return "another definition"
}

// longestGood is how long the longest good call of a tool took.
func (c *comparison) longestGood(tool string) time.Duration {
	longest := time.Duration(0)
	for i := range c.good {
		longest = max(longest, c.good[i].calls[tool].longest)
	}
	return longest
}

// edit returns the edit that undoes a trait in any run, or why there is none.
func (c *comparison) edit(col *column, counter, text string) (change *edit.Edit, why string) {
	target := edit.Target{All: true}
	if col.agent != "" {
		target = edit.Target{Kind: "agent", Name: col.agent}
	}
	ofTool := edit.Target{Kind: "tool", Name: col.name}
	const unknown = "No good run has recorded what it was asked with."
	switch col.kind {
	case PromptVersion:
		if text = c.instructionsOf(col.trait, counter); text == "" {
			return nil, "No good run has recorded the text of the version."
		}
		return &edit.Edit{Target: target, Set: edit.Set{SystemPrompt: &text}}, ""
	case Instructions:
		if text == "" {
			return nil, unknown
		}
		return &edit.Edit{Target: target, Set: edit.Set{SystemPrompt: &text}}, ""
	case Model:
		if counter == "" {
			return nil, unknown
		}
		return &edit.Edit{Target: target, Set: edit.Set{Model: &counter}}, ""
	case Parameter:
		if counter == absent {
			text = "null"
		}
		if text == "" {
			return nil, unknown
		}
		return &edit.Edit{Target: target, Set: edit.Set{Params: map[string]json.RawMessage{col.name: json.RawMessage(text)}}}, ""
	case ToolDefinition:
		if counter == absent {
			return nil, "An edit changes or adds a tool, but takes none away."
		}
		if text == "" {
			return nil, unknown
		}
		return &edit.Edit{Target: target, Set: edit.Set{ToolSchema: json.RawMessage(text)}}, ""
	case ToolResult:
		if c.callsOften(col.name) {
			return nil, "Most failed runs call the tool several times, and an edit sets the result of one call."
		}
		if text == "" {
			return nil, "No good run has recorded a result that could take its place."
		}
		raw, err := json.Marshal(text)
		if err != nil {
			return nil, unknown
		}
		return &edit.Edit{Target: ofTool, Set: edit.Set{ToolResult: raw}}, ""
	case Timeout:
		longest := above(c.longestGood(col.name))
		if counter != "" && counter != cutOff {
			longest = max(longest, number(counter))
		}
		return &edit.Edit{Target: ofTool, Set: edit.Set{TimeoutMS: &longest}}, ""
	case Retry:
		retries := max(number(counter), 1)
		return &edit.Edit{Target: ofTool, Set: edit.Set{Retries: &retries}}, ""
	case Order:
		return nil, "The model or the program decides the order of calls. Change the instructions or the tool's description, or the program."
	case Release, AgentRelease:
		return nil, "A release stands for all that changed with it. Code that changed is not run by a replay."
	case Environment:
		return nil, "An environment stands for all that is different in it, which a replay does not run."
	default:
		return nil, "It is a label. A replay does not run what depends on it."
	}
}

// callsOften reports whether most failed runs call a tool more than once.
func (c *comparison) callsOften(tool string) bool {
	often := 0
	for i := range c.failed {
		if c.failed[i].calls[tool].number > 1 {
			often++
		}
	}
	return 2*often > len(c.failed)
}

// instructionsOf returns the instructions of a good run with a version of a prompt.
func (c *comparison) instructionsOf(t trait, version string) string {
	for i := range c.good {
		if _, has := c.good[i].traits[trait{t.subject, version}]; !has {
			continue
		}
		found := ""
		for other, text := range c.good[i].traits {
			if other.kind == Instructions {
				if found != "" {
					return "" // of several agents
				}
				found = text
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}
