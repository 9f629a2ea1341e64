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
	"net/url"
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
				Spec: doc, Path: path, PathItem: item, Method: method, Operation: withObjectsAsJSON(operation),
			}
		}
	}
	return v
}

// withObjectsAsJSON is the operation as it is checked: with the objects in its query in JSON, which is what readQuery makes of them.
// Neither the checker nor the generated code can tell the brackets of a member's name from those around it.
func withObjectsAsJSON(operation *openapi3.Operation) *openapi3.Operation {
	checked := *operation
	checked.Parameters = slices.Clone(operation.Parameters)
	for i, ref := range checked.Parameters {
		if p := ref.Value; p.Style == openapi3.SerializationDeepObject {
			asJSON := *p
			asJSON.Style, asJSON.Explode, asJSON.Schema = "", nil, nil
			asJSON.Content = openapi3.NewContentWithJSONSchemaRef(p.Schema)
			checked.Parameters[i] = &openapi3.ParameterRef{Value: &asJSON}
		}
	}
	return &checked
}

// readQuery refuses what the operation does not take in its query, and writes each object in it (NAME[MEMBER]=VALUE) as JSON.
func readQuery(r *http.Request, operation *openapi3.Operation) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // what cannot be read would be dropped
		return requestErrors{{Location: "query", Message: "cannot be read: " + err.Error()}}
	}
	var fields requestErrors
	refuse := func(name, message string) {
		fields = append(fields, fieldError{Location: "query." + shortened(name), Message: message})
	}
	objects := map[string]map[string]string{}
	for name, given := range values {
		outer, member, isMember := strings.Cut(name, "[")
		p := operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name)
		object := operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, outer)
		switch {
		case object != nil && object.Content != nil:
			member, closed := strings.CutSuffix(member, "]")
			switch {
			case !isMember || !closed || member == "":
				refuse(name, "must be given as "+outer+"[KEY]=VALUE")
			case len(given) > 1:
				refuse(name, "must be given once")
			default:
				if objects[outer] == nil {
					objects[outer] = map[string]string{}
				}
				objects[outer][member] = given[0]
			}
			delete(values, name)
		case p == nil:
			refuse(name, "is not a parameter of this operation")
		case len(given) > 1 && !p.Schema.Value.Type.Is(openapi3.TypeArray):
			refuse(name, "must be given once")
		}
	}
	if len(fields) > 0 {
		return fields.sorted()
	}
	for name, members := range objects {
		text, err := json.Marshal(members)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		values.Set(name, string(text))
	}
	if len(objects) > 0 {
		r.URL.RawQuery = values.Encode()
	}
	return nil
}

// shortened is a name of the client's as an answer may repeat it.
func shortened(name string) string {
	if len(name) <= longestShown {
		return strings.ToValidUTF8(name, "\uFFFD")
	}
	return strings.ToValidUTF8(name[:longestShown], "\uFFFD") + "…"
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// ginPath writes a path of the document as Gin does.
func ginPath(path string) string { return pathParameter.ReplaceAllString(path, ":$1") }

// check returns nil for a request that is as the document has it.
func (v *validator) check(c *gin.Context) error {
	route := v.routes[c.Request.Method+" "+c.FullPath()]
	if err := readQuery(c.Request, route.Operation); err != nil {
		return err
	}
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
			fields = append(fields, parameterErrors(refused, c.Request)...)
		}
	}
	if len(fields) == 0 {
		return fmt.Errorf("validate request: %w", err)
	}
	return fields.sorted()
}

// sorted has each error once, by its place.
func (e requestErrors) sorted() requestErrors {
	slices.SortFunc(e, func(a, b fieldError) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(e, func(a, b fieldError) bool { return a.Location == b.Location && a.Message == b.Message })
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

func parameterErrors(refused *openapi3filter.RequestError, r *http.Request) []fieldError {
	p := refused.Parameter
	if p.Content != nil {
		return memberErrors(refused)
	}
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
	return []fieldError{e}
}

// memberErrors are those of an object in the query.
func memberErrors(refused *openapi3filter.RequestError) []fieldError {
	schema := refused.Parameter.Content.Get("application/json").Schema.Value
	var fields []fieldError
	for _, broken := range brokenRules(refused.Err) {
		pointer := broken.JSONPointer()
		at := refused.Parameter.In + "." + refused.Parameter.Name
		if len(pointer) > 0 {
			at += "[" + shortened(pointer[0]) + "]"
		}
		fields = append(fields, fieldError{Location: at, Message: rule(broken.SchemaField, schemaAt(schema, pointer)), Value: shown(broken.Value)})
	}
	return fields
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

// longestShown is how much of a value or name of the client's an answer repeats.
const longestShown = 100

// shown is a value as an answer may repeat it: short and not a structure.
func shown(value any) any {
	switch v := value.(type) {
	case string:
		if utf8.RuneCountInString(v) > longestShown {
			return nil
		}
		return v
	case bool, float64, json.Number, int64:
		return v
	default:
		return nil
	}
}
