package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// deepest ends schemas that refer to themselves.
const deepest = 6

// source decides between the values that a schema allows.
type source struct {
	rand *rand.Rand
	// judges makes booleans, enumerations and numbers the best or another value of theirs: true, the first, the maximum.
	judges, passes bool
}

type schema struct {
	Ref         string                     `json:"$ref"`
	Type        any                        `json:"type"`
	Const       json.RawMessage            `json:"const"`
	Enum        []json.RawMessage          `json:"enum"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	AllOf       []json.RawMessage          `json:"allOf"`
	Properties  json.RawMessage            `json:"properties"`
	Required    []string                   `json:"required"`
	Additional  json.RawMessage            `json:"additionalProperties"`
	Items       json.RawMessage            `json:"items"`
	MinItems    int                        `json:"minItems"`
	MinLength   int                        `json:"minLength"`
	MaxLength   *int                       `json:"maxLength"`
	Format      string                     `json:"format"`
	Minimum     *float64                   `json:"minimum"`
	Maximum     *float64                   `json:"maximum"`
	Above       *float64                   `json:"exclusiveMinimum"`
	Below       *float64                   `json:"exclusiveMaximum"`
	MultipleOf  float64                    `json:"multipleOf"`
	Definitions map[string]json.RawMessage `json:"$defs"`
	Older       map[string]json.RawMessage `json:"definitions"`
}

// fit returns a value that fits a schema, with the members in the order of its properties. Patterns are not followed.
func fit(raw json.RawMessage, s source) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	var root schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return json.RawMessage("{}")
	}
	definitions := map[string]json.RawMessage{"#": raw}
	for name, d := range root.Definitions {
		definitions["#/$defs/"+name] = d
	}
	for name, d := range root.Older {
		definitions["#/definitions/"+name] = d
	}
	return value(raw, definitions, s, 0)
}

func value(raw json.RawMessage, definitions map[string]json.RawMessage, s source, depth int) json.RawMessage {
	var c schema
	if err := json.Unmarshal(raw, &c); err != nil { // true
		return json.RawMessage("null")
	}
	kind, _ := c.Type.(string)
	if kinds, ok := c.Type.([]any); ok && len(kinds) > 0 {
		kind = fmt.Sprint(kinds[0])
		if depth > deepest && slices.Contains(kinds, any("null")) {
			kind = "null"
		}
	}
	if kind == "" && len(c.Properties) > 0 {
		kind = "object"
	}
	switch {
	case c.Ref != "":
		return value(definitions[c.Ref], definitions, s, depth+1)
	case c.Const != nil:
		return c.Const
	case len(c.Enum) > 0:
		return c.Enum[s.pick(len(c.Enum))]
	case len(c.AnyOf)+len(c.OneOf) > 0:
		options := slices.Concat(c.AnyOf, c.OneOf)
		if depth > deepest {
			return value(options[len(options)-1], definitions, s, depth+1)
		}
		return value(options[0], definitions, s, depth+1)
	case len(c.AllOf) > 0:
		return value(c.AllOf[0], definitions, s, depth+1)
	}
	switch kind {
	case "object":
		return c.object(definitions, s, depth)
	case "array":
		count := max(c.MinItems, 1)
		if depth > deepest || len(c.Items) == 0 {
			count = c.MinItems
		}
		items := make([]json.RawMessage, count)
		for i := range items {
			items[i] = value(c.Items, definitions, s, depth+1)
		}
		return jsontext.MustEncode(items)
	case "boolean":
		return jsontext.MustEncode(s.pick(2) == 0)
	case "integer", "number":
		return jsontext.MustEncode(c.number(kind == "integer", s))
	case "null":
		return json.RawMessage("null")
	default:
		return jsontext.MustEncode(c.text(s))
	}
}

// pick chooses one of so many values, of which the first is the best.
func (s source) pick(count int) int {
	switch {
	case !s.judges:
		return s.rand.IntN(count)
	case s.passes || count == 1:
		return 0
	default:
		return 1 + s.rand.IntN(count-1)
	}
}

func (c *schema) object(definitions map[string]json.RawMessage, s source, depth int) json.RawMessage {
	var properties map[string]json.RawMessage
	if len(c.Properties) > 0 && json.Unmarshal(c.Properties, &properties) != nil {
		return json.RawMessage("{}")
	}
	var members [][]byte
	for _, name := range keys(c.Properties) {
		if depth > deepest && !slices.Contains(c.Required, name) {
			continue
		}
		members = append(members, slices.Concat(jsontext.MustEncode(name), []byte(": "), value(properties[name], definitions, s, depth+1)))
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(", ")), []byte("}"))
}

// keys returns the names of an object's members in their order.
func keys(raw json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	var names []string
	for decoder.More() {
		name, err := decoder.Token()
		var skipped json.RawMessage
		if err != nil || decoder.Decode(&skipped) != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

func (c *schema) number(whole bool, s source) float64 {
	step := c.MultipleOf
	if step == 0 && whole {
		step = 1
	}
	low, high := 0.0, 10.0
	nudge := max(step, 0.001)
	switch {
	case c.Minimum != nil:
		low = *c.Minimum
	case c.Above != nil:
		low = *c.Above + nudge
	case c.Maximum != nil && *c.Maximum < low:
		low = *c.Maximum - 10
	}
	switch {
	case c.Maximum != nil:
		high = *c.Maximum
	case c.Below != nil:
		high = *c.Below - nudge
	case high < low:
		high = low + 10
	}
	if step == 0 {
		if s.judges && s.passes {
			return high
		}
		return max(low, math.Floor((low+s.rand.Float64()*(high-low)*0.9)*100)/100)
	}
	first := math.Ceil(low/step) * step
	count := int(math.Floor((high-first)/step)) + 1
	return first + float64(count-1-s.pick(max(count, 1)))*step
}

func (c *schema) text(s source) string {
	switch c.Format {
	case "date-time":
		return "2026-09-21T12:00:00Z"
	case "date":
		return "2026-09-21"
	case "time":
		return "12:00:00Z"
	case "duration":
		return "PT1H"
	case "email":
		return "someone@example.com"
	case "hostname":
		return "example.com"
	case "uri":
		return "https://example.com/"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	}
	sentences := []string{"It names the capital.", "Paris", "The answer follows from the question.", "A short remark."}
	text := sentences[s.rand.IntN(len(sentences))]
	for len(text) < c.MinLength {
		text += " more"
	}
	if c.MaxLength != nil && len(text) > *c.MaxLength {
		text = text[:*c.MaxLength]
	}
	return text
}

// strictness returns what OpenAI's strict mode refuses of a schema, or nothing.
func strictness(raw json.RawMessage, context string) string {
	var c schema
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	names := keys(c.Properties)
	if c.Type == "object" {
		if string(c.Additional) != "false" {
			return "In context=" + context + ", 'additionalProperties' is required to be supplied and to be false."
		}
		for _, name := range names {
			if !slices.Contains(c.Required, name) {
				return "In context=" + context + ", 'required' is required to be supplied and to be an array including every key in " +
					"properties. Missing '" + name + "'."
			}
		}
	}
	return eachNested(&c, func(where string, nested json.RawMessage) string {
		return strictness(nested, strings.Replace(strings.TrimSuffix(context, ")")+", "+where, "(, ", "(", 1))
	})
}

// unsupported returns what Anthropic's structured outputs refuse of a schema, or nothing.
func unsupported(raw json.RawMessage) string {
	var c schema
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &c) != nil || json.Unmarshal(raw, &members) != nil {
		return ""
	}
	refused := map[string][]string{
		"integer": {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"},
		"number":  {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"},
		"string":  {"maxLength", "minLength"},
		"array":   {"maxItems", "uniqueItems"},
	}
	kind, _ := c.Type.(string)
	var found []string
	for _, name := range refused[kind] {
		if members[name] != nil {
			found = append(found, name)
		}
	}
	switch {
	case len(found) > 0:
		return "For '" + kind + "' type, properties " + strings.Join(found, ", ") + " are not supported"
	case kind == "object" && string(c.Additional) != "false":
		return "For 'object' type, 'additionalProperties' must be explicitly set to false"
	case kind == "array" && c.MinItems > 1:
		return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
	}
	return eachNested(&c, func(_ string, nested json.RawMessage) string { return unsupported(nested) })
}

// eachNested calls a function for the schemas in a schema until it returns something.
func eachNested(c *schema, check func(where string, nested json.RawMessage) string) string {
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(c.Properties, &properties) // absent in most
	for _, name := range keys(c.Properties) {
		if problem := check("'properties', '"+name+"')", properties[name]); problem != "" {
			return problem
		}
	}
	if len(c.Items) > 0 {
		if problem := check("'items')", c.Items); problem != "" {
			return problem
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Definitions)) {
		if problem := check("'$defs', '"+name+"')", c.Definitions[name]); problem != "" {
			return problem
		}
	}
	for _, option := range slices.Concat(c.AnyOf, c.OneOf, c.AllOf) {
		if problem := check("'anyOf')", option); problem != "" {
			return problem
		}
	}
	return ""
}

// sign is the signature of a thinking block.
func sign(thinking string) string {
	sum := sha256.Sum256([]byte("scripted " + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}
