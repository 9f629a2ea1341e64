package grader

import (
	"context"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/controlplane/grader/textmetrics"
)

// trajectoryMatch compares the tool calls with those of a reference.
type trajectoryMatch struct {
	reference *template
	mode      string
	score     string
	rule      argumentRule
	overrides map[string]argumentRule
}

func readTrajectoryMatch(d *definition) (check, bool) {
	c := &trajectoryMatch{
		reference: d.template("reference", "{{item.reference_output.tool_calls}}"),
		mode:      d.oneOf("mode", "unordered", "strict", "subset", "superset"),
		rule:      argumentRule{mode: d.oneOf("arguments", argumentModes...)},
		score:     d.oneOf("score", "f1", "precision", "recall", "order"),
		overrides: map[string]argumentRule{},
	}
	if c.reference != nil && c.reference.literal != nil {
		if _, err := readCalls(c.reference.literal); err != nil {
			d.fail("reference", "%s", err.Error())
		}
	}
	var overrides map[string]any
	if d.read("argument_overrides", &overrides, "an object: by the name of a tool, how its arguments are compared") {
		for _, tool := range jsonvalue.SortedKeys(overrides) {
			rule, ok := newArgumentRule(overrides[tool])
			if !ok {
				d.fail("argument_overrides."+tool, "must be %s, or the list of the arguments that are compared", jsonvalue.List(argumentModes))
			}
			c.overrides[tool] = rule
		}
	}
	return c, false
}

func newArgumentRule(value any) (argumentRule, bool) {
	switch v := value.(type) {
	case string:
		return argumentRule{mode: v}, slices.Contains(argumentModes, v)
	case []any:
		rule := argumentRule{fields: []string{}}
		for _, element := range v {
			name, ok := element.(string)
			if !ok {
				return rule, false
			}
			rule.fields = append(rule.fields, name)
		}
		return rule, len(v) > 0
	}
	return argumentRule{}, false
}

// trajectoryEvidence has what was matched, by position.
type trajectoryEvidence struct {
	textmetrics.PRF
	// Order is the longest common subsequence relative to the reference.
	Order float64 `json:"order"`
	// Matched are pairs of positions from 0: of the sample and of the reference.
	Matched []matchedPair `json:"matched"`
	// Unexpected are calls of the sample, Missing those of the reference, without a partner.
	Unexpected []unmatched `json:"unexpected"`
	Missing    []unmatched `json:"missing"`
}

type matchedPair struct {
	Tool      string `json:"tool"`
	Call      int    `json:"call"`
	Reference int    `json:"reference"`
	ID        string `json:"id,omitempty"`
}

type unmatched struct {
	Tool     string `json:"tool"`
	Position int    `json:"position"`
	ID       string `json:"id,omitempty"`
}

func (c *trajectoryMatch) grade(ctx context.Context, s *subject) verdict {
	wanted, v := wantedCalls(c.reference, s)
	if v != nil {
		return *v
	}
	actual, v := s.compared()
	if v != nil {
		return *v
	}
	if len(actual) > maxCalls || len(wanted) > maxCalls {
		return failed(fmt.Errorf("at most %d calls are compared with %d; there are %d and %d", maxCalls, maxCalls, len(actual), len(wanted)))
	}
	same := make([][]bool, len(actual))
	for i := range actual {
		if err := ctx.Err(); err != nil {
			return failed(err)
		}
		same[i] = make([]bool, len(wanted))
		for j := range wanted {
			rule, ok := c.overrides[wanted[j].name]
			if !ok {
				rule = c.rule
			}
			same[i][j] = rule.same(&actual[i], &wanted[j])
		}
	}
	of, err := matching(ctx, same, len(wanted))
	if err != nil {
		return failed(err)
	}
	evidence := newEvidence(actual, wanted, of)
	if longest := order(same, len(wanted)); len(wanted) > 0 {
		evidence.Order = float64(longest) / float64(len(wanted))
	}
	if len(actual) == 0 && len(wanted) == 0 {
		evidence.PRF, evidence.Order = textmetrics.PRF{Precision: 1, Recall: 1, F1: 1}, 1
	}
	score := map[string]float64{
		"f1": evidence.F1, "precision": evidence.Precision, "recall": evidence.Recall, "order": evidence.Order,
	}[c.score]
	return judged(score, c.passes(same, evidence), evidence, "%d of %d calls match %d of the reference; in order %.2f",
		len(evidence.Matched), len(actual), len(wanted), evidence.Order)
}

func (c *trajectoryMatch) passes(same [][]bool, e *trajectoryEvidence) bool {
	switch c.mode {
	case "strict":
		for i := range same {
			if i >= len(same[i]) || !same[i][i] {
				return false
			}
		}
		return len(e.Unexpected) == 0 && len(e.Missing) == 0
	case "subset":
		return len(e.Unexpected) == 0
	case "superset":
		return len(e.Missing) == 0
	}
	return len(e.Unexpected) == 0 && len(e.Missing) == 0
}

func newEvidence(actual, wanted []call, of []int) *trajectoryEvidence {
	e := &trajectoryEvidence{Matched: []matchedPair{}, Unexpected: []unmatched{}, Missing: []unmatched{}}
	taken := make([]bool, len(wanted))
	for i, j := range of {
		if j < 0 {
			e.Unexpected = append(e.Unexpected, unmatched{actual[i].name, i, actual[i].recorded.ID})
			continue
		}
		taken[j] = true
		e.Matched = append(e.Matched, matchedPair{actual[i].name, i, j, actual[i].recorded.ID})
	}
	for j := range wanted {
		if !taken[j] {
			e.Missing = append(e.Missing, unmatched{Tool: wanted[j].name, Position: j})
		}
	}
	e.PRF = textmetrics.NewPRF(len(e.Matched), len(actual), len(wanted))
	return e
}
