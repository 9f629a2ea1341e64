package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// PreviewImport answers what an import would make of a file.
func (h datasetHandlers) PreviewImport(ctx context.Context, req contract.PreviewImportRequestObject) (contract.PreviewImportResponseObject, error) {
	p := &req.Params
	preview, err := h.datasets.PreviewImport(ctx, grantOf(ctx), req.DatasetId, datasets.Upload{
		FileName: p.FileName, MediaType: callOf(ctx).mediaType, Format: string(valueOf(p.Format, "")), Encoding: string(valueOf(p.Encoding, "")),
		Delimiter: valueOf(p.Delimiter, ""), Header: p.Header, Sheet: valueOf(p.Sheet, ""), Mapping: valueOf(p.Mapping, ""),
	}, req.Body, valueOf(p.Partial, false), callOf(ctx).begin)
	if err != nil {
		return nil, err
	}
	mapping, err := json.Marshal(preview.Mapping)
	if err != nil {
		return nil, fmt.Errorf("encode the mapping: %w", err)
	}
	layout := preview.Layout
	answer := contract.PreviewImport200JSONResponse{
		Format: contract.FileFormat(layout.Format), Delimiter: known(layout.Delimiter), Header: layout.Header, Sheet: known(layout.Sheet), Sheets: list(layout.Sheets),
		Mapping: mapping, Columns: make([]contract.ImportColumn, len(preview.Columns)), Rows: []contract.ImportPreviewRow{},
		RowsRead: preview.RowsRead, Complete: preview.Complete,
	}
	if layout.Encoding != "" {
		answer.Encoding = new(contract.FileEncoding(layout.Encoding))
	}
	for i, c := range preview.Columns {
		answer.Columns[i] = contract.ImportColumn{Name: c.Name, Type: contract.ColumnType(c.Type), Filled: c.Filled, Kinds: c.Kinds, Examples: list(c.Examples)}
	}
	budget := maxPreviewBytes
	for i := range preview.Rows {
		shown, err := previewRowOf(&preview.Rows[i])
		if err != nil {
			return nil, err
		}
		budget -= len(shown.Values)
		if shown.Item != nil {
			budget -= len(*shown.Item)
		}
		if budget < 0 && i > 0 {
			answer.Partial = true
			break
		}
		answer.Partial = answer.Partial || shown.Partial
		answer.Rows = append(answer.Rows, shown)
	}
	return answer, nil
}

const (
	// maxPreviewBytes is how much of a file is shown, but for its first row.
	maxPreviewBytes = 1 << 20
	// maxShownBytes is how much is shown of a value.
	maxShownBytes = 2 << 10
)

// cutter cuts long values, and notes that it did.
type cutter struct{ cut bool }

// value returns a value, or a text with its beginning.
func (c *cutter) value(v json.RawMessage) json.RawMessage {
	if len(v) <= maxShownBytes {
		return v
	}
	c.cut = true
	beginning := []byte(v[:maxShownBytes])
	if v[0] == '"' {
		beginning = beginning[1:]
		if at := bytes.LastIndexByte(beginning, '\\'); at >= 0 && at > len(beginning)-6 {
			beginning = beginning[:at] // an escape that may be cut
		}
		var text string
		whole := append(append([]byte{'"'}, bytes.ToValidUTF8(beginning, nil)...), '"')
		if json.Unmarshal(whole, &text) == nil {
			beginning = []byte(text)
		}
	}
	text, _ := json.Marshal(string(bytes.ToValidUTF8(beginning, nil)) + "…") // texts always encode
	return text
}

// object is value for an object, which stays one.
func (c *cutter) object(v json.RawMessage) json.RawMessage {
	if len(v) <= maxShownBytes {
		return v
	}
	return append(append([]byte(`{"…":`), c.value(v)...), '}')
}

func previewRowOf(p *mapping.PreviewRow) (contract.ImportPreviewRow, error) {
	var c cutter
	shown := contract.ImportPreviewRow{Line: p.Line, Values: cellsOf(p.Cells, &c), Errors: make([]contract.ImportError, len(p.Errors))}
	for i, e := range p.Errors {
		shown.Errors[i] = contract.ImportError{Line: p.Line, Column: known(e.Column), Reason: e.Reason, Value: known(e.Value)}
	}
	if p.Item == nil {
		shown.Partial = c.cut
		return shown, nil
	}
	item := contract.DatasetItemWrite{
		Key: p.Item.Key, Input: c.value(p.Item.Input), ReferenceOutput: c.value(p.Item.ReferenceOutput), Metadata: c.object(p.Item.Metadata), Split: p.Item.Split, SourceSpanId: p.Item.SourceSpanID,
	}
	if p.Item.Tags != nil {
		item.Tags = &p.Item.Tags
	}
	if p.Item.SourceRunID != nil {
		item.SourceRunId = new(uuid.MustParse(*p.Item.SourceRunID)) // the service has read it
	}
	shown.Partial = c.cut
	text, err := json.Marshal(item)
	if err != nil {
		return shown, fmt.Errorf("encode an item: %w", err)
	}
	shown.Item = new(json.RawMessage(text))
	return shown, nil
}

// cellsOf returns the cells as an object, in their order. Long ones are cut.
func cellsOf(cells []datasetfile.Cell, c *cutter) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, cell := range cells {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(cell.Column) // texts always encode
		out.Write(name)
		out.WriteByte(':')
		if len(cell.Value) == 0 {
			out.WriteString("null")
		}
		out.Write(c.value(cell.Value))
	}
	out.WriteByte('}')
	return out.Bytes()
}
