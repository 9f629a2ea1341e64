// Package reading opens files of rows and reads them row by row. It finds the format and the encoding, reads CSV, JSONL,
// JSON and YAML itself, and Parquet and XLSX by package sheet.
package reading

import (
	"errors"
	"fmt"
	"io"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/sheet"
)

// File is an open file.
type File struct {
	rows   datasetfile.Rows
	layout datasetfile.Layout
	// err is why the file cannot be read further.
	err error
}

// Open opens a file. A *FileError says why it cannot be read; other errors are those of the source.
func Open(src datasetfile.Source, o datasetfile.Options) (*File, error) {
	head, err := readHead(src)
	if err != nil {
		return nil, err
	}
	if len(head) == 0 {
		return nil, datasetfile.FileErrorf("the file is empty")
	}
	if o.Format == "" {
		if o.Format, err = DetectFormat("", "", head); err != nil {
			return nil, err
		}
	}
	f := &File{layout: datasetfile.Layout{Format: o.Format}}
	switch o.Format {
	case datasetfile.CSV, datasetfile.JSONL, datasetfile.JSON, datasetfile.YAML:
		err = f.openText(src, o, head)
	case datasetfile.Parquet, datasetfile.XLSX:
		if o.Partial {
			return nil, datasetfile.FileErrorf("a beginning of a file of the format %s cannot be read: its directory is at its end; give the whole file", o.Format)
		}
		err = datasetfile.Guard("open the file", func() error { return f.openBinary(src, o, head) })
	default:
		return nil, datasetfile.FileErrorf("the format %q is not known: use csv, jsonl, json, yaml, parquet or xlsx", datasetfile.Shown([]byte(o.Format)))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func readHead(src datasetfile.Source) ([]byte, error) {
	head := make([]byte, min(datasetfile.HeadSize, max(src.Size(), 0)))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return head[:n], nil
}

func (f *File) openText(src datasetfile.Source, o datasetfile.Options, head []byte) error {
	if what, remedy := foreign(head); what != "" {
		return datasetfile.FileErrorf("the file is %s, not %s: %s", what, o.Format, remedy)
	}
	t, err := datasetfile.OpenText(src, o.Encoding, head)
	if err != nil {
		return err
	}
	f.layout.Encoding = t.Encoding
	switch o.Format {
	case datasetfile.CSV:
		f.rows, err = openCSV(t, o, &f.layout)
	case datasetfile.JSONL:
		f.rows, err = openJSONL(t, o)
	case datasetfile.YAML:
		err = datasetfile.Guard("read the file as YAML", func() (err error) {
			f.rows, err = openYAML(t, o)
			return err
		})
	default:
		f.rows, err = openJSON(t, o)
	}
	return err
}

func (f *File) openBinary(src datasetfile.Source, o datasetfile.Options, head []byte) (err error) {
	if what, remedy := foreign(head); what != "" && what != whatParquet && what != whatXLSX {
		return datasetfile.FileErrorf("the file is %s, not %s: %s", what, o.Format, remedy)
	}
	if o.Format == datasetfile.Parquet {
		f.rows, err = sheet.OpenParquet(src)
		return err
	}
	f.rows, err = sheet.OpenXLSX(src, o, &f.layout)
	return err
}

// Layout returns what was used to read the file.
func (f *File) Layout() datasetfile.Layout { return f.layout }

// Columns returns the columns that the file declares, in their order. It is nil for JSONL, JSON and YAML, whose rows have
// members of their own.
func (f *File) Columns() []string { return f.rows.Columns() }

// Next returns the next row, and io.EOF after the last. After a *RowError the rows that follow can be read; every other
// error stays.
func (f *File) Next() (datasetfile.Row, error) {
	if f.err != nil {
		return datasetfile.Row{}, f.err
	}
	row, err := f.rows.Next()
	var bad *datasetfile.RowError
	if err != nil && !errors.As(err, &bad) {
		f.err = err
	}
	return row, err
}

// Offset returns how many bytes of the source were read. It runs ahead of the rows by the size of a buffer.
func (f *File) Offset() int64 { return f.rows.Offset() }

// Close releases what the file holds. It does not close the source.
func (f *File) Close() error { return f.rows.Close() }
