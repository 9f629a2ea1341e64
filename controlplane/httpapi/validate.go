package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/requestbody"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// validation configures the validation of requests against the OpenAPI document.
var validation = &openapi3filter.Options{
	MultiError: true,
	// The handlers receive the validated value. Parsing the body again would be laxer.
	KeepValidatedValue:  true,
	SkipSettingDefaults: true,
	SchemaValidationOptions: []openapi3.SchemaValidationOption{
		openapi3.WithStringFormatValidators(map[string]openapi3.StringFormatValidator{
			// Dashes are optional: SDKs print a trace id, which names a run, without them.
			"uuid": openapi3.NewRegexpFormatValidator(
				"^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$"),
			"date-time": openapi3.NewCallbackValidator(func(s string) error {
				_, err := time.Parse(time.RFC3339Nano, s)
				return err
			}),
		}),
	},
}

// withoutBody is validation of requests whose body the handler reads.
var withoutBody = func() *openapi3filter.Options {
	options := *validation
	options.ExcludeRequestBody = true
	return &options
}()

// forValidation returns the operation for validation. Objects in its query are JSON, as readQuery writes them: neither the validator
// nor the generated code can tell brackets in a member's name from those around it. It needs no credential, which the authenticate
// middleware checks: the validator would read the whole body for one.
func forValidation(operation *openapi3.Operation) *openapi3.Operation {
	checked := *operation
	checked.Security = openapi3.NewSecurityRequirements()
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

// isText reports whether the stores can hold a text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// readQuery refuses query parameters that the operation does not define and those that are no text, and rewrites each object
// (NAME[MEMBER]=VALUE) as JSON.
func readQuery(r *http.Request, operation *openapi3.Operation) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // unreadable parts would be dropped
		return problem.InvalidField("query", "cannot be read: "+err.Error())
	}
	var fields []problem.Field
	refuse := func(name, message string) {
		fields = append(fields, problem.Field{Location: "query." + shortened(name), Message: message})
	}
	objects := map[string]map[string]string{}
	for name, given := range values {
		outer, member, isMember := strings.Cut(name, "[")
		p := operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name)
		object := operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, outer)
		switch {
		case !isText(name) || slices.ContainsFunc(given, func(text string) bool { return !isText(text) }):
			refuse(name, "must be UTF-8 without zero bytes")
			delete(values, name)
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
		return invalid(fields)
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

// shortened returns a client's name for use in an answer.
func shortened(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= maxShown {
		return name
	}
	return utf8text.Bytes(name, maxShown) + "…"
}

// validate checks the request against the OpenAPI document.
func (a *api) validate(c *gin.Context) {
	if err := check(c); err != nil {
		a.fail(c, err)
		return
	}
	c.Next()
}

// check returns nil for a valid request.
func check(c *gin.Context) error {
	op := callOf(c.Request.Context()).operation
	if err := readQuery(c.Request, op.route.Operation); err != nil {
		return err
	}
	var body []byte
	options := validation
	switch {
	case op.streamBody:
		if err := streamBody(c, op); err != nil {
			return err
		}
		options = withoutBody
	case op.route.Operation.RequestBody != nil:
		var err error
		if body, err = readBody(c, op); err != nil {
			return err
		}
	}
	params := make(map[string]string, len(c.Params))
	for _, p := range c.Params {
		if !isText(p.Value) { // no resource has such a name
			return problem.Missing()
		}
		params[p.Key] = p.Value
	}
	err := openapi3filter.ValidateRequest(c.Request.Context(), &openapi3filter.RequestValidationInput{
		Request: c.Request, PathParams: params, Route: op.route, Options: options,
	})
	if err == nil {
		if op.memberOrder { // the validated value has none
			c.Request.Body = io.NopCloser(bytes.NewReader(body))
		}
		return nil
	}
	var fields []problem.Field
	for _, e := range flatten(err) {
		var refused *openapi3filter.RequestError
		if !errors.As(e, &refused) {
			return fmt.Errorf("validate request: %w", err)
		}
		switch p := refused.Parameter; {
		case p == nil:
			fields = append(fields, bodyErrors(refused)...)
		case p.In == openapi3.ParameterInPath:
			// No resource has such an id.
			return problem.Missing()
		default:
			fields = append(fields, parameterErrors(refused, c.Request)...)
		}
	}
	if len(fields) == 0 {
		return fmt.Errorf("validate request: %w", err)
	}
	return invalid(fields)
}

// invalid returns the errors without duplicates, sorted by location.
func invalid(fields []problem.Field) error {
	slices.SortFunc(fields, func(a, b problem.Field) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	return problem.InvalidFields(slices.CompactFunc(fields, func(a, b problem.Field) bool {
		return a.Location == b.Location && a.Message == b.Message
	})...)
}

const typeJSON = "application/json"

// readBody checks that the operation accepts the body's media type and that a JSON body is valid JSON. It leaves the body readable.
func readBody(c *gin.Context, op *operation) ([]byte, error) {
	media, err := mediaType(c, op)
	if err != nil {
		return nil, err
	}
	body, err := readAll(c, op.maxBody)
	if err != nil || media != typeJSON {
		return body, err
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		return nil, errMalformedBody
	}
	if body, err = plainIntegers(body, op.route.Operation.RequestBody.Value.Content.Get(typeJSON).Schema.Value); err != nil {
		return nil, err
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// mediaType returns the media type of the body if the operation accepts it.
func mediaType(c *gin.Context, op *operation) (string, error) {
	taken := op.route.Operation.RequestBody.Value.Content
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil || taken.Get(media) == nil || c.GetHeader("Content-Encoding") != "" {
		return "", &problem.Error{
			Kind: problem.UnsupportedMediaType, Code: "unsupported_media_type",
			Detail: "The body must be " + strings.Join(slices.Sorted(maps.Keys(taken)), " or ") + " without content encoding.",
		}
	}
	return media, nil
}

// streamBody lets the handler read the body, up to its limit and as long as its answer may take.
func streamBody(c *gin.Context, op *operation) error {
	media, err := mediaType(c, op)
	if err != nil {
		return err
	}
	callOf(c.Request.Context()).mediaType = media
	if c.Request.ContentLength > op.maxBody {
		return &http.MaxBytesError{Limit: op.maxBody}
	}
	requestbody.Extend(c.Request.Context(), op.writeTimeout)
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, op.maxBody)
	return nil
}

// flatten lists the errors of a tree of errors.
func flatten(err error) []error {
	var several openapi3.MultiError
	if !errors.As(err, &several) {
		return []error{err}
	}
	var list []error
	for _, e := range several {
		// Only the outer layer: errors below a RequestError belong to it.
		if _, ok := e.(openapi3.MultiError); ok { //nolint:errorlint // see above
			list = append(list, flatten(e)...)
			continue
		}
		list = append(list, e)
	}
	return list
}
