package datasets

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptrace/looptrace/internal/problem"
)

// schemas are the JSON Schemas of a dataset, nil for none.
type schemas struct {
	input, referenceOutput *jsonschema.Resolved
}

// misfit says what is wrong with a member of an item.
type misfit struct {
	// part is input, reference_output or metadata.
	part, text string
}

// readSchema reads a JSON Schema, nil for none.
func readSchema(location string, text json.RawMessage) (*jsonschema.Resolved, error) {
	if isNull(text) {
		return nil, nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, problem.InvalidField(location, "is no JSON Schema: "+err.Error())
	}
	resolved, err := schema.Resolve(nil) // remote references are refused
	if err != nil {
		return nil, problem.InvalidField(location, "is no JSON Schema: "+err.Error())
	}
	return resolved, nil
}

// schemasOf reads the schemas of a dataset.
func schemasOf(input, referenceOutput *string) (schemas, error) {
	var (
		read schemas
		err  error
	)
	if input != nil {
		if read.input, err = readSchema("schema.input", json.RawMessage(*input)); err != nil {
			return schemas{}, err
		}
	}
	if referenceOutput != nil {
		if read.referenceOutput, err = readSchema("schema.reference_output", json.RawMessage(*referenceOutput)); err != nil {
			return schemas{}, err
		}
	}
	return read, nil
}

// check returns what does not fit.
func (s schemas) check(input, referenceOutput json.RawMessage) []misfit {
	var misfits []misfit
	for _, part := range []struct {
		name   string
		schema *jsonschema.Resolved
		value  json.RawMessage
	}{{"input", s.input, input}, {"reference_output", s.referenceOutput, referenceOutput}} {
		if part.schema == nil {
			continue
		}
		var value any
		if err := json.Unmarshal(part.value, &value); err != nil {
			misfits = append(misfits, misfit{part.name, err.Error()})
			continue
		}
		if err := part.schema.Validate(value); err != nil {
			text := strings.TrimPrefix(err.Error(), "validating root: ")
			const maxBytes = 300 // the error may quote the value
			misfits = append(misfits, misfit{part.name, strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")})
		}
	}
	return misfits
}

// fitting returns the items that can be written, and what is wrong with the others.
func (s schemas) fitting(items []NewItem) ([]NewItem, []Misfit) {
	var fit []NewItem
	var others []Misfit
	for i := range items {
		var texts []string
		for _, wrong := range items[i].unreadable() {
			texts = append(texts, wrong.part+" "+wrong.text)
		}
		for _, wrong := range s.check(compact(items[i].Input, "null"), compact(items[i].ReferenceOutput, "null")) {
			texts = append(texts, wrong.part+" does not fit the schema of the dataset: "+wrong.text)
		}
		if len(texts) == 0 {
			fit = append(fit, items[i])
			continue
		}
		others = append(others, Misfit{i, strings.Join(texts, "; ")})
	}
	return fit, others
}

func isNull(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

// name names an item in messages.
func (i *Item) name() string {
	if i.Key != nil {
		return fmt.Sprintf("%q", *i.Key)
	}
	return i.ItemID.String()
}
