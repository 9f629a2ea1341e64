package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// Shape is how rows become items.
type Shape string

// The shapes. All but Columns are known exports, whose rows say themselves what is input and reference output.
const (
	Columns     Shape = "columns"
	Looptrace   Shape = "looptrace"
	OpenAIChat  Shape = "openai_chat"
	OpenAIEvals Shape = "openai_evals"
	Promptfoo   Shape = "promptfoo"
	Langfuse    Shape = "langfuse"
	Phoenix     Shape = "phoenix"
	LangSmith   Shape = "langsmith"
)

// ColumnType is the type of the cells of a column.
type ColumnType string

// The types.
const (
	TextType    ColumnType = "text"
	JSONType    ColumnType = "json"
	NumberType  ColumnType = "number"
	BooleanType ColumnType = "boolean"
)

// maxNames is how many columns a target can name.
const maxNames = 1000

// Target says of which columns a part of an item is made. The zero Target is nothing.
type Target struct {
	names  []string
	object bool
}

// Column returns the target that takes the value of a column as it is.
func Column(name string) Target { return Target{names: []string{name}} }

// Object returns the target that makes an object with the columns as members.
func Object(names ...string) Target { return Target{names: slices.Clone(names), object: true} }

// Names returns the columns.
func (t Target) Names() []string { return slices.Clone(t.names) }

// IsObject reports whether the columns are the members of an object.
func (t Target) IsObject() bool { return t.object }

// IsZero reports whether the target is nothing.
func (t Target) IsZero() bool { return len(t.names) == 0 }

// MarshalJSON writes a name, a list of names, or null.
func (t Target) MarshalJSON() ([]byte, error) {
	switch {
	case t.IsZero():
		return []byte("null"), nil
	case t.object:
		return json.Marshal(t.names)
	}
	return json.Marshal(t.names[0])
}

// UnmarshalJSON reads a name, a list of names, or null.
func (t *Target) UnmarshalJSON(text []byte) error {
	*t = Target{}
	var name string
	if err := json.Unmarshal(text, &name); err == nil {
		if string(text) != "null" {
			t.names = []string{name}
		}
		return nil
	}
	var names []*string
	if err := json.Unmarshal(text, &names); err != nil || slices.Contains(names, nil) {
		return errors.New("must be the name of a column, a list of names, or null")
	}
	if len(names) == 0 || len(names) > maxNames {
		return fmt.Errorf("must have 1 to %d names", maxNames)
	}
	t.object = true
	for _, n := range names {
		if slices.Contains(t.names, *n) {
			return fmt.Errorf("names %q twice", datasetfile.Shown([]byte(*n)))
		}
		t.names = append(t.names, *n)
	}
	return nil
}

// Mapping says how rows become items.
type Mapping struct {
	Shape           Shape   `json:"shape"`
	Input           Target  `json:"input"`
	ReferenceOutput Target  `json:"reference_output"`
	Metadata        Target  `json:"metadata"`
	Key             *string `json:"key"`
	Split           *string `json:"split"`
	Tags            *string `json:"tags"`
	// Types are those of columns. Others have text in CSV and their own types in the other formats.
	Types map[string]ColumnType `json:"types,omitempty"`
}

// Error is what is wrong with a member of a mapping.
type Error struct {
	// Member is empty if it concerns the whole mapping.
	Member, Reason string
}

func (e *Error) Error() string {
	if e.Member == "" {
		return "the mapping " + e.Reason
	}
	return "mapping." + e.Member + " " + e.Reason
}

// ParseMapping reads a mapping. Its error is a *Error.
func ParseMapping(text []byte) (Mapping, error) {
	var m Mapping
	row, err := datasetfile.ObjectRow(1, text)
	if err != nil {
		var bad *datasetfile.RowError
		if errors.As(err, &bad) {
			return m, &Error{"", "is no JSON object: " + bad.Fields[0].Error()}
		}
		return m, &Error{"", err.Error()}
	}
	into := map[string]any{
		"shape": &m.Shape, "input": &m.Input, "reference_output": &m.ReferenceOutput, "metadata": &m.Metadata,
		"key": &m.Key, "split": &m.Split, "tags": &m.Tags, "types": &m.Types,
	}
	for _, member := range row.Cells {
		to, known := into[member.Column]
		if !known {
			return m, &Error{datasetfile.Shown([]byte(member.Column)), "is not known: use shape, input, reference_output, metadata, key, split, tags and types"}
		}
		if err := decodeStrict(member.Value, to); err != nil {
			return m, &Error{member.Column, memberReason(member.Column, err)}
		}
	}
	return m, m.valid()
}

func decodeStrict(raw []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has more than one value")
	}
	return nil
}

func memberReason(member string, err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	switch member {
	case "shape":
		return "must be a text"
	case "types":
		return "must be an object with the type of each column: text, json, number or boolean"
	}
	return "must be the name of a column, or null"
}

// valid checks what does not depend on the file.
func (m Mapping) valid() error {
	if m.Shape == "" {
		return &Error{"shape", "is missing: use columns, or the name of a known export"}
	}
	if m.Shape != Columns && shapes[m.Shape] == nil {
		return &Error{"shape", fmt.Sprintf("is %q: use columns, looptrace, openai_chat, openai_evals, promptfoo, langfuse, phoenix or langsmith", datasetfile.Shown([]byte(m.Shape)))}
	}
	for _, column := range sortedKeys(m.Types) {
		switch m.Types[column] {
		case TextType, JSONType, NumberType, BooleanType:
		default:
			return &Error{"types." + datasetfile.Shown([]byte(column)), fmt.Sprintf("is %q: use text, json, number or boolean", datasetfile.Shown([]byte(m.Types[column])))}
		}
	}
	if m.Shape == Columns && m.Input.IsZero() {
		return &Error{"input", "is missing: name a column, or a list of columns"}
	}
	return nil
}

func sortedKeys(types map[string]ColumnType) []string {
	keys := make([]string, 0, len(types))
	for key := range types {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Check checks that a file has the columns that the mapping names. Its error is a *Error.
func (m Mapping) Check(columns []string) error {
	if err := m.valid(); err != nil {
		return err
	}
	known := make(map[string]bool, len(columns))
	for _, c := range columns {
		known[c] = true
	}
	check := func(member string, names ...string) error {
		for _, name := range names {
			if !known[name] {
				return &Error{member, fmt.Sprintf("names the column %q, which the file does not have. It has: %s", datasetfile.Shown([]byte(name)), datasetfile.Listed(columns))}
			}
		}
		return nil
	}
	if m.Shape == Columns {
		for _, part := range []struct {
			member string
			names  []string
		}{
			{"input", m.Input.names},
			{"reference_output", m.ReferenceOutput.names},
			{"metadata", m.Metadata.names},
			{"key", optional(m.Key)},
			{"split", optional(m.Split)},
			{"tags", optional(m.Tags)},
		} {
			if err := check(part.member, part.names...); err != nil {
				return err
			}
		}
	}
	return check("types", sortedKeys(m.Types)...)
}

func optional(name *string) []string {
	if name == nil {
		return nil
	}
	return []string{*name}
}
