package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// row is an item to store.
type row struct {
	NewItem
	contentHash, itemHash [sha256.Size]byte
	itemID                uuid.UUID
	ordinal               int64
	isNew                 bool
}

// prepare checks items and fills in what is absent. It returns an error for each invalid field.
func prepare(ctx context.Context, items []NewItem, schemas schemas, location func(int) string) ([]row, error) {
	rows := make([]row, len(items))
	var errs []error
	keys := map[string]int{}
	for i := range items {
		r := &rows[i]
		r.NewItem = items[i]
		if ctx.Err() != nil {
			break
		}
		for _, wrong := range r.unreadable() {
			errs = append(errs, problem.InvalidField(location(i)+"."+wrong.part, wrong.text))
		}
		for _, wrong := range r.fill(ctx, schemas) {
			errs = append(errs, problem.InvalidField(location(i)+"."+wrong.Location, wrong.Message))
		}
		if r.Key != nil {
			if first, ok := keys[*r.Key]; ok {
				errs = append(errs, problem.InvalidField(location(i)+".key", "is also that of "+location(first)))
			}
			keys[*r.Key] = i
		}
	}
	if err := ctx.Err(); err != nil { // what it ended is no misfit
		return nil, err //nolint:wrapcheck // it is the caller's
	}
	return rows, errors.Join(errs...)
}

// unreadable returns the members that would make an import refuse an export of the dataset. The rows of an import are checked already.
func (i *NewItem) unreadable() []misfit {
	if i.checked {
		return i.wrong
	}
	i.checked = true
	for _, part := range []struct {
		name  string
		value json.RawMessage
	}{{"input", i.Input}, {"reference_output", i.ReferenceOutput}, {"metadata", i.Metadata}} {
		if len(part.value) == 0 {
			continue
		}
		if reason := datasetfile.CheckValue(part.value); reason != "" {
			i.wrong = append(i.wrong, misfit{part.name, reason})
		}
	}
	return i.wrong
}

// Limits of an item, as the API's document has them.
const (
	maxKeyLength  = 256
	maxNameLength = 64 // of splits and tags
	maxTags       = 50
)

// fill checks the item as check does, and sets the hashes.
func (r *row) fill(ctx context.Context, schemas schemas) []problem.Field {
	wrong := r.check(ctx, schemas)
	if r.Input == nil {
		return wrong
	}
	if err := r.hash(); err != nil {
		wrong = append(wrong, problem.Field{Location: "input", Message: "cannot be read: " + err.Error()})
	}
	return wrong
}

// check checks the item and fills in what is absent. It returns what is wrong, with the member of the item as its location.
func (r *row) check(ctx context.Context, schemas schemas) []problem.Field {
	if r.Input == nil {
		return []problem.Field{{Location: "input", Message: "is needed"}}
	}
	r.Input, r.ReferenceOutput, r.Metadata = compact(r.Input, "null"), compact(r.ReferenceOutput, "null"), compact(r.Metadata, "{}")
	var wrong []problem.Field
	refuse := func(err error) {
		if err != nil {
			wrong = append(wrong, problem.Of(err).Fields...)
		}
	}
	if r.Key != nil {
		refuse(validate.Text("key", *r.Key))
		refuse(checkLength("key", *r.Key, maxKeyLength))
	}
	name := func(part, text string) string {
		clean, err := validate.Name(part, text)
		if err == nil {
			err = checkLength(part, clean, maxNameLength)
		}
		refuse(err)
		return clean
	}
	if r.Split != nil {
		r.Split = new(name("split", *r.Split))
	}
	tags := []string{}
	for i, tag := range r.Tags {
		if clean := name(fmt.Sprintf("tags[%d]", i), tag); !slices.Contains(tags, clean) {
			tags = append(tags, clean)
		}
	}
	if r.Tags = tags; len(tags) > maxTags {
		refuse(problem.InvalidField("tags", fmt.Sprintf("must be at most %d", maxTags)))
	}
	for _, m := range schemas.check(ctx, r.Input, r.ReferenceOutput) {
		refuse(problem.InvalidField(m.part, "does not fit the schema of the dataset: "+m.text))
	}
	return wrong
}

func checkLength(part, text string, longest int) error {
	if n := utf8.RuneCountInString(text); n == 0 || n > longest {
		return problem.InvalidField(part, fmt.Sprintf("must have 1 to %d characters", longest))
	}
	return nil
}

// hash sets the hashes. The order of members in objects does not count.
func (r *row) hash() error {
	var values [3]any
	for i, text := range []json.RawMessage{r.Input, r.ReferenceOutput, r.Metadata} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&values[i]); err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
	}
	content, err := json.Marshal(values[:2])
	if err != nil {
		return fmt.Errorf("encode an item: %w", err)
	}
	all, err := json.Marshal([]any{values, r.Key, r.Split, r.Tags, r.SourceRunID, r.SourceSpanID})
	if err != nil {
		return fmt.Errorf("encode an item: %w", err)
	}
	r.contentHash, r.itemHash = sha256.Sum256(content), sha256.Sum256(all)
	return nil
}

// compact returns JSON without space between its tokens, or the default for none.
func compact(text json.RawMessage, absent string) json.RawMessage {
	if jsontext.IsNull(text) {
		return json.RawMessage(absent)
	}
	return jsontext.Compact(text)
}
