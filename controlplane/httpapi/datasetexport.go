package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// mediaTypes are those of exports.
var mediaTypes = map[contract.ExportDatasetParamsFormat]string{
	contract.ExportDatasetParamsFormatJsonl: "application/x-ndjson", contract.ExportDatasetParamsFormatCsv: "text/csv; charset=utf-8",
	contract.ExportDatasetParamsFormatParquet: "application/vnd.apache.parquet",
}

// ExportDataset streams the items of a revision.
func (h datasetHandlers) ExportDataset(ctx context.Context, req contract.ExportDatasetRequestObject) (contract.ExportDatasetResponseObject, error) {
	found, err := h.datasets.Get(ctx, grantOf(ctx), req.DatasetId)
	if err != nil {
		return nil, err
	}
	revision := valueOf(req.Params.Revision, found.Revision)
	return &datasetExport{
		datasetHandlers: h, ctx: ctx, grant: grantOf(ctx), dataset: found.ID, format: valueOf(req.Params.Format, contract.ExportDatasetParamsFormatJsonl),
		query: datasets.ItemsQuery{Revision: &revision, Split: valueOf(req.Params.Split, "")}, revision: revision,
	}, nil
}

// datasetExport is an answer whose items are read while it is sent.
type datasetExport struct {
	datasetHandlers
	ctx      context.Context
	grant    access.Grant
	dataset  uuid.UUID
	format   contract.ExportDatasetParamsFormat
	query    datasets.ItemsQuery
	revision int
}

// VisitExportDatasetResponse sends the export, as that of runs is sent.
func (e *datasetExport) VisitExportDatasetResponse(w http.ResponseWriter) error {
	if compressed, ok := w.(*gzipWriter); ok && e.format == contract.ExportDatasetParamsFormatParquet {
		w = compressed.ResponseWriter // it is compressed within
	}
	sent := &exportSink{
		request: callOf(e.ctx), w: w, connection: http.NewResponseController(w), mediaType: mediaTypes[e.format],
		name: fmt.Sprintf("dataset-%s-r%d.%s", e.dataset, e.revision, e.format),
	}
	return sent.send(e.ctx, e.log, e.write)
}

func (e *datasetExport) write(to *exportSink) error {
	buffer := bufio.NewWriterSize(to, exportBuffer)
	out, err := mapping.NewWriter(buffer, datasetfile.Format(e.format))
	if err != nil {
		return fmt.Errorf("begin export: %w", err)
	}
	if err := e.datasets.Export(e.ctx, e.grant, e.dataset, e.query, func(i *datasets.Item) error {
		if err := to.extend(); err != nil {
			return err
		}
		return out.Write(fileItemOf(i)) //nolint:wrapcheck // the sink does
	}); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("end export: %w", err)
	}
	if err := buffer.Flush(); err != nil {
		return fmt.Errorf("send export: %w", err)
	}
	return nil
}

func fileItemOf(i *datasets.Item) mapping.Item {
	item := mapping.Item{
		Key: i.Key, Input: json.RawMessage(i.Input), ReferenceOutput: json.RawMessage(i.ReferenceOutput), Metadata: json.RawMessage(i.Metadata),
		Split: i.Split, Tags: i.Tags, SourceSpanID: i.SourceSpanID,
	}
	if i.SourceRunID != nil {
		item.SourceRunID = new(i.SourceRunID.String())
	}
	return item
}
