package grader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// toolUse limits how often tools are called.
type toolUse struct {
	tools       []string
	least, most *int
}

func readToolUse(d *definition) (check, bool) {
	c := &toolUse{d.names("tools"), d.integer("min", 0), d.integer("max", 0)}
	if d.members["min"] == nil && d.members["max"] == nil {
		d.fail("min", "is required, or max: min 1 for tools that must be called, max 0 for forbidden ones")
	}
	if c.least != nil && c.most != nil && *c.least > *c.most {
		d.fail("max", "must be at least min")
	}
	return c, len(c.tools) < 2
}

func (c *toolUse) grade(_ context.Context, s *subject) verdict {
	calls, known := s.calls()
	if !known {
		return notApplicable("the tool calls are not known")
	}
	within := func(n int) bool { return (c.least == nil || n >= *c.least) && (c.most == nil || n <= *c.most) }
	if c.tools == nil {
		return passed(within(len(calls)), map[string]any{"calls": len(calls)}, "%d tool calls", len(calls))
	}
	counts := map[string]int{}
	for i := range calls {
		counts[calls[i].Name]++
	}
	evidence := map[string]int{}
	var wrong []string
	for _, tool := range c.tools {
		evidence[tool] = counts[tool]
		if !within(counts[tool]) {
			wrong = append(wrong, fmt.Sprintf("%s was called %s", jsonvalue.Quote(tool), times(counts[tool])))
		}
	}
	score := 1 - float64(len(wrong))/float64(len(c.tools))
	if len(wrong) == 0 {
		return judged(score, true, map[string]any{"calls": evidence}, "each tool was called as often as allowed")
	}
	return judged(score, false, map[string]any{"calls": evidence}, "%s", strings.Join(wrong, "; "))
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// toolOrder demands that tools are called after others have succeeded.
type toolOrder struct {
	order []string
}

func readToolOrder(d *definition) (check, bool) {
	c := &toolOrder{d.names("order")}
	if len(c.order) < 2 {
		d.fail("order", "must have at least two tools: each may only be called after those before it")
	}
	return c, false
}

func (c *toolOrder) grade(_ context.Context, s *subject) verdict {
	calls, known := s.calls()
	if !known {
		return notApplicable("the tool calls are not known")
	}
	done := map[string]bool{}
	violations, later := []violation{}, 0
	for i := range calls {
		place := slices.Index(c.order, calls[i].Name)
		if place > 0 {
			later++
			for _, earlier := range c.order[:place] {
				if !done[earlier] {
					violations = append(violations, violation{calls[i].Name, i, calls[i].ID, earlier})
					break
				}
			}
		}
		if place >= 0 && calls[i].Error == nil {
			done[calls[i].Name] = true
		}
	}
	if later == 0 {
		return notApplicable("none of %s was called", jsonvalue.List(c.order[1:]))
	}
	score := 1 - float64(len(violations))/float64(later)
	evidence := map[string]any{"violations": violations[:min(len(violations), 50)]}
	if len(violations) > 0 {
		first := violations[0]
		return judged(score, false, evidence, "%s was called before %s had succeeded", jsonvalue.Quote(first.Tool), jsonvalue.Quote(first.Before))
	}
	return judged(score, true, evidence, "all %d calls came after those that they need", later)
}

// violation is a call that came too early.
type violation struct {
	Tool     string `json:"tool"`
	Position int    `json:"position"`
	ID       string `json:"id,omitempty"`
	// Before is the tool that should have succeeded first.
	Before string `json:"before"`
}
