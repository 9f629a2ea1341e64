package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// finishReason checks why the model stopped.
type finishReason struct {
	allowed []string
}

func readFinishReason(d *definition) (check, bool) {
	c := &finishReason{d.names("allowed")}
	if d.members["allowed"] == nil {
		d.fail("allowed", `is required, such as ["stop", "tool_calls"]`)
	}
	return c, true
}

func (c *finishReason) grade(_ context.Context, s *subject) verdict {
	if s.FinishReason == "" {
		return notApplicable("the finish reason is not known")
	}
	return passed(slices.Contains(c.allowed, s.FinishReason), nil, "the finish reason is %s", jsonvalue.Quote(s.FinishReason))
}

// refusal checks whether the model refused to answer, as the provider says it.
type refusal struct {
	expected bool
}

func readRefusal(d *definition) (check, bool) { return &refusal{d.flag("expected")}, true }

func (c *refusal) grade(_ context.Context, s *subject) verdict {
	if jsontext.IsNull(s.Message) && s.FinishReason == "" {
		return notApplicable("neither the message of the model nor its finish reason is known")
	}
	var message struct {
		Refusal *string         `json:"refusal"`
		Content json.RawMessage `json:"content"`
	}
	if !jsontext.IsNull(s.Message) {
		if err := json.Unmarshal(s.Message, &message); err != nil {
			return failed(fmt.Errorf("the message of the model cannot be read: %w", err))
		}
	}
	var parts []struct {
		Type    string `json:"type"`
		Refusal string `json:"refusal"`
	}
	refused, why := false, "the model did not refuse"
	if json.Unmarshal(message.Content, &parts) == nil {
		for _, part := range parts {
			if part.Type == "refusal" {
				refused, why = true, "the model refused: "+jsonvalue.Quote(part.Refusal)
			}
		}
	}
	switch {
	case message.Refusal != nil && *message.Refusal != "":
		refused, why = true, "the model refused: "+jsonvalue.Quote(*message.Refusal)
	case s.FinishReason == "refusal" || s.FinishReason == "content_filter":
		refused, why = true, "the finish reason is "+s.FinishReason
	}
	return passed(refused == c.expected, nil, "%s", why)
}

// budget limits what a sample takes.
type budget struct {
	limits []limit
}

// limit is a limit with the value that it is for, nil if that is not known.
type limit struct {
	name  string
	most  float64
	value func(s *subject) *float64
}

// budgets are the values that can be limited.
var budgets = []limit{
	{name: "max_input_tokens", value: func(s *subject) *float64 { return s.number(count(s.InputTokens)) }},
	{name: "max_output_tokens", value: func(s *subject) *float64 { return s.number(count(s.OutputTokens)) }},
	{name: "max_total_tokens", value: func(s *subject) *float64 { return s.number(totalTokens(s.Sample)) }},
	{name: "max_cost_usd", value: func(s *subject) *float64 { return s.number(s.CostUSD) }},
	{name: "max_duration_ms", value: func(s *subject) *float64 { return s.number(milliseconds(s.Duration)) }},
	{name: "max_time_to_first_token_ms", value: func(s *subject) *float64 { return s.number(milliseconds(s.TimeToFirstToken)) }},
	{name: "max_tool_calls", value: func(s *subject) *float64 {
		calls, known := s.calls()
		if !known {
			return nil
		}
		n := float64(len(calls))
		return &n
	}},
}

func count(n *int64) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

func totalTokens(s *Sample) *float64 {
	if s.InputTokens == nil || s.OutputTokens == nil {
		return nil
	}
	sum := *s.InputTokens + *s.OutputTokens
	return count(&sum)
}

func milliseconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	x := float64(*d) / float64(time.Millisecond)
	return &x
}

func readBudget(d *definition) (check, bool) {
	c := &budget{}
	var names []string
	for _, one := range budgets {
		names = append(names, one.name)
		if most := d.number(one.name, 1e15); most != nil {
			one.most = *most
			c.limits = append(c.limits, one)
		}
	}
	if len(c.limits) == 0 {
		d.fail(names[0], "is required, or another limit: %s", jsonvalue.List(names[1:]))
	}
	return c, true
}

func (c *budget) grade(_ context.Context, s *subject) verdict {
	known := map[string]float64{}
	var over, unknown []string
	for _, one := range c.limits {
		what := strings.TrimPrefix(one.name, "max_")
		value := one.value(s)
		if value == nil {
			unknown = append(unknown, what)
			continue
		}
		known[what] = *value
		if *value > one.most {
			over = append(over, fmt.Sprintf("%s is %v, more than %v", what, *value, one.most))
		}
	}
	switch {
	case len(over) > 0: // whatever the rest is
		return passed(false, known, "%s", strings.Join(over, "; "))
	case len(unknown) > 0:
		return notApplicable("%s is not known", jsonvalue.List(unknown))
	}
	return passed(true, known, "all limits are kept")
}
