package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"

	"github.com/getkin/kin-openapi/openapi3"
)

// fraction is in every number that may be an integer and is not written as one.
var fraction = regexp.MustCompile(`[0-9][.eE]`)

// writtenOtherwise is a number of a length that is worth a look.
var writtenOtherwise = regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$`)

// plainIntegers rewrites valid JSON: 1.0 becomes 1 where the schema asks for an integer. JSON has one type of number, Go's decoder does not.
func plainIntegers(body []byte, schema *openapi3.Schema) ([]byte, error) {
	if !fraction.Match(body) {
		return body, nil
	}
	r := integerReader{decoder: json.NewDecoder(bytes.NewReader(body)), body: body}
	r.decoder.UseNumber()
	if err := r.value(alternatives(nil, schema)); err != nil {
		return nil, fmt.Errorf("read the numbers of a body: %w", err)
	}
	return append(r.written, body[r.copied:]...), nil
}

// integerReader copies a body. It has written what stands before copied.
type integerReader struct {
	decoder *json.Decoder
	body    []byte
	written []byte
	copied  int
}

// value reads a value for which the schemas are alternatives.
func (r *integerReader) value(schemas []*openapi3.Schema) error {
	token, err := r.decoder.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Number:
		r.number(token.String(), schemas)
		return nil
	case json.Delim:
		for r.decoder.More() {
			var inner []*openapi3.Schema
			if token == '{' {
				name, err := r.decoder.Token()
				if err != nil {
					return err
				}
				inner = membersOf(schemas, name.(string)) // names are strings in valid JSON
			} else {
				inner = itemsOf(schemas)
			}
			if err := r.value(inner); err != nil {
				return err
			}
		}
		_, err = r.decoder.Token() // the closing bracket
		return err
	}
	return nil
}

func (r *integerReader) number(text string, schemas []*openapi3.Schema) {
	if !fraction.MatchString(text) || !writtenOtherwise.MatchString(text) {
		return
	}
	for _, schema := range schemas {
		if !schema.Type.Includes(openapi3.TypeInteger) {
			continue
		}
		if n, ok := new(big.Rat).SetString(text); ok && n.IsInt() {
			end := int(r.decoder.InputOffset())
			r.written = append(r.written, r.body[r.copied:end-len(text)]...)
			r.written = append(r.written, n.Num().String()...)
			r.copied = end
		}
		return
	}
}

// alternatives adds the schema and those that it is made of to a list.
func alternatives(list []*openapi3.Schema, schema *openapi3.Schema) []*openapi3.Schema {
	list = append(list, schema)
	for _, refs := range []openapi3.SchemaRefs{schema.AllOf, schema.AnyOf, schema.OneOf} {
		for _, ref := range refs {
			list = alternatives(list, ref.Value)
		}
	}
	return list
}

func membersOf(schemas []*openapi3.Schema, name string) (list []*openapi3.Schema) {
	for _, schema := range schemas {
		if ref := schema.Properties[name]; ref != nil {
			list = alternatives(list, ref.Value)
		} else if ref := schema.AdditionalProperties.Schema; ref != nil {
			list = alternatives(list, ref.Value)
		}
	}
	return list
}

func itemsOf(schemas []*openapi3.Schema) (list []*openapi3.Schema) {
	for _, schema := range schemas {
		if schema.Items != nil {
			list = alternatives(list, schema.Items.Value)
		}
	}
	return list
}
