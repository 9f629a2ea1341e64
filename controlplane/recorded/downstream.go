package recorded

import (
	"encoding/json"
	"slices"
	"strings"
)

// Downstream returns for each step whether it can depend on a change of the steps from: those steps themselves, all later steps
// of their loops, steps whose input has their output, what is below such a step, and steps that link to them; of each of these
// the same; and the frames around. A difference at another step cannot come from the change.
func (r *Recording) Downstream(from []int) []bool {
	c := downstream{Recording: r, in: make([]bool, len(r.Steps)), around: make([]bool, len(r.Steps)), begins: map[string][]int{}, whole: map[string]bool{}}
	c.children, c.linked, c.asked = make([][]int, len(r.Steps)), make([][]int, len(r.Steps)), make([][]int, len(r.Steps))
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Parent >= 0 {
			c.children[s.Parent] = append(c.children[s.Parent], i)
		}
		for _, to := range s.Links {
			c.linked[to] = append(c.linked[to], i)
		}
		if s.Asker >= 0 {
			c.asked[s.Asker] = append(c.asked[s.Asker], i)
		}
	}
	for _, i := range from {
		c.add(i)
	}
	// Inputs come after the outputs that they have, so one pass finds what has them; what a pass adds before it is found by another one.
	for changed := true; changed; {
		changed = false
		for i := range r.Steps {
			if !c.in[i] && r.Steps[i].Asker < 0 && c.hasOutput(i) {
				c.add(i)
				changed = true
			}
		}
	}
	for i := range c.in {
		c.in[i] = c.in[i] || c.around[i]
	}
	return c.in
}

// downstream collects the steps that can depend on a change.
type downstream struct {
	*Recording
	in, around              []bool
	children, linked, asked [][]int
	// begins are outputs by their first bytes, whole the short ones.
	begins map[string][]int
	texts  []outputText
	whole  map[string]bool
}

// outputText is a text that a downstream step returned.
type outputText struct {
	text string
	step int
}

// Lengths of outputs: one shorter than shortest must be a whole text of an input to count as its part, and one is found by
// its first bytes.
const (
	ShortestOutput = 12
	// mostCompared limits how many outputs are compared with one text. Beyond, the text counts as one that has them.
	mostCompared = 2000
)

// add adds a step and what follows from it without a look at texts.
func (c *downstream) add(i int) {
	work := []int{i}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if c.in[i] {
			continue
		}
		c.in[i] = true
		s := &c.Steps[i]
		work = append(append(append(work, c.children[i]...), c.linked[i]...), c.asked[i]...)
		work = append(work, c.laterCalls(i)...)
		c.returned(i)
		work = append(work, c.addAround(s.Parent)...)
	}
}

// laterCalls returns the next model call of the loop after a step, which those after it follow.
func (c *downstream) laterCalls(i int) []int {
	s := &c.Steps[i]
	if s.Loop < 0 {
		return nil
	}
	calls := c.Loops[s.Loop].Calls
	at := i
	if s.Asker >= 0 {
		at = s.Asker
	}
	k, found := slices.BinarySearch(calls, at)
	if !found {
		return nil
	}
	return calls[k+1 : min(k+2, len(calls))]
}

// addAround adds the frames around a step. What they return depends on it, but not what else is below them. It returns steps that
// follow from tool calls among them.
func (c *downstream) addAround(at int) (more []int) {
	for ; at >= 0 && !c.around[at] && !c.in[at]; at = c.Steps[at].Parent {
		c.around[at] = true
		c.returned(at)
		more = append(more, c.linked[at]...)
		if c.Steps[at].Kind == KindTool {
			more = append(more, c.laterCalls(at)...)
		}
	}
	return more
}

// returned notes what a step returned.
func (c *downstream) returned(i int) {
	for _, text := range c.OutputsOf(i) {
		text = strings.TrimSpace(text)
		switch {
		case text == "":
		case len(text) < ShortestOutput:
			c.whole[text] = true
		default:
			c.begins[text[:ShortestOutput]] = append(c.begins[text[:ShortestOutput]], len(c.texts))
			c.texts = append(c.texts, outputText{text, i})
		}
	}
}

// OutputsOf returns the texts that a step returned.
func (r *Recording) OutputsOf(i int) []string {
	s := &r.Steps[i]
	switch s.Kind {
	case KindModel:
		if s.Model.Response == nil {
			return nil
		}
		answer := r.Cache[string(s.Model.Response.Message)]
		texts := []string{answer.Text}
		for _, call := range answer.Calls {
			texts = append(texts, Strings(call.Arguments)...)
		}
		return texts
	case KindTool:
		if s.Tool.Result == nil {
			return nil
		}
		return []string{*s.Tool.Result}
	}
	return Strings(s.Outputs)
}

// inputsOf returns the texts that a step was given and that none of its loop gave.
func (r *Recording) inputsOf(i int) []string {
	s := &r.Steps[i]
	switch s.Kind {
	case KindModel:
		loop := &r.Loops[s.Loop]
		k, _ := slices.BinarySearch(loop.Calls, i)
		call := &loop.Turns[k]
		texts := []string{call.system}
		for _, raw := range call.Fresh {
			m := r.Cache[string(raw)]
			if m == nil {
				continue
			}
			texts = append(texts, m.Text)
			for _, one := range m.Calls {
				texts = append(texts, Strings(one.Arguments)...)
			}
		}
		return texts
	case KindTool:
		return Strings(s.Tool.Arguments)
	}
	return Strings(s.Inputs)
}

// Strings returns the strings of a JSON value, or a text that is none.
func Strings(text string) []string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !strings.ContainsRune(`{["`, rune(trimmed[0])) {
		return []string{text}
	}
	var value any
	if json.Unmarshal([]byte(trimmed), &value) != nil {
		return []string{text}
	}
	out := []string{text}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(value)
	return out
}

// hasOutput reports whether an input of a step has an output of a downstream step.
func (c *downstream) hasOutput(i int) bool {
	if len(c.texts) == 0 && len(c.whole) == 0 {
		return false
	}
	return slices.ContainsFunc(c.inputsOf(i), func(text string) bool { return c.textHasOutput(text, i) })
}

func (c *downstream) textHasOutput(text string, step int) bool {
	if trimmed := strings.TrimSpace(text); len(trimmed) < ShortestOutput {
		return trimmed != "" && c.whole[trimmed]
	}
	compared := 0
	seen := map[int]bool{}
	for at := 0; at+ShortestOutput <= len(text); at++ {
		for _, n := range c.begins[text[at:at+ShortestOutput]] {
			if c.texts[n].step >= step || seen[n] {
				continue // what came later is no input
			}
			seen[n] = true
			if compared++; compared > mostCompared || strings.Contains(text[at:], c.texts[n].text) {
				return true
			}
		}
	}
	return false
}
