package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// jsonValue returns the value that an answer stands for: of a text that is JSON, its value. The verdict says that it is not JSON.
func (a *answer) jsonValue(s *subject) (any, *verdict) {
	if a.pattern == nil {
		value, err := a.input.value(s)
		if err != nil {
			v := unresolved(err)
			return nil, &v
		}
		if value[0] != '"' {
			return decoded(value)
		}
	}
	text, err := a.text(s)
	if err != nil {
		v := unanswered(err)
		return nil, &v
	}
	return decoded(json.RawMessage(text))
}

func decoded(raw json.RawMessage) (any, *verdict) {
	value, err := decode(raw)
	if err != nil {
		v := passed(false, nil, "the text is not JSON: %s", err.Error())
		return nil, &v
	}
	if tooDeep(value, 0) {
		v := failed(fmt.Errorf("%w: more than %d levels", errDepth, maxDepth))
		return nil, &v
	}
	return value, nil
}

const maxDepth = 500

func tooDeep(value any, depth int) bool {
	if depth > maxDepth {
		return true
	}
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, func(element any) bool { return tooDeep(element, depth+1) })
	case map[string]any:
		for _, member := range v {
			if tooDeep(member, depth+1) {
				return true
			}
		}
	}
	return false
}

// jsonCheck compares JSON values.
type jsonCheck struct {
	answer
	reference *template
	operation string
}

func readJSONCheck(d *definition) (check, bool) {
	c := &jsonCheck{answer: d.answer(), operation: d.text("operation", required)}
	switch c.operation {
	case "valid", "":
		if d.members["reference"] != nil {
			d.fail("reference", "is not used by the operation valid; leave it out, or use eq or contains")
		}
	case "eq", "contains":
		c.reference = d.template("reference", ofReference)
	default:
		d.fail("operation", "must be valid, eq or contains, not %s", jsonvalue.Quote(c.operation))
	}
	return c, true
}

func (c *jsonCheck) grade(_ context.Context, s *subject) verdict {
	var reference any
	if c.reference != nil {
		var v *verdict
		if reference, v = referenceJSON(c.reference, s); v != nil {
			return *v
		}
	}
	value, v := c.jsonValue(s)
	if v != nil {
		return *v
	}
	switch c.operation {
	case "eq":
		if jsonvalue.Equal(value, reference) {
			return passed(true, nil, "the value equals the reference")
		}
		return passed(false, nil, "%s does not equal %s", jsonvalue.Shown(value), jsonvalue.Shown(reference))
	case "contains":
		if jsonvalue.Includes(value, reference) {
			return passed(true, nil, "the value contains the reference")
		}
		return passed(false, nil, "%s does not contain %s", jsonvalue.Shown(value), jsonvalue.Shown(reference))
	}
	return passed(true, nil, "the text is JSON")
}

// referenceJSON is the value of a reference. A text that has JSON is that JSON: items often keep it as a text.
func referenceJSON(t *template, s *subject) (any, *verdict) {
	raw, err := t.value(s)
	if err != nil {
		v := unresolved(err)
		return nil, &v
	}
	value, v := decoded(raw)
	if text, ok := value.(string); ok && v == nil && json.Valid([]byte(text)) {
		return decoded(json.RawMessage(text))
	}
	return value, v
}

// jsonSimilarity scores how close a JSON value is to its reference.
type jsonSimilarity struct {
	answer
	reference *template
}

func readJSONSimilarity(d *definition) (check, bool) {
	return &jsonSimilarity{d.answer(), d.template("reference", ofReference)}, false
}

func (c *jsonSimilarity) grade(ctx context.Context, s *subject) verdict {
	reference, v := referenceJSON(c.reference, s)
	if v != nil {
		return *v
	}
	value, v := c.jsonValue(s)
	if v != nil {
		return *v
	}
	d := jsonvalue.JSONDistance{Ctx: ctx}
	score, err := d.Similarity("$", value, reference)
	if err != nil {
		return failed(err)
	}
	return scored(score, map[string]any{"differences": d.Differences}, "the similarity is %.3f; differences: %d", score, len(d.Differences))
}

// jsonSchema validates a JSON value.
type jsonSchema struct {
	answer
	schema *jsonschema.Schema
}

func readJSONSchema(d *definition) (check, bool) {
	c := &jsonSchema{answer: d.answer()}
	raw := d.raw("schema")
	if raw == nil {
		d.fail("schema", "is required; use json_check with the operation valid for any JSON")
		return c, true
	}
	var err error
	if c.schema, err = jsonschema.ParseSchema(raw); err != nil {
		d.fail("schema", "%s", err.Error())
	}
	return c, true
}

func (c *jsonSchema) grade(ctx context.Context, s *subject) verdict {
	value, v := c.jsonValue(s)
	if v != nil {
		return *v
	}
	misfits, err := c.schema.Misfits(ctx, value)
	if err != nil {
		return failed(err)
	}
	if len(misfits) > 0 {
		return passed(false, map[string]any{"errors": misfits}, "the value does not fit the schema: %s %s", misfits[0].Path, misfits[0].Message)
	}
	return passed(true, nil, "the value fits the schema")
}
