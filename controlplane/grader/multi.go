package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/formula"
	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// multi combines graders.
type multi struct {
	// keys are the names in the formula and in the evidence.
	keys    []string
	graders []*Grader
	// formula is nil for the weighted mean.
	formula *formula.Formula
}

func readMulti(d *definition) (check, bool) {
	c := &multi{}
	raw := d.raw("graders")
	text := d.text("calculate_output", "")
	if raw == nil {
		d.fail("graders", "is required: an object of graders by name, or a list of them")
		return c, false
	}
	var byKey map[string]json.RawMessage
	var inOrder []json.RawMessage
	switch {
	case json.Unmarshal(raw, &inOrder) == nil:
		for i, one := range inOrder {
			var named struct {
				Name string `json:"name"`
			}
			_ = json.Unmarshal(one, &named) // add says what is wrong
			c.add(d, named.Name, one, "["+strconv.Itoa(i)+"]")
		}
	case json.Unmarshal(raw, &byKey) == nil && isOne(byKey): // as in the type of OpenAI's reference
		var name string
		_ = json.Unmarshal(byKey["name"], &name) // add says what is wrong
		c.add(d, name, raw, "")
	case json.Unmarshal(raw, &byKey) == nil:
		for _, key := range jsonvalue.SortedKeys(byKey) {
			c.add(d, key, byKey[key], "."+key)
		}
	default:
		d.fail("graders", "must be an object of graders by name, or a list of them")
		return c, false
	}
	if n := len(c.keys); n == 0 || n > maxMembers {
		d.fail("graders", "must have from 1 to %d graders, not %d", maxMembers, n)
	}
	sum := 0.0
	for _, g := range c.graders {
		sum += g.weight
	}
	if text != "" {
		var err error
		if c.formula, err = formula.ParseFormula(text, c.keys); err != nil {
			d.fail("calculate_output", "%s", err.Error())
		}
	} else if len(c.graders) == len(c.keys) && sum == 0 {
		d.fail("graders", "must have a weight that is not 0")
	}
	return c, false
}

// isOne reports whether an object is a grader itself.
func isOne(object map[string]json.RawMessage) bool {
	var kind string
	return json.Unmarshal(object["type"], &kind) == nil && kind != ""
}

func (c *multi) add(d *definition, key string, raw json.RawMessage, place string) {
	path := d.location("graders") + place
	switch {
	case key == "":
		d.join(d.invalid("graders"+place+".name", "is required"))
		return
	case slices.Contains(c.keys, key):
		d.join(d.invalid("graders"+place+".name", "repeats "+jsonvalue.Quote(key)))
	case len(c.keys) >= maxMembers:
		c.keys = append(c.keys, key) // their number is wrong
		return
	}
	c.keys = append(c.keys, key)
	g, err := parse(raw, path, key)
	if err != nil {
		d.join(err)
		return
	}
	c.graders = append(c.graders, g)
	d.reference = d.reference || g.reference
}

// memberResult is the evidence of one grader.
type memberResult struct {
	Name     string          `json:"name"`
	Score    *float64        `json:"score"`
	Pass     *bool           `json:"pass,omitempty"`
	Weight   float64         `json:"weight"`
	Reason   string          `json:"reason,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

func (c *multi) grade(ctx context.Context, s *subject) verdict {
	scores, members := map[string]float64{}, make([]memberResult, len(c.keys))
	var left []string
	for i, key := range c.keys {
		r := c.graders[i].grade(ctx, s)
		if r.Error != "" {
			return failed(fmt.Errorf("%s: %s", key, r.Error))
		}
		members[i] = memberResult{key, r.Score, r.Pass, c.graders[i].weight, r.Reason, r.Evidence}
		if r.Score == nil {
			left = append(left, key)
			continue
		}
		scores[key] = *r.Score
	}
	evidence := map[string]any{"graders": members}
	if c.formula != nil {
		return c.calculate(scores, left, evidence)
	}
	sum, weights, pass, decided := 0.0, 0.0, true, false
	for i := range members {
		if members[i].Score == nil {
			continue
		}
		sum += members[i].Weight * *members[i].Score
		weights += members[i].Weight
		if members[i].Pass != nil {
			pass, decided = pass && *members[i].Pass, true
		}
	}
	if weights == 0 {
		v := notApplicable("none of its graders with a weight applies")
		v.evidence = evidence
		return v
	}
	reason := fmt.Sprintf("the weighted mean of %d graders is %.3f", len(scores), sum/weights)
	if len(left) > 0 {
		reason += "; left out, because they do not apply: " + strings.Join(left, ", ")
	}
	if !decided {
		return scored(sum/weights, evidence, "%s", reason)
	}
	return judged(sum/weights, pass, evidence, "%s", reason)
}

// calculate evaluates the formula. It needs all the scores that it names.
func (c *multi) calculate(scores map[string]float64, left []string, evidence map[string]any) verdict {
	for _, name := range c.formula.Names {
		if slices.Contains(left, name) {
			v := notApplicable("%s does not apply, and calculate_output needs it", name)
			v.evidence = evidence
			return v
		}
	}
	v := numberVerdict(c.formula.Evaluate(scores))
	if v.err != nil {
		return failed(fmt.Errorf("calculate_output: %w", v.err))
	}
	v.evidence = evidence
	return v
}
