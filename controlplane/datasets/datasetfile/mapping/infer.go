package mapping

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Limits of the rows from which columns, types and mapping are found.
const (
	sampleRows  = 1000
	sampleBytes = 8 << 20
)

// sample is the beginning of a file, from which its mapping is found.
type sample struct {
	format datasetfile.Format
	rows   []sampleRow
	// columns are in the order of the file, or that in which they first occur.
	columns []*column
	byName  map[string]*column
	seed    maphash.Seed
	// complete is whether these are all rows.
	complete bool
}

// sampleRow is a row, or what is wrong with it.
type sampleRow struct {
	datasetfile.Row
	bad *datasetfile.RowError
}

// column is what the sample has in a column.
type column struct {
	name   string
	filled int
	// kinds are what the cells look like, and texts those that are texts.
	kinds    map[string]int
	texts    int
	examples []string
	// seen has hashes of the values: of as many as rows, if all differ. unfit is whether a value can be no key or name.
	seen            map[uint64]bool
	unfit, unfitTag bool
	// longest is the size of the longest value in characters.
	longest int
}

func readSample(ctx context.Context, f *reading.File, partial bool) (*sample, error) {
	s := &sample{format: f.Layout().Format, byName: map[string]*column{}, seed: maphash.MakeSeed()}
	for _, name := range f.Columns() {
		s.column(name)
	}
	if len(s.columns) > maxNames {
		return nil, datasetfile.FileErrorf("the file has %d columns: a mapping can name at most %d", len(s.columns), maxNames)
	}
	size := 0
	for len(s.rows) < sampleRows && size < sampleBytes {
		if err := ctx.Err(); err != nil {
			return nil, err //nolint:wrapcheck // nobody waits any more
		}
		row, err := f.Next()
		var bad *datasetfile.RowError
		switch {
		case errors.Is(err, io.EOF):
			s.complete = !partial
			return s, nil
		case errors.As(err, &bad):
			s.rows = append(s.rows, sampleRow{datasetfile.Row{Line: bad.Line}, bad})
			continue
		case err != nil:
			return nil, err
		}
		s.rows = append(s.rows, sampleRow{Row: row})
		for _, c := range row.Cells {
			size += len(c.Column) + len(c.Value)
			s.column(c.Column).add(c, s.seed)
		}
		if len(s.columns) > maxNames {
			return nil, datasetfile.FileErrorf("row at line %d: the rows have more than %d different columns, which is the most that a mapping can name: put those that differ from row to row into one object", row.Line, maxNames)
		}
	}
	// One more tells whether there are more.
	_, err := f.Next()
	s.complete = !partial && errors.Is(err, io.EOF)
	return s, nil
}

func (s *sample) column(name string) *column {
	c := s.byName[name]
	if c == nil {
		c = &column{name: name, kinds: map[string]int{}, seen: map[uint64]bool{}}
		s.byName[name] = c
		s.columns = append(s.columns, c)
	}
	return c
}

func (c *column) add(cell datasetfile.Cell, seed maphash.Seed) {
	if jsontext.IsNull(cell.Value) {
		c.kinds[datasetfile.KindNull]++
		return
	}
	c.filled++
	text := string(cell.Value)
	kind := datasetfile.KindOf(cell.Value)
	if kind == datasetfile.KindText {
		text = datasetfile.Unquote(cell.Value)
	}
	c.unfit = c.unfit || text == "" || kind != datasetfile.KindText && kind != datasetfile.KindNumber || strings.ContainsRune(text, 0)
	c.unfitTag = c.unfitTag || kind != datasetfile.KindText && (kind != datasetfile.KindArray || !textList(cell.Value))
	c.longest = max(c.longest, utf8.RuneCountInString(text))
	c.seen[maphash.String(seed, text)] = true
	if kind == datasetfile.KindText {
		c.texts++
		kind = datasetfile.LooksLike(text)
	}
	c.kinds[kind]++
	if example := datasetfile.Shown([]byte(text)); len(c.examples) < 3 && !slices.Contains(c.examples, example) {
		c.examples = append(c.examples, example)
	}
}

func textList(list []byte) bool {
	for _, e := range datasetfile.Elements(list) {
		if !jsontext.IsString(e) {
			return false
		}
	}
	return true
}

// columnType returns the type of a column: one of numbers, booleans or JSON needs all cells to be such. Texts of other
// formats than CSV are texts, whatever they look like, but JSON in XLSX, which has no other way to write it.
func (c *column) columnType(format datasetfile.Format) ColumnType {
	containers := c.kinds[datasetfile.KindObject] + c.kinds[datasetfile.KindArray]
	switch {
	case c.filled == 0:
		return TextType
	case containers == c.filled && (c.texts == 0 || format == datasetfile.CSV || format == datasetfile.XLSX):
		return JSONType
	case c.texts == c.filled && format != datasetfile.CSV:
		return TextType
	case c.texts > 0 && format != datasetfile.CSV:
		return JSONType
	case c.kinds[datasetfile.KindNumber] == c.filled:
		return NumberType
	case c.kinds[datasetfile.KindBoolean] == c.filled:
		return BooleanType
	case format == datasetfile.CSV:
		return TextType
	}
	return JSONType
}

// types returns the types that a mapping needs to name: those of columns with texts that stand for other values.
func (s *sample) types() map[string]ColumnType {
	if !s.text() {
		return nil
	}
	var types map[string]ColumnType
	for _, c := range s.columns {
		if t := c.columnType(s.format); t != TextType && c.texts > 0 && (s.format == datasetfile.CSV || c.texts == c.filled) {
			if types == nil {
				types = map[string]ColumnType{}
			}
			types[c.name] = t
		}
	}
	return types
}

// normal is a name without what people write differently: case, spaces, _ and -.
func normal(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Names of columns, normal, in the order in which one is preferred.
var (
	inputNames = []string{
		"input", "inputs", "question", "questions", "prompt", "query", "userinput", "userquery", "userprompt", "usermessage", "instruction",
		"instructions", "systemprompt", "system", "message", "messages", "conversation", "context", "contexts", "passage", "document",
		"documents", "text", "article", "choices", "options", "problem", "request", "utterance", "sentence", "history", "chathistory",
	}
	referenceNames = []string{
		"referenceoutput", "referenceoutputs", "expectedoutput", "expectedoutputs", "reference", "referenceanswer", "expected",
		"expectedanswer", "expectedresponse", "groundtruth", "goldanswer", "gold", "ideal", "idealanswer", "target", "targets", "answer",
		"answers", "correctanswer", "bestanswer", "output", "outputs", "completion", "response", "solution", "label", "labels",
	}
	keyNames   = []string{"key", "id", "itemid", "exampleid", "externalid", "caseid", "testid", "uuid", "name"}
	splitNames = []string{"split", "splits", "subset", "partition"}
	tagNames   = []string{"tags", "tag"}
)

// mapping finds the mapping: that of a known export, or where columns go by their names.
//
// A column named input is the input as it is. Others, such as question and context, and the only column of a file, make
// an object, so that a prompt finds its variables by name. Columns that have no place go to the metadata, so that
// nothing of the sample is lost; a member that only a later row of JSONL has is in no mapping, and in no item.
func (s *sample) mapping() Mapping {
	if m, found := s.knownShape(); found {
		return m
	}
	m := Mapping{Shape: Columns, Types: s.types()}
	left := make([]*column, len(s.columns))
	copy(left, s.columns)
	take := func(names []string, fits func(*column) bool) *column {
		for _, name := range names {
			for i, c := range left {
				if normal(c.name) == name && fits(c) {
					left = slices.Delete(left, i, i+1)
					return c
				}
			}
		}
		return nil
	}
	if c := take(keyNames, s.isKey); c != nil {
		m.Key = &c.name
	}
	if c := take(splitNames, func(c *column) bool { return c.filled > 0 && !c.unfit && c.longest <= maxName }); c != nil {
		m.Split = &c.name
	}
	if c := take(tagNames, func(c *column) bool { return c.filled > 0 && !c.unfitTag }); c != nil {
		m.Tags = &c.name
		delete(m.Types, c.name) // tags are read from text
	}
	anyColumn := func(*column) bool { return true }
	if c := take(referenceNames, anyColumn); c != nil {
		m.ReferenceOutput = Column(c.name)
	}
	var inputs []string
	left = slices.DeleteFunc(left, func(c *column) bool {
		found := slices.Contains(inputNames, normal(c.name))
		if found {
			inputs = append(inputs, c.name)
		}
		return found
	})
	if len(inputs) == 0 {
		m.Input, left = s.otherInput(&m, left)
	} else {
		m.Input = inputTarget(inputs)
	}
	m.Metadata = s.metadataTarget(left)
	return m
}

func inputTarget(names []string) Target {
	if n := normal(names[0]); len(names) == 1 && (n == "input" || n == "inputs") {
		return Column(names[0])
	}
	return Object(names...)
}

// otherInput makes the input of columns that have no name of an input: all but an object of metadata. If there is none,
// what looked like a reference output or a key is the input.
func (s *sample) otherInput(m *Mapping, left []*column) (Target, []*column) {
	var names []string
	var rest []*column
	for _, c := range left {
		if normal(c.name) == "metadata" {
			rest = append(rest, c)
			continue
		}
		names = append(names, c.name)
	}
	switch {
	case len(names) > 0:
	case !m.ReferenceOutput.IsZero():
		names = m.ReferenceOutput.names
		m.ReferenceOutput = Target{}
	case m.Key != nil:
		names = optional(m.Key)
		m.Key = nil
	case len(s.columns) > 0:
		names = []string{s.columns[0].name}
	default:
		return Target{}, nil
	}
	return Object(names...), rest
}

// metadataTarget takes a column with objects as it is, if it is the only one; otherwise the columns are the members.
func (s *sample) metadataTarget(left []*column) Target {
	if len(left) == 0 {
		return Target{}
	}
	if c := left[0]; len(left) == 1 && normal(c.name) == "metadata" && c.kinds[datasetfile.KindObject] == c.filled {
		return Column(c.name)
	}
	var names []string
	for _, c := range left {
		names = append(names, c.name)
	}
	return Object(names...)
}

// isKey reports whether the values of a column tell the rows of the sample apart. A column whose name is key is always one: values that
// repeat are mistakes, which an import names.
func (s *sample) isKey(c *column) bool {
	if normal(c.name) == "key" && c.filled > 0 && !c.unfit {
		return true
	}
	good := 0
	for _, row := range s.rows {
		if row.bad == nil {
			good++
		}
	}
	return good > 0 && !c.unfit && c.filled == good && len(c.seen) == good && c.longest <= maxKey
}
