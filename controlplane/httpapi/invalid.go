package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/looptrace/looptrace/internal/problem"
)

func parameterErrors(refused *openapi3filter.RequestError, r *http.Request) []problem.Field {
	p := refused.Parameter
	if p.Content != nil {
		return memberErrors(refused)
	}
	e := problem.Field{Location: p.In + "." + p.Name}
	if p.In == openapi3.ParameterInQuery {
		if values := r.URL.Query()[p.Name]; len(values) > 0 {
			e.Value = shown(values[0])
			if len(values) > 1 {
				e.Value = values
			}
		}
	}
	schema := p.Schema.Value
	if schema.Type.Is(openapi3.TypeArray) {
		schema = schema.Items.Value
	}
	var broken *openapi3.SchemaError
	switch {
	case errors.As(refused.Err, &broken) && strings.HasSuffix(broken.SchemaField, "Items"):
		e.Message = rule(broken.SchemaField, p.Schema.Value)
	case errors.As(refused.Err, &broken):
		e.Message = rule(broken.SchemaField, schema)
	case errors.As(refused.Err, new(*openapi3filter.ParseError)):
		e.Message = rule("type", schema)
	case errors.Is(refused.Err, openapi3filter.ErrInvalidRequired):
		e.Message = "is required"
	default:
		e.Message = "must not be empty"
	}
	return []problem.Field{e}
}

// memberErrors returns the errors of an object in the query.
func memberErrors(refused *openapi3filter.RequestError) []problem.Field {
	schema := refused.Parameter.Content.Get("application/json").Schema.Value
	var fields []problem.Field
	for _, broken := range brokenRules(refused.Err) {
		pointer := broken.JSONPointer()
		at := refused.Parameter.In + "." + refused.Parameter.Name
		if len(pointer) > 0 {
			at += "[" + shortened(pointer[0]) + "]"
		}
		fields = append(fields, problem.Field{Location: at, Message: rule(broken.SchemaField, brokenSchema(broken, schema, pointer)), Value: shown(broken.Value)})
	}
	return fields
}

func bodyErrors(refused *openapi3filter.RequestError) []problem.Field {
	schema := refused.RequestBody.Content.Get("application/json").Schema.Value
	var fields []problem.Field
	for _, broken := range brokenRules(refused.Err) {
		pointer := broken.JSONPointer()
		at := schemaAt(schema, pointer)
		switch broken.SchemaField {
		case "required":
			if len(pointer) > 0 && !lacksRequired(broken.Value, at) { // the pointer is that of the member, not of the object
				pointer = pointer[:len(pointer)-1]
			}
			fields = append(fields, wrongMembers(broken.Value, brokenSchema(broken, schema, pointer), pointer)...)
		case "properties", "additionalProperties":
			fields = append(fields, wrongMembers(broken.Value, brokenSchema(broken, schema, pointer), pointer)...)
		default:
			field := problem.Field{Location: location(pointer), Message: rule(broken.SchemaField, brokenSchema(broken, schema, pointer))}
			if at.Format != "password" {
				field.Value = shown(broken.Value)
			}
			fields = append(fields, field)
		}
	}
	return fields
}

// brokenSchema returns the schema that has the rule, of a value at the pointer in a value of the whole. Not all validators tell it.
func brokenSchema(broken *openapi3.SchemaError, whole *openapi3.Schema, pointer []string) *openapi3.Schema {
	if broken.Schema != nil {
		return broken.Schema
	}
	return schemaAt(whole, pointer)
}

// lacksRequired reports whether a value is an object without a member that the schema requires.
func lacksRequired(value any, schema *openapi3.Schema) bool {
	object, ok := value.(map[string]any)
	return ok && slices.ContainsFunc(schema.Required, func(name string) bool {
		_, has := object[name]
		return !has
	})
}

// brokenRules lists the schema rules that a value breaks.
func brokenRules(err error) []*openapi3.SchemaError {
	var list []*openapi3.SchemaError
	for _, e := range flatten(err) {
		var broken *openapi3.SchemaError
		if !errors.As(e, &broken) {
			continue
		}
		several := new(openapi3.MultiError)
		switch {
		case !errors.As(broken.Origin, several):
			list = append(list, broken)
		case broken.SchemaField == "oneOf":
			list = append(list, nearest(*several, len(broken.JSONPointer()))...)
		default:
			list = append(list, brokenRules(*several)...)
		}
	}
	return list
}

// nearest lists the rules that a value at a depth breaks of the one schema, of several, that it comes nearest to: it is of its type, and breaks
// the fewest. A value that is of the type of none breaks the rules of all.
func nearest(schemas openapi3.MultiError, depth int) (rules []*openapi3.SchemaError) {
	for _, schema := range schemas {
		broken := brokenRules(schema)
		other := slices.ContainsFunc(broken, func(e *openapi3.SchemaError) bool {
			return len(e.JSONPointer()) == depth && slices.Contains([]string{"type", "enum", "nullable"}, e.SchemaField)
		})
		if !other && (rules == nil || len(broken) < len(rules)) {
			rules = broken
		}
	}
	if rules == nil {
		return brokenRules(schemas)
	}
	return rules
}

// wrongMembers returns an error for each missing and each unknown member of an object.
func wrongMembers(value any, schema *openapi3.Schema, pointer []string) []problem.Field {
	object, _ := value.(map[string]any)
	var fields []problem.Field
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			fields = append(fields, problem.Field{Location: location(append(slices.Clone(pointer), name)), Message: "is required"})
		}
	}
	for name := range object {
		if schema.Properties[name] == nil {
			fields = append(fields, problem.Field{
				Location: location(append(slices.Clone(pointer), name)), Message: "is not a field of this resource",
			})
		}
	}
	return fields
}

// schemaAt follows a JSON pointer into a schema as far as possible.
func schemaAt(schema *openapi3.Schema, pointer []string) *openapi3.Schema {
	for _, step := range pointer {
		next := schema.Properties[step]
		if next == nil {
			next = schema.AdditionalProperties.Schema
		}
		if next == nil {
			next = schema.Items
		}
		if next == nil {
			break
		}
		schema = next.Value
	}
	return schema
}

func location(pointer []string) string {
	var at strings.Builder
	at.WriteString("body")
	for _, step := range pointer {
		if _, err := strconv.Atoi(step); err == nil {
			at.WriteString("[" + step + "]")
		} else {
			at.WriteString("." + step)
		}
	}
	return at.String()
}

// rule describes the requirement of a schema keyword. The schema is perhaps not the one that has it, if one of several applies.
func rule(keyword string, schema *openapi3.Schema) string {
	lacking := map[string]bool{
		"maxLength": schema.MaxLength == nil, "maxItems": schema.MaxItems == nil, "maxProperties": schema.MaxProps == nil,
		"minimum": schema.Min == nil, "maximum": schema.Max == nil,
	}
	if lacking[keyword] {
		return "breaks the rule " + keyword
	}
	switch keyword {
	case "required":
		return "is required"
	case "nullable":
		return "must not be null"
	case "type", "": // no keyword: a number that JSON cannot hold
		return "must be of type " + strings.Join(schema.Type.Slice(), " or ")
	case "enum":
		names := make([]string, len(schema.Enum))
		for i, v := range schema.Enum {
			names[i] = fmt.Sprint(v)
		}
		return "must be one of " + strings.Join(names, ", ")
	case "format":
		return "must be a " + schema.Format
	case "pattern":
		return "must match " + schema.Pattern
	case "minLength":
		return fmt.Sprintf("must have at least %d characters", schema.MinLength)
	case "maxLength":
		return fmt.Sprintf("must have at most %d characters", *schema.MaxLength)
	case "minItems":
		return fmt.Sprintf("must have at least %d items", schema.MinItems)
	case "maxItems":
		return fmt.Sprintf("must have at most %d items", *schema.MaxItems)
	case "maxProperties":
		return fmt.Sprintf("must have at most %d members", *schema.MaxProps)
	case "minProperties":
		return fmt.Sprintf("must have at least %d members", schema.MinProps)
	case "minimum":
		return "must be at least " + number(*schema.Min)
	case "maximum":
		return "must be at most " + number(*schema.Max)
	default:
		return "breaks the rule " + keyword
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// maxShown is the maximum length of a client's value (in characters) or name (in bytes) in an answer.
const maxShown = 100

// shown returns a value for use in an answer: short, and no object or list.
func shown(value any) any {
	switch v := value.(type) {
	case string:
		if utf8.RuneCountInString(v) > maxShown {
			return nil
		}
		return v
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return v.String() // clients could not read it
		}
		return v
	case bool, float64, int64:
		return v
	default:
		return nil
	}
}
