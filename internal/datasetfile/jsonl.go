package datasetfile

import (
	"bytes"
)

// jsonlRows reads JSONL: an object in each line. Lines without one are blank, or refused.
type jsonlRows struct {
	text    *text
	partial bool
}

func openJSONL(t *text, o Options) (*jsonlRows, error) {
	start, _ := t.Peek(min(headSize, t.Size())) // openText has read it
	first, rest, more := bytes.Cut(bytes.TrimSpace(start), []byte("\n"))
	first = bytes.TrimSpace(first)
	switch {
	case more && (string(first) == "{" || string(first) == "[" || string(first) == "[{"),
		bytes.HasPrefix(first, []byte("[{")):
		return nil, fileErrorf("the file is JSON over several lines or a list, not an object in each line: choose format=json")
	case more && bytes.HasSuffix(first, []byte("},")) && bytes.HasPrefix(bytes.TrimSpace(rest), []byte("{")):
		return nil, fileErrorf("line 1 ends with a comma: JSONL has an object in each line, without commas between them")
	}
	return &jsonlRows{t, o.Partial}, nil
}

func (j *jsonlRows) columns() []string { return nil }
func (j *jsonlRows) offset() int64     { return j.text.read.n }
func (j *jsonlRows) close() error      { return nil }

func (j *jsonlRows) next() (Row, error) {
	for {
		l, err := j.text.readLine()
		if err != nil {
			return Row{}, err
		}
		if j.partial && !l.ended {
			continue // the end of the file is next
		}
		if l.tooLong {
			return Row{}, rowErrorf(l.number, nil, "the line is longer than %d MiB: at most that much can be read", maxRow>>20)
		}
		if reason, at := j.text.encodingError(l.content); reason != "" {
			return Row{}, rowErrorf(l.number, around(l.content, at), "line %d, byte %d: %s", l.number, at+1, reason)
		}
		if len(bytes.TrimSpace(l.content)) == 0 {
			continue
		}
		return objectRow(l.number, l.content)
	}
}

// around returns some of the content before and after a place.
func around(content []byte, at int) []byte {
	const before = 40
	return content[max(0, at-before):]
}
