package datasets

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// schemas are the JSON Schemas of a dataset, nil for none.
type schemas struct {
	input, referenceOutput *jsonschema.Schema
}

// misfit says what is wrong with a member of an item.
type misfit struct {
	// part is input, reference_output or metadata.
	part, text string
}

// readSchema reads a JSON Schema, nil for none.
func readSchema(location string, text json.RawMessage) (*jsonschema.Schema, error) {
	if jsontext.IsNull(text) {
		return nil, nil
	}
	schema, err := jsonschema.ParseSchema(text)
	if err != nil {
		return nil, problem.InvalidField(location, err.Error())
	}
	return schema, nil
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
func (s schemas) check(ctx context.Context, input, referenceOutput json.RawMessage) []misfit {
	var misfits []misfit
	for _, part := range []struct {
		name   string
		schema *jsonschema.Schema
		value  json.RawMessage
	}{{"input", s.input, input}, {"reference_output", s.referenceOutput, referenceOutput}} {
		if part.schema == nil {
			continue
		}
		wrong, err := part.schema.Misfit(ctx, part.value)
		if err != nil {
			wrong = err.Error()
		}
		if wrong != "" {
			misfits = append(misfits, misfit{part.name, wrong})
		}
	}
	return misfits
}

// fitting returns the items that can be written, and what is wrong with the others.
func (s schemas) fitting(ctx context.Context, items []NewItem) ([]NewItem, []Misfit) {
	var fit []NewItem
	var others []Misfit
	for i := range items {
		var texts []string
		for _, wrong := range items[i].unreadable() {
			texts = append(texts, wrong.part+" "+wrong.text)
		}
		for _, wrong := range s.check(ctx, compact(items[i].Input, "null"), compact(items[i].ReferenceOutput, "null")) {
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

// name names an item in messages.
func (i *Item) name() string {
	if i.Key != nil {
		return fmt.Sprintf("%q", *i.Key)
	}
	return i.ItemID.String()
}
