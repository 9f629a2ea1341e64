package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/datasetfile"
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
		Mapping: mapping, Columns: make([]contract.ImportColumn, len(preview.Columns)), Rows: make([]contract.ImportPreviewRow, len(preview.Rows)),
		RowsRead: preview.RowsRead, Complete: preview.Complete,
	}
	if layout.Encoding != "" {
		answer.Encoding = new(contract.FileEncoding(layout.Encoding))
	}
	for i, c := range preview.Columns {
		answer.Columns[i] = contract.ImportColumn{Name: c.Name, Type: contract.ColumnType(c.Type), Filled: c.Filled, Kinds: c.Kinds, Examples: list(c.Examples)}
	}
	for i := range preview.Rows {
		if answer.Rows[i], err = previewRowOf(&preview.Rows[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func previewRowOf(p *datasetfile.PreviewRow) (contract.ImportPreviewRow, error) {
	shown := contract.ImportPreviewRow{Line: p.Line, Values: cellsOf(p.Cells), Errors: make([]contract.ImportError, len(p.Errors))}
	for i, e := range p.Errors {
		shown.Errors[i] = contract.ImportError{Line: p.Line, Column: known(e.Column), Reason: e.Reason, Value: known(e.Value)}
	}
	if p.Item == nil {
		return shown, nil
	}
	item := contract.DatasetItemWrite{
		Key: p.Item.Key, Input: p.Item.Input, ReferenceOutput: p.Item.ReferenceOutput, Metadata: p.Item.Metadata, Split: p.Item.Split, SourceSpanId: p.Item.SourceSpanID,
	}
	if p.Item.Tags != nil {
		item.Tags = &p.Item.Tags
	}
	if p.Item.SourceRunID != nil {
		item.SourceRunId = new(uuid.MustParse(*p.Item.SourceRunID)) // the service has read it
	}
	text, err := json.Marshal(item)
	if err != nil {
		return shown, fmt.Errorf("encode an item: %w", err)
	}
	shown.Item = new(json.RawMessage(text))
	return shown, nil
}

// cellsOf returns the cells as an object, in their order.
func cellsOf(cells []datasetfile.Cell) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, c := range cells {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(c.Column) // texts always encode
		out.Write(name)
		out.WriteByte(':')
		if len(c.Value) == 0 {
			out.WriteString("null")
		}
		out.Write(c.Value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
