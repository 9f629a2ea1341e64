package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	celtypes "cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Limits of an expression. Cost is CEL's: about 1 for an operation, and 1 for ten characters that it reads. Memory is that of the largest
// value in CEL's units: an element of a list, or ten bytes of a text.
const (
	maxExpressionCost   = 3_000_000
	maxExpressionMemory = 2_000_000
	maxExpressionTime   = 10 * time.Second
)

// variables are what an expression has.
var variables = []string{
	"input", "output", "output_text", "output_json", "reference", "metadata", "tool_calls", "finish_reason", "usage", "cost_usd",
	"duration_ms", "time_to_first_token_ms",
}

// expressionEnvironment declares them.
var expressionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true), ext.Math(), cel.RegexProgramSizeLimit(jsonschema.MaxProgram), cel.ParserRecursionLimit(50),
		cel.ParserExpressionSizeLimit(jsonvalue.MaxExpression),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return cel.NewEnv(options...)
})

// sizes measures values as deep as they may be. By default CEL takes a value that is deeper than a few levels for too large.
var sizes = celtypes.MemoryTrackerSizeCalculator(celtypes.NewSizeCalculator(
	celtypes.SizeCalculatorMaxDepth(maxDepth), celtypes.SizeCalculatorMaxTraversal(maxExpressionMemory)))

// expression evaluates a CEL expression.
type expression struct {
	program cel.Program
}

func readExpression(d *definition) (check, bool) {
	text := d.text("expression", required)
	if text == "" {
		return &expression{}, false
	}
	program, binary, reference, err := compileExpression(text)
	if err != nil {
		d.fail("expression", "%s", err.Error())
	}
	d.reference = reference
	return &expression{program}, binary
}

func compileExpression(text string) (program cel.Program, binary, reference bool, err error) {
	if len(text) > jsonvalue.MaxExpression {
		return nil, false, false, fmt.Errorf("must have at most %d bytes", jsonvalue.MaxExpression)
	}
	environment, err := expressionEnvironment()
	if err != nil {
		return nil, false, false, err
	}
	ast, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, false, false, fmt.Errorf("is not a CEL expression: %s. The variables are %s; null is written dyn(null) where another type may stand",
			strings.ReplaceAll(strings.TrimPrefix(issues.Err().Error(), "ERROR: "), "\n", " "), jsonvalue.List(variables))
	}
	binary = ast.OutputType().IsExactType(cel.BoolType)
	if t := ast.OutputType(); !binary && !t.IsExactType(cel.DynType) && !t.IsExactType(cel.DoubleType) && !t.IsExactType(cel.IntType) &&
		!t.IsExactType(cel.UintType) && !t.IsExactType(cel.NullType) {
		return nil, false, false, fmt.Errorf("gives %s; it must give true or false, a number from 0 to 1, or null if it does not apply", cel.FormatCELType(t))
	}
	program, err = environment.Program(ast, cel.CostLimit(maxExpressionCost), cel.MemoryLimit(maxExpressionMemory), cel.MemoryTracking(sizes), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, false, false, fmt.Errorf("is not a CEL expression: %w", err)
	}
	for _, name := range ast.NativeRep().ReferenceMap() {
		reference = reference || name.Name == "reference"
	}
	return program, binary, reference, nil
}

func (c *expression) grade(ctx context.Context, s *subject) verdict {
	bindings, err := s.bindings()
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxExpressionTime)
	defer cancel()
	value, _, err := c.program.ContextEval(ctx, bindings)
	if ctx.Err() != nil {
		return failed(fmt.Errorf("the expression took longer than %s", maxExpressionTime))
	}
	if err != nil {
		return failed(fmt.Errorf("the expression cannot be evaluated: %w; has(x.y) tells whether a member is there, and == null whether a value is known", err))
	}
	return expressionVerdict(value)
}

func expressionVerdict(value ref.Val) verdict {
	switch v := value.Value().(type) {
	case bool:
		verdict := passed(v, nil, "the expression is %v", v)
		verdict.pass = &v
		return verdict
	case float64:
		return numberVerdict(v)
	case int64:
		return numberVerdict(float64(v))
	case uint64:
		return numberVerdict(float64(v))
	}
	if value.Type().TypeName() == "null_type" {
		return notApplicable("the expression is null")
	}
	return failed(fmt.Errorf("the expression gives %s; it must give true or false, a number from 0 to 1, or null", value.Type().TypeName()))
}

// numberVerdict is that of a computed score.
func numberVerdict(score float64) verdict {
	const rounding = 1e-9
	if !(score >= -rounding && score <= 1+rounding) {
		return failed(fmt.Errorf("the result is %v; a score is between 0 and 1", score))
	}
	return scored(score, nil, "the result is %.3f", score)
}

// bindings are the values of the variables. Numbers are doubles, and what is not known is null.
func (s *subject) bindings() (map[string]any, error) {
	bindings := map[string]any{"output_text": s.outputText(), "metadata": map[string]any{}, "finish_reason": nil}
	for name, raw := range map[string]json.RawMessage{
		"input": s.Input, "output": s.Output, "output_json": s.outputJSON(), "reference": s.ReferenceOutput,
	} {
		var value any
		if !jsontext.IsNull(raw) {
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("%s cannot be read: %w", name, err)
			}
		}
		bindings[name] = value
	}
	if s.Metadata != nil {
		bindings["metadata"] = s.Metadata
	}
	if s.FinishReason != "" {
		bindings["finish_reason"] = s.FinishReason
	}
	bindings["usage"] = map[string]any{
		"input_tokens": known(s.number(count(s.InputTokens))), "output_tokens": known(s.number(count(s.OutputTokens))), "total_tokens": known(totalTokens(s.Sample)),
	}
	bindings["cost_usd"] = known(s.number(s.CostUSD))
	bindings["duration_ms"] = known(s.number(milliseconds(s.Duration)))
	bindings["time_to_first_token_ms"] = known(milliseconds(s.TimeToFirstToken))
	var err error
	bindings["tool_calls"], err = s.callBindings()
	return bindings, err
}

// known is the number, or nil for null.
func known(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func (s *subject) callBindings() (any, error) {
	recorded, known := s.calls()
	if !known {
		return nil, nil
	}
	calls := make([]any, len(recorded))
	for i := range recorded {
		one := map[string]any{"id": recorded[i].ID, "name": recorded[i].Name, "result": nil, "error": nil, "arguments": map[string]any{}}
		if e := recorded[i].Error; e != nil {
			one["error"] = *e
		}
		if raw := recorded[i].Result; !jsontext.IsNull(raw) {
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("the result of %s cannot be read: %w", jsonvalue.Quote(recorded[i].Name), err)
			}
			one["result"] = value
		}
		if raw := recorded[i].Arguments; !jsontext.IsNull(raw) {
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("the arguments of %s cannot be read: %w", jsonvalue.Quote(recorded[i].Name), err)
			}
			if text, ok := value.(string); ok { // as in chat completions
				var inside any
				if json.Unmarshal([]byte(text), &inside) == nil {
					value = inside
				}
			}
			one["arguments"] = value
		}
		calls[i] = one
	}
	return calls, nil
}
