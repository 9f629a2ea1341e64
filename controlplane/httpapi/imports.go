package httpapi

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/postgres"
)

// ListImports lists the imports into a dataset.
func (h datasetHandlers) ListImports(ctx context.Context, req contract.ListImportsRequestObject) (contract.ListImportsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.datasets.Imports(ctx, grantOf(ctx), req.DatasetId, page)
	if err != nil {
		return nil, err
	}
	list := make([]contract.Import, len(found))
	for i := range found {
		list[i] = importOf(&found[i])
	}
	return contract.ListImports200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateImport stores the file of the body and queues its import.
func (h datasetHandlers) CreateImport(ctx context.Context, req contract.CreateImportRequestObject) (contract.CreateImportResponseObject, error) {
	p := &req.Params
	upload := datasets.Upload{
		FileName: p.FileName, MediaType: callOf(ctx).mediaType, Format: string(valueOf(p.Format, "")), Encoding: string(valueOf(p.Encoding, "")),
		Delimiter: valueOf(p.Delimiter, ""), Header: p.Header, Sheet: valueOf(p.Sheet, ""), Mapping: valueOf(p.Mapping, ""),
		Mode: datasets.Mode(valueOf(p.Mode, contract.DatasetWriteModeAppend)), OnError: string(valueOf(p.OnError, contract.ImportOnErrorReject)),
		Dedupe: p.Dedupe != nil, BaseRevision: p.BaseRevision, Note: valueOf(p.Note, ""),
	}
	if p.MaxRemoved != nil {
		upload.MaxRemoved = new(int64(*p.MaxRemoved))
	}
	started, err := h.datasets.StartImport(ctx, grantOf(ctx), req.DatasetId, upload, req.Body)
	if err != nil {
		return nil, err
	}
	location := "/v1/imports/" + started.ID.String()
	return contract.CreateImport201JSONResponse{Body: importOf(&started), Headers: contract.CreateImport201ResponseHeaders{Location: &location}}, nil
}

// GetImport reads an import.
func (h datasetHandlers) GetImport(ctx context.Context, req contract.GetImportRequestObject) (contract.GetImportResponseObject, error) {
	found, err := h.datasets.Import(ctx, grantOf(ctx), req.ImportId)
	if err != nil {
		return nil, err
	}
	return contract.GetImport200JSONResponse(importOf(&found)), nil
}

// CancelImport cancels an import.
func (h datasetHandlers) CancelImport(ctx context.Context, req contract.CancelImportRequestObject) (contract.CancelImportResponseObject, error) {
	cancelled, err := h.datasets.CancelImport(ctx, grantOf(ctx), req.ImportId)
	if err != nil {
		return nil, err
	}
	return contract.CancelImport200JSONResponse(importOf(&cancelled)), nil
}

// ListImportErrors lists the rejected rows of an import.
func (h datasetHandlers) ListImportErrors(ctx context.Context, req contract.ListImportErrorsRequestObject) (contract.ListImportErrorsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	asCSV := valueOf(req.Params.Format, contract.ListImportErrorsParamsFormatJson) == contract.ListImportErrorsParamsFormatCsv
	if asCSV {
		page = postgres.Page{Limit: datasets.MaxImportErrors}
	}
	found, rejected, more, err := h.datasets.ImportErrors(ctx, grantOf(ctx), req.ImportId, page)
	if err != nil {
		return nil, err
	}
	if asCSV {
		file, err := errorsFile(rejected)
		if err != nil {
			return nil, err
		}
		return contract.ListImportErrors200TextcsvResponse{Body: file, ContentLength: int64(file.Len())}, nil
	}
	list := make([]contract.ImportError, len(rejected))
	for i, e := range rejected {
		list[i] = contract.ImportError{Line: e.Line, Column: e.ColumnName, Reason: e.Reason, Value: e.Value}
	}
	return contract.ListImportErrors200JSONResponse{
		Data: list, Rejected: found.Rejected, ErrorsKept: found.ErrorsKept, Limit: page.Limit, Offset: page.Offset, HasMore: more,
	}, nil
}

// errorsFile writes rejected rows as CSV.
func errorsFile(rejected []datasets.ImportError) (*bytes.Buffer, error) {
	file := &bytes.Buffer{}
	out := csv.NewWriter(file)
	records := [][]string{{"line", "column", "reason", "value"}}
	for _, e := range rejected {
		records = append(records, []string{
			strconv.FormatInt(e.Line, 10), datasetfile.TextCell(valueOf(e.ColumnName, "")), datasetfile.TextCell(e.Reason), datasetfile.TextCell(valueOf(e.Value, "")),
		})
	}
	if err := out.WriteAll(records); err != nil {
		return nil, fmt.Errorf("write the errors: %w", err)
	}
	return file, nil
}

func importOf(i *datasets.Import) contract.Import {
	answer := contract.Import{
		Id: i.ID, ProjectId: i.ProjectID, DatasetId: i.DatasetID, Status: contract.ImportStatus(i.Status), FileName: i.FileName,
		SizeBytes: i.SizeBytes, BytesRead: i.BytesRead, Mode: contract.DatasetWriteMode(i.Mode),
		OnError: contract.ImportOnError(i.OnError), Dedupe: i.Dedupe, Total: i.Total, Processed: i.Processed, Added: i.Added, Updated: i.Updated,
		Removed: i.Removed, Unchanged: i.Unchanged, Rejected: i.Rejected, ErrorsKept: i.ErrorsKept, Revision: i.Revision, Note: i.Note,
		CreatedBy: contract.Author{Email: i.AuthorEmail, Key: i.AuthorKey}, CreatedAt: i.CreatedAt.UTC(), StartedAt: utc(i.StartedAt), FinishedAt: utc(i.FinishedAt),
	}
	if i.Format != nil {
		answer.Format = new(contract.FileFormat(*i.Format))
	}
	if i.Phase != nil {
		answer.Phase = new(contract.ImportPhase(*i.Phase))
	}
	if i.Mapping != nil {
		answer.Mapping = new(json.RawMessage(*i.Mapping))
	}
	if i.ErrorCode != nil {
		answer.Error = &contract.ImportFailure{Code: *i.ErrorCode, Detail: valueOf(i.ErrorDetail, "")}
	}
	return answer
}
