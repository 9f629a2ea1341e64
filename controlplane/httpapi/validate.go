package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/identity"
)

// maxBody is how large a body may be.
const maxBody = 1 << 20

// fieldError is one thing wrong with a request, and where.
type fieldError struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty"`
}

// requestErrors is a request that can be parsed and departs from the contract.
type requestErrors []fieldError

func (e requestErrors) Error() string {
	return fmt.Sprintf("request is not valid: %s %s", e[0].Location, e[0].Message)
}

// validator holds requests to the OpenAPI document.
type validator struct {
	routes  map[string]*routers.Route // by method and Gin's path
	options *openapi3filter.Options
}

func newValidator(doc *openapi3.T) *validator {
	v := &validator{
		routes: map[string]*routers.Route{},
		options: &openapi3filter.Options{
			MultiError: true,
			// The handlers receive the value that was validated, not a second and laxer reading of the body.
			KeepValidatedValue:  true,
			SkipSettingDefaults: true,
			AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc, // the authenticate middleware does it
			SchemaValidationOptions: []openapi3.SchemaValidationOption{
				openapi3.WithStringFormatValidators(map[string]openapi3.StringFormatValidator{
					// With or without its dashes: SDKs print a trace id, which names a run, without them.
					"uuid": openapi3.NewRegexpFormatValidator(
						"^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$"),
					"date-time": openapi3.NewCallbackValidator(func(s string) error {
						_, err := time.Parse(time.RFC3339Nano, s)
						return err
					}),
				}),
			},
		},
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			v.routes[method+" "+ginPath(path)] = &routers.Route{
				Spec: doc, Path: path, PathItem: item, Method: method, Operation: operation,
			}
		}
	}
	return v
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// ginPath writes a path of the document as Gin does.
func ginPath(path string) string { return pathParameter.ReplaceAllString(path, ":$1") }

// check returns nil for a request that is as the document has it.
func (v *validator) check(c *gin.Context) error {
	route := v.routes[c.Request.Method+" "+c.FullPath()]
	if route.Operation.RequestBody != nil {
		if err := readBody(c); err != nil {
			return err
		}
	}
	params := make(map[string]string, len(c.Params))
	for _, p := range c.Params {
		params[p.Key] = p.Value
	}
	err := openapi3filter.ValidateRequest(c.Request.Context(), &openapi3filter.RequestValidationInput{
		Request: c.Request, PathParams: params, Route: route, Options: v.options,
	})
	if err == nil {
		return nil
	}
	var fields requestErrors
	for _, e := range flatten(err) {
		var refused *openapi3filter.RequestError
		if !errors.As(e, &refused) {
			return fmt.Errorf("validate request: %w", err)
		}
		switch p := refused.Parameter; {
		case p == nil:
			fields = append(fields, bodyErrors(refused)...)
		case p.In == openapi3.ParameterInPath:
			// What cannot be an id names no resource.
			return identity.ErrNotFound
		default:
			fields = append(fields, parameterError(refused, c.Request))
		}
	}
	if len(fields) == 0 {
		return fmt.Errorf("validate request: %w", err)
	}
	slices.SortFunc(fields, func(a, b fieldError) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(fields, func(a, b fieldError) bool { return a.Location == b.Location && a.Message == b.Message })
}

// readBody checks that the body is JSON, and leaves it to be read once more.
func readBody(c *gin.Context) error {
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil || media != "application/json" || c.GetHeader("Content-Encoding") != "" {
		return errUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return err
		}
		return fmt.Errorf("%w: %w", errMalformedBody, err) // cut off
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		return errMalformedBody
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// flatten lists the errors of a tree of several.
func flatten(err error) []error {
	var several openapi3.MultiError
	if !errors.As(err, &several) {
		return []error{err}
	}
	var list []error
	for _, e := range several {
		// Only the outer layer: what is below a RequestError belongs to it.
		if _, ok := e.(openapi3.MultiError); ok { //nolint:errorlint // see above
			list = append(list, flatten(e)...)
			continue
		}
		list = append(list, e)
	}
	return list
}

func parameterError(refused *openapi3filter.RequestError, r *http.Request) fieldError {
	p := refused.Parameter
	e := fieldError{Location: p.In + "." + p.Name}
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
	case errors.As(refused.Err, &broken):
		e.Message = rule(broken.SchemaField, schema)
	case errors.As(refused.Err, new(*openapi3filter.ParseError)):
		e.Message = rule("type", schema)
	case errors.Is(refused.Err, openapi3filter.ErrInvalidRequired):
		e.Message = "is required"
	default:
		e.Message = "must not be empty"
	}
	return e
}

func bodyErrors(refused *openapi3filter.RequestError) []fieldError {
	schema := refused.RequestBody.Content.Get("application/json").Schema.Value
	var fields []fieldError
	for _, broken := range brokenRules(refused.Err) {
		pointer := broken.JSONPointer()
		at := schemaAt(schema, pointer)
		switch broken.SchemaField {
		case "required":
			if len(pointer) > 0 && !at.Type.Includes(openapi3.TypeObject) { // it names the member, not the object that lacks it
				pointer = pointer[:len(pointer)-1]
			}
			fields = append(fields, wrongMembers(broken.Value, schemaAt(schema, pointer), pointer)...)
		case "properties", "additionalProperties":
			fields = append(fields, wrongMembers(broken.Value, at, pointer)...)
		default:
			field := fieldError{Location: location(pointer), Message: rule(broken.SchemaField, at)}
			if at.Format != "password" {
				field.Value = shown(broken.Value)
			}
			fields = append(fields, field)
		}
	}
	return fields
}

// brokenRules lists the rules of the schema that a value breaks, each by itself.
func brokenRules(err error) []*openapi3.SchemaError {
	var list []*openapi3.SchemaError
	for _, e := range flatten(err) {
		var broken *openapi3.SchemaError
		if !errors.As(e, &broken) {
			continue
		}
		if several := new(openapi3.MultiError); errors.As(broken.Origin, several) {
			list = append(list, brokenRules(*several)...)
			continue
		}
		list = append(list, broken)
	}
	return list
}

// wrongMembers names what an object lacks of its schema, and what it has beyond it.
func wrongMembers(value any, schema *openapi3.Schema, pointer []string) []fieldError {
	object, _ := value.(map[string]any)
	var fields []fieldError
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			fields = append(fields, fieldError{Location: location(append(slices.Clone(pointer), name)), Message: "is required"})
		}
	}
	for name := range object {
		if schema.Properties[name] == nil {
			fields = append(fields, fieldError{
				Location: location(append(slices.Clone(pointer), name)), Message: "is not a field of this resource",
			})
		}
	}
	return fields
}

// schemaAt follows a JSON pointer into a schema, as far as it goes.
func schemaAt(schema *openapi3.Schema, pointer []string) *openapi3.Schema {
	for _, step := range pointer {
		next := schema.Properties[step]
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

// rule says in words what the keyword of the schema asks for.
func rule(keyword string, schema *openapi3.Schema) string {
	switch keyword {
	case "required":
		return "is required"
	case "nullable":
		return "must not be null"
	case "type", "": // without a name: a number that JSON cannot hold
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

// shown is a value as an answer may repeat it: short and not a structure.
func shown(value any) any {
	const longest = 100
	switch v := value.(type) {
	case string:
		if utf8.RuneCountInString(v) > longest {
			return nil
		}
		return v
	case bool, float64, json.Number, int64:
		return v
	default:
		return nil
	}
}
