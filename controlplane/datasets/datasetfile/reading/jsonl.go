package reading

import (
	"bytes"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// jsonlRows reads JSONL: an object in each line. Lines without one are blank, or refused.
type jsonlRows struct {
	text    *datasetfile.Text
	partial bool
}

func openJSONL(t *datasetfile.Text, o datasetfile.Options) (*jsonlRows, error) {
	start, _ := t.Peek(min(datasetfile.HeadSize, t.Size())) // openText has read it
	first, rest, more := bytes.Cut(bytes.TrimSpace(start), []byte("\n"))
	first = bytes.TrimSpace(first)
	switch {
	case more && (string(first) == "{" || string(first) == "[" || string(first) == "[{"),
		bytes.HasPrefix(first, []byte("[{")):
		return nil, datasetfile.FileErrorf("the file is JSON over several lines or a list, not an object in each line: choose format=json")
	case more && bytes.HasSuffix(first, []byte("},")) && bytes.HasPrefix(bytes.TrimSpace(rest), []byte("{")):
		return nil, datasetfile.FileErrorf("line 1 ends with a comma: JSONL has an object in each line, without commas between them")
	}
	return &jsonlRows{t, o.Partial}, nil
}

func (j *jsonlRows) Columns() []string { return nil }

func (j *jsonlRows) Offset() int64 { return j.text.Offset() }

func (j *jsonlRows) Close() error { return nil }

func (j *jsonlRows) Next() (datasetfile.Row, error) {
	for {
		l, err := j.text.ReadLine()
		if err != nil {
			return datasetfile.Row{}, err
		}
		if j.partial && !l.Ended {
			continue // the end of the file is next
		}
		if l.TooLong {
			return datasetfile.Row{}, datasetfile.RowErrorf(l.Number, nil, "the line is longer than %d MiB: at most that much can be read", datasetfile.MaxRow>>20)
		}
		if reason, at := j.text.EncodingError(l.Content); reason != "" {
			return datasetfile.Row{}, datasetfile.RowErrorf(l.Number, around(l.Content, at), "line %d, byte %d: %s", l.Number, at+1, reason)
		}
		if len(bytes.TrimSpace(l.Content)) == 0 {
			continue
		}
		return datasetfile.ObjectRow(l.Number, l.Content)
	}
}

// around returns some of the content before and after a place.
func around(content []byte, at int) []byte {
	const before = 40
	return content[max(0, at-before):]
}
