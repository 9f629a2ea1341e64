package httpapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

var (
	//go:embed docs.html
	pageTemplate string
	//go:embed docs.css
	pageStyle []byte
	//go:embed docs.js
	pageScript []byte
)

// ownAddress stands in the document and the page for the address at which the reader is.
const ownAddress = "https://looptrace.invalid"

// reference is the contract for readers: the document as JSON, and as a page that loads nothing from
// other hosts. Both are built once, and get the reader's address when they are served.
type reference struct {
	document  []byte
	page      []byte
	addresses Addresses
}

func newReference(addresses Addresses) (*reference, error) {
	written, err := writtenReference()
	if err != nil {
		return nil, err
	}
	written.addresses = addresses
	return &written, nil
}

// writtenReference writes the reference once, with ownAddress in place of the reader's.
var writtenReference = sync.OnceValues(func() (reference, error) {
	doc, err := contract.Read()
	if err != nil {
		return reference{}, err
	}
	served := *doc
	served.Servers = openapi3.Servers{{URL: ownAddress}}
	document, err := json.Marshal(&served)
	if err != nil {
		return reference{}, fmt.Errorf("write the OpenAPI document as JSON: %w", err)
	}
	page, err := template.New("docs").Funcs(template.FuncMap{"prose": prose, "inline": inline}).Parse(pageTemplate)
	if err != nil {
		return reference{}, fmt.Errorf("read the template of the API page: %w", err)
	}
	var html bytes.Buffer
	if err := page.Execute(&html, pageOfDocument(doc)); err != nil {
		return reference{}, fmt.Errorf("write the API page: %w", err)
	}
	return reference{document: document, page: html.Bytes()}, nil
})

// at returns a text with the reader's address. It is safe in JSON and HTML: ValidEndpoint allows no quotes and no brackets but those of
// IPv6, and the configured address is checked at the start.
func (r *reference) at(c *gin.Context, text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(ownAddress), []byte(r.addresses.of(c)))
}

func (r *reference) serveDocument(c *gin.Context) {
	c.Data(http.StatusOK, "application/json", r.at(c, r.document))
}

func (r *reference) servePage(c *gin.Context) {
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	c.Data(http.StatusOK, "text/html; charset=utf-8", r.at(c, r.page))
}

func (r *reference) serveStyle(c *gin.Context) {
	c.Data(http.StatusOK, "text/css; charset=utf-8", pageStyle)
}

func (r *reference) serveScript(c *gin.Context) {
	c.Data(http.StatusOK, "text/javascript; charset=utf-8", pageScript)
}

// The data of the page's template.
type (
	docPage struct {
		Title, Version, Description, Address string
		Groups                               []docGroup
		Schemas                              []docSchema
	}
	docGroup struct {
		Name, Description string
		Operations        []docOperation
	}
	docOperation struct {
		ID, Method, Path, Summary, Description, Curl string
		Public                                       bool
		Parameters                                   []docField
		Body                                         []docContent
		Responses                                    []docResponse
	}
	docField struct {
		Name, In, Description string
		Required              bool
		Type                  docType
	}
	docContent struct {
		Media string
		Type  docType
	}
	docResponse struct {
		Status, Description string
		Content             []docContent
	}
	docSchema struct {
		Name, Description string
		Type              docType
		Fields            []docField
	}
	// docType is a type in words, with a link if it has a name.
	docType struct {
		Before, Link, After, Limits string
	}
)

func pageOfDocument(doc *openapi3.T) docPage {
	page := docPage{Title: doc.Info.Title, Version: doc.Info.Version, Description: doc.Info.Description, Address: ownAddress}
	for _, tag := range doc.Tags {
		group := docGroup{Name: tag.Name, Description: tag.Description}
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				if slices.Contains(operation.Tags, tag.Name) {
					group.Operations = append(group.Operations, operationOf(path, method, operation))
				}
			}
		}
		slices.SortFunc(group.Operations, func(a, b docOperation) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
		})
		page.Groups = append(page.Groups, group)
	}
	for name, schema := range doc.Components.Schemas {
		page.Schemas = append(page.Schemas, docSchema{
			Name: name, Description: schema.Value.Description, Type: typeOf(&openapi3.SchemaRef{Value: schema.Value}), Fields: fieldsOf(schema.Value),
		})
	}
	slices.SortFunc(page.Schemas, func(a, b docSchema) int { return strings.Compare(a.Name, b.Name) })
	return page
}

func operationOf(path, method string, operation *openapi3.Operation) docOperation {
	op := docOperation{
		ID: operation.OperationID, Method: method, Path: path, Summary: operation.Summary, Description: operation.Description,
		Public: isPublic(operation), Curl: curl(path, method, operation),
	}
	for _, ref := range operation.Parameters {
		p := ref.Value
		op.Parameters = append(op.Parameters, docField{
			Name: p.Name, In: p.In, Required: p.Required, Description: p.Description, Type: typeOf(p.Schema),
		})
	}
	if operation.RequestBody != nil {
		op.Body = contentsOf(operation.RequestBody.Value.Content)
	}
	for status, ref := range operation.Responses.Map() {
		op.Responses = append(op.Responses, docResponse{
			Status: status, Description: valueOf(ref.Value.Description, ""), Content: contentsOf(ref.Value.Content),
		})
	}
	slices.SortFunc(op.Responses, func(a, b docResponse) int { return strings.Compare(a.Status, b.Status) })
	return op
}

func contentsOf(content openapi3.Content) []docContent {
	var list []docContent
	for media, value := range content {
		list = append(list, docContent{Media: media, Type: typeOf(value.Schema)})
	}
	slices.SortFunc(list, func(a, b docContent) int { return strings.Compare(a.Media, b.Media) })
	return list
}

// fieldsOf lists the members of an object, including those of its allOf parts.
func fieldsOf(schema *openapi3.Schema) []docField {
	var fields []docField
	for _, part := range schema.AllOf {
		fields = append(fields, fieldsOf(part.Value)...)
	}
	for name, member := range schema.Properties {
		fields = append(fields, docField{
			Name: name, Required: slices.Contains(schema.Required, name), Description: member.Value.Description, Type: typeOf(member),
		})
	}
	slices.SortFunc(fields, func(a, b docField) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

func typeOf(ref *openapi3.SchemaRef) docType {
	if ref == nil || ref.Value == nil {
		return docType{Before: "any"}
	}
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		return docType{Link: name}
	}
	schema := ref.Value
	switch {
	case len(schema.OneOf) > 0:
		t := typeOf(schema.OneOf[0])
		for _, other := range schema.OneOf[1:] {
			t.After += " or " + plain(typeOf(other))
		}
		return t
	case schema.Type.Is(openapi3.TypeArray):
		t := typeOf(schema.Items)
		t.Before = "list of " + t.Before
		return t
	}
	t := docType{Before: strings.Join(schema.Type.Slice(), " or "), Limits: limitsOf(schema)}
	if t.Before == "" {
		t.Before = "any"
	}
	if schema.Format != "" {
		t.Before += " (" + schema.Format + ")"
	}
	return t
}

func plain(t docType) string { return t.Before + t.Link + t.After }

func limitsOf(schema *openapi3.Schema) string {
	var limits []string
	add := func(format string, args ...any) { limits = append(limits, fmt.Sprintf(format, args...)) }
	if len(schema.Enum) > 0 {
		names := make([]string, len(schema.Enum))
		for i, value := range schema.Enum {
			names[i] = fmt.Sprint(value)
		}
		add("one of %s", strings.Join(names, ", "))
	}
	if schema.Min != nil {
		add("at least %s", number(*schema.Min))
	}
	if schema.Max != nil {
		add("at most %s", number(*schema.Max))
	}
	if schema.MinLength > 0 {
		add("at least %d characters", schema.MinLength)
	}
	if schema.MaxLength != nil {
		add("at most %d characters", *schema.MaxLength)
	}
	if schema.Pattern != "" {
		add("matches %s", schema.Pattern)
	}
	if schema.Default != nil {
		add("default %v", schema.Default)
	}
	return strings.Join(limits, "; ")
}

// curl returns a command that calls the operation with a key.
func curl(path, method string, operation *openapi3.Operation) string {
	var b strings.Builder
	b.WriteString("curl")
	if method != http.MethodGet {
		b.WriteString(" -X " + method)
	}
	target := pathParameter.ReplaceAllStringFunc(path, func(name string) string {
		return "$" + strings.ToUpper(strings.Trim(name, "{}"))
	})
	var query []string
	for _, ref := range operation.Parameters {
		if p := ref.Value; p.In == openapi3.ParameterInQuery && p.Required {
			query = append(query, p.Name+"=$"+strings.ToUpper(p.Name))
		}
	}
	if len(query) > 0 {
		target += "?" + strings.Join(query, "&")
	}
	fmt.Fprintf(&b, ` "%s%s"`, ownAddress, target)
	if !isPublic(operation) {
		b.WriteString(` \` + "\n  " + `-H "Authorization: Bearer $LOOPTRACE_API_KEY"`)
	}
	if operation.RequestBody == nil {
		return b.String()
	}
	if schema := operation.RequestBody.Value.Content.Get("application/json").Schema; schema != nil {
		sample, err := json.Marshal(sampleOf(schema.Value))
		if err != nil {
			panic(err) // cannot fail: strings, numbers, lists and maps only
		}
		b.WriteString(` \` + "\n  " + `-H "Content-Type: application/json"` + ` \` + "\n  -d '" + string(sample) + "'")
	}
	return b.String()
}

// sampleOf returns a small value of the schema: the required members, or all if none is required, and one element
// per list.
func sampleOf(schema *openapi3.Schema) any {
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case schema.Type.Is(openapi3.TypeArray):
		return []any{sampleOf(schema.Items.Value)}
	case schema.Type.Is(openapi3.TypeObject):
		object := map[string]any{}
		for name, member := range schema.Properties {
			if len(schema.Required) == 0 || slices.Contains(schema.Required, name) {
				object[name] = sampleOf(member.Value)
			}
		}
		return object
	case schema.Type.Includes(openapi3.TypeInteger), schema.Type.Includes(openapi3.TypeNumber):
		return 0
	case schema.Type.Includes(openapi3.TypeBoolean):
		return false
	case schema.Format == "uuid":
		return "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	case schema.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	case schema.Pattern != "":
		return "00f067aa0ba902b7"
	default:
		return "…"
	}
}

var (
	paragraphs = regexp.MustCompile(`\n\s*\n`)
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	boldSpan   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// prose renders the Markdown subset of the descriptions: paragraphs, code and bold.
func prose(text string) template.HTML {
	var b strings.Builder
	for _, paragraph := range paragraphs.Split(strings.TrimSpace(text), -1) {
		if paragraph == "" {
			continue
		}
		b.WriteString("<p>" + string(inline(paragraph)) + "</p>")
	}
	return template.HTML(b.String()) //nolint:gosec // escaped by inline, and from our own document
}

// inline renders code and bold.
func inline(text string) template.HTML {
	html := template.HTMLEscapeString(text)
	html = codeSpan.ReplaceAllString(html, "<code>$1</code>")
	html = boldSpan.ReplaceAllString(html, "<strong>$1</strong>")
	return template.HTML(html) //nolint:gosec // escaped above, and from our own document
}
