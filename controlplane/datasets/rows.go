package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/validate"
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
func prepare(items []NewItem, schemas schemas, location func(int) string) ([]row, error) {
	rows := make([]row, len(items))
	var errs []error
	keys := map[string]int{}
	for i := range items {
		at := location(i)
		r := &rows[i]
		r.NewItem = items[i]
		if r.Input == nil {
			errs = append(errs, problem.InvalidField(at+".input", "is needed"))
			continue
		}
		r.Input, r.ReferenceOutput, r.Metadata = compact(r.Input, "null"), compact(r.ReferenceOutput, "null"), compact(r.Metadata, "{}")
		if r.Key != nil {
			errs = append(errs, checkText(at+".key", *r.Key))
			if first, ok := keys[*r.Key]; ok {
				errs = append(errs, problem.InvalidField(at+".key", "is also that of "+location(first)))
			}
			keys[*r.Key] = i
		}
		if r.Split != nil {
			split, err := validate.Name(at+".split", *r.Split)
			r.Split = &split
			errs = append(errs, err)
		}
		tags := []string{}
		for j, tag := range r.Tags {
			name, err := validate.Name(fmt.Sprintf("%s.tags[%d]", at, j), tag)
			errs = append(errs, err)
			if !slices.Contains(tags, name) {
				tags = append(tags, name)
			}
		}
		r.Tags = tags
		for _, m := range schemas.check(r.Input, r.ReferenceOutput) {
			errs = append(errs, problem.InvalidField(at+"."+m.part, "does not fit the schema of the dataset: "+m.text))
		}
		if err := r.hash(); err != nil {
			return nil, err
		}
	}
	return rows, errors.Join(errs...)
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
	if isNull(text) {
		return json.RawMessage(absent)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return text // it was validated
	}
	return out.Bytes()
}
