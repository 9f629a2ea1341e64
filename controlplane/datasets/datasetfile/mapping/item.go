package mapping

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Item is an item of a dataset. Nil is what the row does not have.
type Item struct {
	Key             *string
	Input           json.RawMessage
	ReferenceOutput json.RawMessage
	Metadata        json.RawMessage
	Split           *string
	Tags            []string
	SourceRunID     *string
	SourceSpanID    *string
}

// record is a row whose cells have the types of the mapping, from which an item is made.
type record struct {
	row   datasetfile.Row
	types map[string]ColumnType
	// cells are those of the row, with their types.
	cells []datasetfile.Cell
	// after is where the next cell is looked for first.
	after  int
	item   Item
	errors []datasetfile.FieldError
	// taken are the columns that have a place in the item.
	taken map[string]bool
}

// Item makes an item of a row. A row with errors makes none.
func (m Mapping) Item(row datasetfile.Row) (Item, []datasetfile.FieldError) {
	r := &record{row: row, types: m.Types, cells: make([]datasetfile.Cell, len(row.Cells))}
	for i, c := range row.Cells {
		value, bad := m.Types[c.Column].typed(c)
		if bad != nil {
			r.errors = append(r.errors, *bad)
		}
		r.cells[i] = datasetfile.Cell{Column: c.Column, Value: value}
	}
	if len(r.errors) > 0 {
		return Item{}, r.errors
	}
	if known := shapes[m.Shape]; known != nil {
		known(r)
	} else {
		m.columns(r)
	}
	if len(r.errors) == 0 && r.item.Input == nil {
		r.refuse("", "has no input: every item needs one", nil)
	}
	if len(r.errors) > 0 {
		return Item{}, r.errors
	}
	return r.item, nil
}

// columns makes the item that the members of the mapping say.
func (m Mapping) columns(r *record) {
	if !m.Input.object && !m.Input.IsZero() && jsontext.IsNull(r.get(m.Input.names[0])) {
		r.refuse(m.Input.names[0], "is empty, but it is the input: every item needs one", nil)
	}
	r.item.Input = r.target(m.Input)
	r.item.ReferenceOutput = r.target(m.ReferenceOutput)
	if !m.Metadata.IsZero() {
		r.item.Metadata = r.target(m.Metadata)
		if !m.Metadata.object {
			r.metadata(m.Metadata.names[0], r.item.Metadata)
		}
	}
	if m.Key != nil {
		r.key(*m.Key)
	}
	if m.Split != nil {
		r.split(*m.Split)
	}
	if m.Tags != nil {
		r.tags(*m.Tags)
	}
}

func (r *record) refuse(column, reason string, value json.RawMessage) {
	r.errors = append(r.errors, datasetfile.FieldError{Column: column, Reason: reason, Value: datasetfile.Shown(value)})
}

// find returns a cell, and whether the row has it.
func (r *record) find(column string) (json.RawMessage, bool) {
	// Columns are mostly asked for in the order of the row.
	for i := range r.cells {
		at := r.after + i
		if at >= len(r.cells) {
			at -= len(r.cells)
		}
		if r.cells[at].Column == column {
			r.after = at + 1
			return r.cells[at].Value, true
		}
	}
	return nil, false
}

// get returns a cell. It is nil if the row does not have it.
func (r *record) get(column string) json.RawMessage {
	value, _ := r.find(column)
	return value
}

// set replaces a cell.
func (r *record) set(column string, value json.RawMessage) {
	for i := range r.cells {
		if r.cells[i].Column == column {
			r.cells[i].Value = value
			return
		}
	}
}

// mark says that a column has a place in the item.
func (r *record) mark(column string) {
	if r.taken == nil {
		r.taken = map[string]bool{}
	}
	r.taken[column] = true
}

// take returns a cell that has a place in the item now.
func (r *record) take(column string) json.RawMessage {
	r.mark(column)
	return r.get(column)
}

// target returns the value of a target: nil if the row has none of its columns.
func (r *record) target(t Target) json.RawMessage {
	if t.IsZero() {
		return nil
	}
	if !t.object {
		if value := r.get(t.names[0]); !jsontext.IsNull(value) {
			return value
		}
		return nil
	}
	var members []datasetfile.Cell
	size, filled := 2, false
	for _, name := range t.names {
		if value, found := r.find(name); found {
			members = append(members, datasetfile.Cell{Column: name, Value: value})
			size += len(name) + len(value) + 4
			filled = filled || !jsontext.IsNull(value)
		}
	}
	if !filled {
		return nil
	}
	return datasetfile.AppendObject(make([]byte, 0, size), members)
}

// rest returns the columns that have no place in the item yet, but those that are empty.
func (r *record) rest() []datasetfile.Cell {
	var cells []datasetfile.Cell
	for _, c := range r.cells {
		if !r.taken[c.Column] && !jsontext.IsNull(c.Value) {
			cells = append(cells, c)
		}
	}
	return cells
}

// merge makes the metadata of an object in the file and of more members. The object is a member if their names conflict
// or it is no object.
func (r *record) merge(column string, more []datasetfile.Cell) {
	value := r.take(column)
	all := datasetfile.Members(value)
	conflict := !jsontext.IsNull(value) && !jsontext.IsObject(value)
	for _, c := range more {
		conflict = conflict || slices.ContainsFunc(all, func(m datasetfile.Cell) bool { return m.Column == c.Column })
	}
	switch {
	case len(more) == 0 && jsontext.IsObject(value):
		r.item.Metadata = value
		return
	case conflict:
		all = []datasetfile.Cell{{Column: column, Value: value}}
	}
	if all = append(all, more...); len(all) > 0 {
		r.item.Metadata = datasetfile.AppendObject(nil, all)
	}
}

// metadata takes an object as metadata.
func (r *record) metadata(column string, value json.RawMessage) {
	switch {
	case jsontext.IsNull(value):
		r.item.Metadata = nil
	case jsontext.IsObject(value):
		r.item.Metadata = value
	default:
		r.refuse(column, "is no object, but it is the metadata: make it an object, or name it in a list, which makes an object of it", value)
	}
}

// textOf returns a cell as a text: nil if it is empty. Numbers keep their digits.
func (r *record) textOf(column string, limit int) *string {
	value := r.take(column)
	if jsontext.IsNull(value) {
		return nil
	}
	var text string
	switch datasetfile.KindOf(value) {
	case datasetfile.KindText:
		text = datasetfile.Unquote(value)
	case datasetfile.KindNumber:
		text = string(value)
	default:
		r.refuse(column, fmt.Sprintf("is %s: it must be a text of 1 to %d characters", datasetfile.Article(datasetfile.KindOf(value)), limit), value)
		return nil
	}
	if n := utf8.RuneCountInString(text); n == 0 || n > limit {
		r.refuse(column, fmt.Sprintf("has %d characters: it must be a text of 1 to %d", n, limit), value)
		return nil
	}
	if strings.ContainsRune(text, 0) {
		r.refuse(column, "has a NUL character", value)
		return nil
	}
	return &text
}

// Limits of the API.
const (
	maxKey  = 256
	maxName = 64
	maxTags = 50
)

func (r *record) key(column string) { r.item.Key = r.textOf(column, maxKey) }

func (r *record) split(column string) { r.item.Split = r.textOf(column, maxName) }

// tags takes a list of texts, or a text with commas or with a list.
func (r *record) tags(column string) {
	value := r.take(column)
	if jsontext.IsString(value) {
		text := datasetfile.Unquote(value)
		parsed, err := datasetfile.ParseJSON(text)
		if err != nil || !jsontext.IsArray(parsed) {
			for tag := range strings.SplitSeq(text, ",") {
				r.tag(column, strings.TrimSpace(tag), value)
			}
			return
		}
		value = parsed
	}
	if !jsontext.IsNull(value) && !jsontext.IsArray(value) {
		r.refuse(column, fmt.Sprintf("is %s: tags are a list of texts, or a text with commas", datasetfile.Article(datasetfile.KindOf(value))), value)
		return
	}
	for _, tag := range datasetfile.Elements(value) {
		if !jsontext.IsString(tag) {
			r.refuse(column, "has a tag that is no text", value)
			return
		}
		r.tag(column, datasetfile.Unquote(tag), value)
	}
}

func (r *record) tag(column, tag string, value json.RawMessage) {
	n := utf8.RuneCountInString(tag)
	switch {
	case n == 0 || slices.Contains(r.item.Tags, tag):
	case n > maxName || strings.ContainsRune(tag, 0):
		r.refuse(column, fmt.Sprintf("has a tag of %d characters: it must have 1 to %d, none of them NUL", n, maxName), value)
	case len(r.item.Tags) == maxTags:
		r.refuse(column, fmt.Sprintf("has more than %d tags", maxTags), value)
	default:
		r.item.Tags = append(r.item.Tags, tag)
	}
}

var (
	runID  = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	spanID = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// source takes the run and the span of which an item was made.
func (r *record) source(runColumn, spanColumn string) {
	for _, part := range []struct {
		column  string
		to      **string
		pattern *regexp.Regexp
		right   string
	}{
		{runColumn, &r.item.SourceRunID, runID, "a UUID"},
		{spanColumn, &r.item.SourceSpanID, spanID, "16 hexadecimal digits"},
	} {
		text := r.textOf(part.column, maxKey)
		if text != nil && !part.pattern.MatchString(*text) {
			r.refuse(part.column, "must be "+part.right, r.get(part.column))
			continue
		}
		*part.to = text
	}
}
