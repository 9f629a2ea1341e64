package grader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// toolSchema validates the arguments of tool calls against the definitions of the tools.
type toolSchema struct {
	tools *template
	// schemas are those of tools without templates.
	schemas map[string]*jsonschema.Schema
}

func readToolSchema(d *definition) (check, bool) {
	c := &toolSchema{tools: d.template("tools", "{{item.tools}}")}
	if c.tools != nil && c.tools.literal != nil {
		var err error
		if c.schemas, err = toolSchemas(c.tools.literal); err != nil {
			d.fail("tools", "%s", err.Error())
		}
	}
	return c, false
}

// toolSchemas returns the schemas of the tools by name, nil for a tool without parameters.
func toolSchemas(raw json.RawMessage) (map[string]*jsonschema.Schema, error) {
	type definition struct {
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	var tools []struct {
		definition
		Function *definition `json:"function"`
	}
	if json.Unmarshal(raw, &tools) != nil {
		return nil, errors.New("must be a list of tool definitions: OpenAI's, or objects with name and parameters or input_schema")
	}
	if len(raw) > maxDefinition {
		return nil, fmt.Errorf("must have at most %d KiB", maxDefinition>>10)
	}
	schemas := make(map[string]*jsonschema.Schema, len(tools))
	for i := range tools {
		one := tools[i].definition
		if tools[i].Function != nil {
			one = *tools[i].Function
		}
		if one.Name == "" {
			return nil, fmt.Errorf("must be a list of tool definitions: element %d has no name", i)
		}
		parameters := one.Parameters
		if jsontext.IsNull(parameters) {
			parameters = one.InputSchema
		}
		schemas[one.Name] = nil
		if jsontext.IsNull(parameters) {
			continue
		}
		s, err := jsonschema.ParseSchema(parameters)
		if err != nil {
			return nil, fmt.Errorf("has the tool %s, whose schema %w", jsonvalue.Quote(one.Name), err)
		}
		schemas[one.Name] = s
	}
	return schemas, nil
}

// invalidCall is a call that does not fit.
type invalidCall struct {
	Tool     string              `json:"tool"`
	Position int                 `json:"position"`
	ID       string              `json:"id,omitempty"`
	Errors   []jsonschema.Misfit `json:"errors"`
}

func (c *toolSchema) grade(ctx context.Context, s *subject) verdict {
	schemas := c.schemas
	if schemas == nil {
		raw, err := c.tools.value(s)
		if err != nil {
			return unresolved(err)
		}
		if schemas, err = toolSchemas(raw); err != nil {
			return failed(fmt.Errorf("the tools of the item: %w", err))
		}
	}
	recorded, known := s.calls()
	switch {
	case !known:
		return notApplicable("the tool calls are not known")
	case len(recorded) == 0:
		return notApplicable("the sample has no tool calls")
	}
	invalid := []invalidCall{}
	wrong := 0
	for i := range recorded {
		misfits, err := callMisfits(ctx, schemas, &recorded[i])
		if err != nil {
			return failed(err)
		}
		if len(misfits) > 0 {
			wrong++
			invalid = jsonvalue.AppendLimited(invalid, invalidCall{recorded[i].Name, i, recorded[i].ID, misfits})
		}
	}
	score := 1 - float64(wrong)/float64(len(recorded))
	evidence := map[string]any{"invalid": invalid}
	if wrong > 0 {
		first := invalid[0]
		return judged(score, false, evidence, "%d of %d calls are not valid; the first is %s: %s %s",
			wrong, len(recorded), jsonvalue.Quote(first.Tool), first.Errors[0].Path, first.Errors[0].Message)
	}
	return judged(score, true, evidence, "all %d calls are valid", len(recorded))
}

func callMisfits(ctx context.Context, schemas map[string]*jsonschema.Schema, recorded *ToolCall) ([]jsonschema.Misfit, error) {
	s, ok := schemas[recorded.Name]
	if !ok {
		return []jsonschema.Misfit{{Path: "$", Message: "there is no such tool"}}, nil
	}
	c, err := newCall(recorded.Name, recorded.Arguments)
	if err != nil {
		return nil, err
	}
	if text, ok := c.args.(string); ok {
		return []jsonschema.Misfit{{Path: "$", Message: "the arguments are not JSON: " + jsonvalue.Quote(text)}}, nil
	}
	if s == nil {
		return nil, nil
	}
	return s.Misfits(ctx, c.args)
}
