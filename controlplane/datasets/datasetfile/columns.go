package datasetfile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// ColumnName is the name of a column without one. i counts from 0.
func ColumnName(i int) string { return "column_" + strconv.Itoa(i+1) }

// NameColumns makes names of a header row: without spaces around them, and for an empty one that of its number.
func NameColumns(header []string) ([]string, error) {
	names := make([]string, len(header))
	at := map[string]int{}
	for i, name := range header {
		if name = strings.TrimSpace(name); name == "" {
			name = ColumnName(i)
		}
		if strings.ContainsRune(name, 0) {
			return nil, FileErrorf("the name of column %d has a NUL character: the file is damaged, or in another encoding", i+1)
		}
		if first, found := at[name]; found {
			return nil, FileErrorf("the header names %q twice, in the columns %d and %d: give each column a name of its own, or choose header=false if the first row is no header",
				Shown([]byte(name)), first+1, i+1)
		}
		at[name] = i
		names[i] = name
	}
	return names, nil
}

// Null is the value of an empty cell.
var Null = []byte("null")

// Count writes a number of things.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Listed lists columns, the first fifty.
func Listed(columns []string) string {
	const limit = 50
	texts := make([]string, 0, limit)
	for i, c := range columns {
		if i == limit {
			return strings.Join(texts, ", ") + fmt.Sprintf(" and %d more", len(columns)-limit)
		}
		texts = append(texts, fmt.Sprintf("%q", Shown([]byte(c))))
	}
	if len(texts) == 0 {
		return "no columns"
	}
	return strings.Join(texts, ", ")
}

// LooptraceColumns are those of an export of a dataset, in their order.
var LooptraceColumns = []string{"key", "input", "reference_output", "metadata", "split", "tags", "source_run_id", "source_span_id"}

// ListOf writes a JSON list.
func ListOf(list []json.RawMessage) []byte {
	to := []byte{'['}
	for i, e := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, e...)
	}
	return append(to, ']')
}
