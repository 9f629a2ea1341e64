package mapping

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// Writer writes items as a file of the shape [Looptrace], which reads back to the same items. An absent reference output
// is null, and absent metadata are an object without members, as in a dataset.
type Writer interface {
	Write(items ...Item) error
	// Close writes the end of the file. It does not close what the file is written to.
	Close() error
}

// NewWriter returns a writer of JSONL, CSV or Parquet.
func NewWriter(to io.Writer, format datasetfile.Format) (Writer, error) {
	switch format {
	case datasetfile.JSONL:
		return &jsonlWriter{to: to}, nil
	case datasetfile.CSV:
		w := &csvWriter{csv.NewWriter(to)}
		if err := w.to.Write(datasetfile.LooptraceColumns); err != nil {
			return nil, fmt.Errorf("write CSV: %w", err)
		}
		return w, nil
	case datasetfile.Parquet:
		return &parquetWriter{to: parquet.NewGenericWriter[parquetItem](to,
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}), parquet.CreatedBy("looptrace", "", ""))}, nil
	}
	return nil, fmt.Errorf("files of the format %q are not written: use jsonl, csv or parquet", format)
}

// written is an item as JSON texts, in the order of looptraceColumns.
type written struct {
	input, referenceOutput, metadata, tags []byte
}

func writtenOf(item Item) (w written, err error) {
	for _, part := range []struct {
		to      *[]byte
		value   json.RawMessage
		without string
	}{
		{&w.input, item.Input, "null"}, {&w.referenceOutput, item.ReferenceOutput, "null"}, {&w.metadata, item.Metadata, "{}"},
	} {
		var compact bytes.Buffer
		if len(part.value) == 0 {
			part.value = json.RawMessage(part.without)
		}
		if err := json.Compact(&compact, part.value); err != nil {
			return w, fmt.Errorf("write an item: %w", err)
		}
		*part.to = compact.Bytes()
	}
	tags := make([]json.RawMessage, len(item.Tags))
	for i, tag := range item.Tags {
		tags[i] = datasetfile.Quoted(tag)
	}
	w.tags = datasetfile.ListOf(tags)
	return w, nil
}

type jsonlWriter struct{ to io.Writer }

func (j *jsonlWriter) Write(items ...Item) error {
	for _, item := range items {
		w, err := writtenOf(item)
		if err != nil {
			return err
		}
		line := datasetfile.AppendObject(nil, []datasetfile.Cell{
			{Column: "key", Value: optionalText(item.Key)},
			{Column: "input", Value: w.input},
			{Column: "reference_output", Value: w.referenceOutput},
			{Column: "metadata", Value: w.metadata},
			{Column: "split", Value: optionalText(item.Split)},
			{Column: "tags", Value: w.tags},
			{Column: "source_run_id", Value: optionalText(item.SourceRunID)},
			{Column: "source_span_id", Value: optionalText(item.SourceSpanID)},
		})
		if _, err := j.to.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write JSONL: %w", err)
		}
	}
	return nil
}

func optionalText(text *string) json.RawMessage {
	if text == nil {
		return datasetfile.Null
	}
	return datasetfile.Quoted(*text)
}

func (*jsonlWriter) Close() error { return nil }

type csvWriter struct{ to *csv.Writer }

func (c *csvWriter) Write(items ...Item) error {
	for _, item := range items {
		w, err := writtenOf(item)
		if err != nil {
			return err
		}
		if err := c.to.Write([]string{
			cell(item.Key), string(w.input), string(w.referenceOutput), string(w.metadata), cell(item.Split), string(w.tags),
			cell(item.SourceRunID), cell(item.SourceSpanID),
		}); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	return nil
}

// cell is a text, or an empty cell. Keys, splits and sources are never empty.
func cell(text *string) string {
	if text == nil {
		return ""
	}
	return datasetfile.TextCell(*text)
}

func (c *csvWriter) Close() error {
	c.to.Flush()
	if err := c.to.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// parquetItem is a row of Parquet. Input, reference output, metadata and tags are JSON texts.
type parquetItem struct {
	Key             *string `parquet:"key,optional"`
	Input           string  `parquet:"input"`
	ReferenceOutput string  `parquet:"reference_output"`
	Metadata        string  `parquet:"metadata"`
	Split           *string `parquet:"split,optional,dict"`
	Tags            string  `parquet:"tags,dict"`
	SourceRunID     *string `parquet:"source_run_id,optional"`
	SourceSpanID    *string `parquet:"source_span_id,optional"`
}

// Bounds of a row group, which is held in memory until it is written.
const (
	groupRows  = 10_000
	groupBytes = 32 << 20
)

type parquetWriter struct {
	to          *parquet.GenericWriter[parquetItem]
	rows, bytes int
}

func (p *parquetWriter) Write(items ...Item) error {
	for _, item := range items {
		w, err := writtenOf(item)
		if err != nil {
			return err
		}
		row := parquetItem{
			item.Key, string(w.input), string(w.referenceOutput), string(w.metadata), item.Split, string(w.tags), item.SourceRunID, item.SourceSpanID,
		}
		if _, err := p.to.Write([]parquetItem{row}); err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}
		p.rows++
		p.bytes += len(row.Input) + len(row.ReferenceOutput) + len(row.Metadata)
		if p.rows < groupRows && p.bytes < groupBytes {
			continue
		}
		p.rows, p.bytes = 0, 0
		if err := p.to.Flush(); err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}
	}
	return nil
}

func (p *parquetWriter) Close() error {
	if err := p.to.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}
