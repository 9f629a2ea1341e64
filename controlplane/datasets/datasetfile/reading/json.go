package reading

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// jsonRows reads the objects of a list: that of the file, or that of a member of its object (see listNames).
type jsonRows struct {
	text    *datasetfile.Text
	partial bool
	// open is how many objects the list is in.
	open int
	// rows is whether the list may be one of Hugging Face: its elements have the row in a member.
	viewer bool
	first  bool
	ended  bool
}

// MaxBrackets bounds the nesting of what is skipped.
const MaxBrackets = 100_000

var errNoList = errors.New("no list")

func openJSON(t *datasetfile.Text, o datasetfile.Options) (*jsonRows, error) {
	j := &jsonRows{text: t, partial: o.Partial, first: true}
	b, err := j.peek()
	if err != nil {
		return nil, j.failed(err)
	}
	switch b {
	case '[':
		j.take()
		return j, nil
	case '{':
		j.take()
	default:
		return nil, datasetfile.FileErrorf("line %d: the file begins with %q, not with a list of objects, nor an object that has one", t.Line, string(rune(b)))
	}
	var names []string
	err = j.find(&names, 1)
	switch {
	case errors.Is(err, errNoList) && j.moreObjects():
		return nil, datasetfile.FileErrorf("more follows after the object that ends in line %d: if each line has an object, choose format=jsonl", t.Line)
	case errors.Is(err, errNoList):
		return nil, datasetfile.FileErrorf("the object of the file has no list of rows. It has: %s. Write a list of objects, or name the list %s (in pandas: orient=\"records\")", datasetfile.Listed(names), strings.Join(listNames, ", "))
	case err != nil:
		return nil, j.failed(err)
	}
	return j, nil
}

// find goes to the first element of the list among the members of an object, whose bracket has been read.
func (j *jsonRows) find(names *[]string, depth int) error {
	for first := true; ; first = false {
		key, err := j.member(first)
		if err != nil {
			return err
		}
		if key == nil {
			return errNoList
		}
		b, err := j.peek()
		if err != nil {
			return err
		}
		if len(*names) < datasetfile.MaxColumns {
			*names = append(*names, datasetfile.Shown(key))
		}
		isList := slices.Contains(listNames, string(key))
		if isList && b == '[' {
			j.take()
			j.open, j.viewer = depth, string(key) == "rows"
			return nil
		}
		const deepest = 2
		if isList && b == '{' && depth < deepest {
			j.take()
			if err := j.find(names, depth+1); !errors.Is(err, errNoList) {
				return err
			}
			continue
		}
		if _, _, err := j.value(false); err != nil {
			return err
		}
	}
}

// member reads the name of the next member, or the bracket that ends the object: then the name is nil.
func (j *jsonRows) member(first bool) ([]byte, error) {
	b, err := j.peek()
	if err != nil {
		return nil, err
	}
	if b == '}' {
		j.take()
		return nil, nil
	}
	if !first {
		if b != ',' {
			return nil, j.unexpected(b, "a comma or }")
		}
		j.take()
		if b, err = j.peek(); err != nil {
			return nil, err
		}
	}
	if b != '"' {
		return nil, j.unexpected(b, "a name in double quotes")
	}
	quotedName, tooLong, err := j.value(true)
	if err != nil {
		return nil, err
	}
	if tooLong {
		return nil, datasetfile.FileErrorf("line %d: the name of a member is longer than %d MiB", j.text.Line, datasetfile.MaxRow>>20)
	}
	if b, err = j.peek(); err != nil {
		return nil, err
	}
	if b != ':' {
		return nil, j.unexpected(b, "a colon")
	}
	j.take()
	return quotedName[1 : len(quotedName)-1], nil
}

func (j *jsonRows) unexpected(b byte, right string) error {
	return datasetfile.FileErrorf("line %d: the JSON is wrong: %q where %s should be", j.text.Line, string(rune(b)), right)
}

// peek returns the next byte that is no space.
func (j *jsonRows) peek() (byte, error) {
	for {
		chunk, err := j.text.Chunk()
		if err != nil {
			return 0, err
		}
		for i, b := range chunk {
			switch b {
			case j.text.Newline:
				j.text.Line++
			case ' ', '\t', '\r', '\n':
			default:
				j.text.Skip(i)
				return b, nil
			}
		}
		j.text.Skip(len(chunk))
	}
}

// take reads the byte that peek returned.
func (j *jsonRows) take() { j.text.Skip(1) }

func (j *jsonRows) moreObjects() bool {
	b, err := j.peek()
	return err == nil && b == '{'
}

// value reads a value, which it returns if it is wanted and fits into a row. It checks only that brackets match.
func (j *jsonRows) value(wanted bool) (value []byte, tooLong bool, err error) {
	s := valueScanner{}
	for {
		chunk, err := j.text.Chunk()
		if errors.Is(err, io.EOF) && s.scalar {
			return value, tooLong, nil
		}
		if err != nil {
			return nil, false, err
		}
		n, done := s.scan(chunk)
		part := chunk[:n]
		if wanted && !tooLong {
			if tooLong = len(value)+n > datasetfile.MaxRow; tooLong {
				value = nil
			} else {
				value = append(value, part...)
			}
		}
		j.text.Line += int64(bytes.Count(part, []byte{j.text.Newline}))
		j.text.Skip(n)
		if s.problem != "" {
			return nil, false, datasetfile.FileErrorf("line %d: the JSON is wrong: %s", j.text.Line, s.problem)
		}
		if done {
			return value, tooLong, nil
		}
	}
}

// valueScanner finds the end of a value.
type valueScanner struct {
	brackets []byte
	inString bool
	escaped  bool
	// scalar is whether the value has begun and has no brackets and quotes.
	scalar  bool
	problem string
}

// scan returns how many bytes belong to the value, and whether it ends there.
func (s *valueScanner) scan(chunk []byte) (int, bool) {
	for i := 0; i < len(chunk); i++ {
		b := chunk[i]
		if s.inString {
			switch {
			case s.escaped:
				s.escaped = false
			case b == '\\':
				s.escaped = true
			case b == '"':
				s.inString = false
				if len(s.brackets) == 0 {
					return i + 1, true
				}
			}
			continue
		}
		switch b {
		case '"':
			s.inString = true
		case '{', '[':
			if s.scalar {
				return i, true
			}
			if s.brackets = append(s.brackets, b+2); len(s.brackets) > MaxBrackets {
				s.problem = fmt.Sprintf("it nests more than %d deep", MaxBrackets)
				return i, false
			}
		case '}', ']':
			last := len(s.brackets) - 1
			if last < 0 {
				return i, true
			}
			if s.brackets[last] != b {
				s.problem = fmt.Sprintf("%q closes %q", string(rune(b)), string(rune(s.brackets[last]-2)))
				return i, false
			}
			if s.brackets = s.brackets[:last]; last == 0 {
				return i + 1, true
			}
		case ',', ' ', '\t', '\r', '\n':
			if len(s.brackets) == 0 {
				return i, true
			}
		default:
			s.scalar = len(s.brackets) == 0
		}
	}
	return len(chunk), false
}

// failed makes an error of the end of the file within the JSON.
func (j *jsonRows) failed(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if j.partial {
		return datasetfile.FileErrorf("the beginning of the file does not reach its list of rows: give more of it")
	}
	return datasetfile.FileErrorf("the file ends in line %d within its JSON: it is cut; write it again", j.text.Line)
}

func (j *jsonRows) Columns() []string { return nil }

func (j *jsonRows) Offset() int64 { return j.text.Offset() }

func (j *jsonRows) Close() error { return nil }

func (j *jsonRows) Next() (datasetfile.Row, error) {
	if j.ended {
		return datasetfile.Row{}, io.EOF
	}
	row, err := j.element()
	if errors.Is(err, io.EOF) && !j.ended {
		j.ended = true
		if !j.partial {
			err = j.failed(err)
		}
	}
	return row, err
}

func (j *jsonRows) element() (datasetfile.Row, error) {
	b, err := j.peek()
	if err != nil {
		return datasetfile.Row{}, err
	}
	if b == ']' {
		j.take()
		if err := j.finish(); err != nil {
			return datasetfile.Row{}, err
		}
		j.ended = true
		return datasetfile.Row{}, io.EOF
	}
	if !j.first {
		if b != ',' {
			return datasetfile.Row{}, j.unexpected(b, "a comma or ]")
		}
		j.take()
		if b, err = j.peek(); err != nil {
			return datasetfile.Row{}, err
		}
	}
	j.first = false
	line := j.text.Line
	if strings.IndexByte(",]}:", b) >= 0 {
		return datasetfile.Row{}, j.unexpected(b, "an object")
	}
	raw, tooLong, err := j.value(true)
	if err != nil {
		return datasetfile.Row{}, err
	}
	if j.partial {
		// A number at the end may be cut.
		if _, err := j.peek(); err != nil {
			return datasetfile.Row{}, err
		}
	}
	if tooLong {
		return datasetfile.Row{}, datasetfile.RowErrorf(line, nil, "the element is longer than %d MiB: at most that much can be read", datasetfile.MaxRow>>20)
	}
	if reason, at := j.text.EncodingError(raw); reason != "" {
		return datasetfile.Row{}, datasetfile.RowErrorf(line, around(raw, at), "line %d: %s", line+int64(bytes.Count(raw[:at], []byte{j.text.Newline})), reason)
	}
	row, err := datasetfile.ObjectRow(line, raw)
	if err == nil && j.viewer {
		return viewerRow(row)
	}
	return row, err
}

// finish reads what follows after the list.
func (j *jsonRows) finish() error {
	for ; j.open > 0; j.open-- {
		for {
			key, err := j.member(false)
			if err != nil {
				return err
			}
			if key == nil {
				break
			}
			if _, err := j.peek(); err != nil {
				return err
			}
			if _, _, err := j.value(false); err != nil {
				return err
			}
		}
	}
	b, err := j.peek()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return j.unexpected(b, "the end of the file")
}
