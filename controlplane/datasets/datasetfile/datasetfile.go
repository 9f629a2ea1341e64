package datasetfile

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	JSON    Format = "json"
	YAML    Format = "yaml"
	Parquet Format = "parquet"
	XLSX    Format = "xlsx"
)

// The encodings of text.
const (
	UTF8        = "utf-8"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Windows1252 = "windows-1252"
)

// Limits of a row and of what is looked at to find the properties of a file.
const (
	MaxRow     = 16 << 20
	MaxColumns = 16_384
	MaxDepth   = 1000
	HeadSize   = 64 << 10
)

// Source is a file. Text is read from it front to back in pieces of 256 KiB or more.
type Source interface {
	io.ReaderAt
	Size() int64
}

// Options say how to read a file. What is empty is found in the file.
type Options struct {
	Format Format
	// Encoding is one of text. Windows-1252 is never found.
	Encoding string
	// Delimiter is that of CSV, one character.
	Delimiter string
	// Header is whether the first row of CSV or XLSX has the names of the columns. Nil is true.
	Header *bool
	// Sheet is that of XLSX. Empty is the first.
	Sheet string
	// Partial says that the source is only the beginning of the file. Its last row, which may be cut, is left out.
	Partial bool
}

// Layout is what was used to read a file. What does not apply to the format is empty.
type Layout struct {
	Format    Format
	Encoding  string
	Delimiter string
	Header    *bool
	Sheet     string
	Sheets    []string
}

// Row is a row as it is in the file.
type Row struct {
	// Line is the line at which the row begins; in Parquet and XLSX the number of the row.
	Line  int64
	Cells []Cell
}

// Cell is a value of a row, as JSON. Texts of CSV and XLSX are strings; an empty cell is null. Numbers have the digits
// that they have in the file.
type Cell struct {
	Column string
	Value  json.RawMessage
}

// RowError is the error of one bad row. Those after it can be read.
type RowError struct {
	Line   int64
	Fields []FieldError
}

func (e *RowError) Error() string {
	reasons := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		reasons[i] = f.Error()
	}
	return fmt.Sprintf("line %d: %s", e.Line, strings.Join(reasons, "; "))
}

// FieldError is what is wrong with a row.
type FieldError struct {
	// Column is empty if it concerns the whole row.
	Column string
	// Reason says what is wrong and what would be right.
	Reason string
	// Value is the beginning of what was refused, at most 200 bytes of UTF-8.
	Value string
}

func (e FieldError) Error() string {
	if e.Column == "" {
		return e.Reason
	}
	return e.Column + ": " + e.Reason
}

// FileError is what makes a file unreadable, from here on.
type FileError struct{ Detail string }

func (e *FileError) Error() string { return e.Detail }

// FileErrorf makes an error of a whole file.
func FileErrorf(format string, args ...any) error {
	return &FileError{fmt.Sprintf(format, args...)}
}

// RowErrorf makes an error of a row.
func RowErrorf(line int64, value []byte, format string, args ...any) error {
	return &RowError{line, []FieldError{{Reason: fmt.Sprintf(format, args...), Value: Shown(value)}}}
}

// MaxShown is the size of the values that errors and previews show.
const MaxShown = 200

// Shown returns the beginning of a value, with U+FFFD for what is no UTF-8.
func Shown(value []byte) string {
	if len(value) > MaxShown {
		value = value[:MaxShown]
		// A character that the limit cuts is left out.
		for i := 1; i < utf8.UTFMax && i <= len(value); i++ {
			if c := value[len(value)-i]; utf8.RuneStart(c) {
				if !utf8.FullRune(value[len(value)-i:]) {
					value = value[:len(value)-i]
				}
				break
			}
		}
	}
	text := utf8text.Storable(string(value))
	for len(text) > MaxShown {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// Rows reads the rows of a format.
type Rows interface {
	Next() (Row, error)
	// Columns are those that the file declares, or nil.
	Columns() []string
	// Offset is how much of the source was read.
	Offset() int64
	Close() error
}

// Guard makes an error of a panic: libraries that decode files may panic if these are damaged.
func Guard(doing string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = FileErrorf("%s: it is damaged (%v); write it again", doing, r)
		}
	}()
	return do()
}
