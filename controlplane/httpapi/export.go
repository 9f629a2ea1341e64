package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/otlp"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// exportBuffer is the size of the buffer of an export.
const exportBuffer = 64 << 10

type exportHandlers struct {
	runs exporter
	log  *slog.Logger
}

type exporter interface {
	Export(ctx context.Context, in access.Projects, filter runs.Filter, run func(*runs.Run) error, span func(*runs.Span) error) error
}

// ExportRuns streams the runs that a filter selects.
func (h exportHandlers) ExportRuns(ctx context.Context, req contract.ExportRunsRequestObject) (contract.ExportRunsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	format := valueOf(req.Params.Format, contract.ExportRunsParamsFormatNdjson)
	return &export{
		exportHandlers: h, ctx: ctx, in: grantOf(ctx).Projects, filter: filter,
		format: format, withSpans: req.Params.Include != nil || format == contract.ExportRunsParamsFormatOtlpJson,
	}, nil
}

// export is an answer whose runs are read while it is sent.
type export struct {
	exportHandlers
	ctx       context.Context
	in        access.Projects
	filter    runs.Filter
	format    contract.ExportRunsParamsFormat
	withSpans bool
}

// exportWriter writes records in one format. Close ends the file.
type exportWriter interface {
	run(r *runs.Run) error
	span(s *runs.Span) error
	io.Closer
}

// otlpExport writes OTLP/JSON.
type otlpExport struct{ *otlp.Writer }

func (o otlpExport) run(r *runs.Run) error { return o.Run(r) }

func (o otlpExport) span(s *runs.Span) error { return o.Span(s) }

// VisitExportRunsResponse sends the export.
func (e *export) VisitExportRunsResponse(w http.ResponseWriter) error {
	mediaType, name := "application/x-ndjson", "runs.ndjson"
	switch e.format {
	case contract.ExportRunsParamsFormatNdjson:
	case contract.ExportRunsParamsFormatOtlpJson:
		name = "runs.otlp.jsonl"
	case contract.ExportRunsParamsFormatParquet:
		mediaType, name = "application/vnd.apache.parquet", "runs.parquet"
		if compressed, ok := w.(*gzipWriter); ok {
			w = compressed.ResponseWriter // it is compressed within
		}
	}
	sent := &exportSink{request: callOf(e.ctx), w: w, connection: http.NewResponseController(w), mediaType: mediaType, name: name}
	return sent.send(e.ctx, e.log, e.write)
}

func (e *export) write(to *exportSink) error {
	buffer := bufio.NewWriterSize(to, exportBuffer)
	var out exportWriter
	switch {
	case e.format == contract.ExportRunsParamsFormatParquet && e.withSpans:
		out = newParquetSpans(buffer)
	case e.format == contract.ExportRunsParamsFormatParquet:
		out = newParquetRuns(buffer)
	case e.format == contract.ExportRunsParamsFormatOtlpJson:
		out = otlpExport{otlp.NewWriter(buffer)}
	default:
		out = &ndjson{to: json.NewEncoder(buffer), named: e.withSpans}
	}
	var span func(*runs.Span) error
	if e.withSpans {
		span = out.span
	}
	run := func(r *runs.Run) error {
		if err := to.extend(); err != nil {
			return err
		}
		return out.run(r)
	}
	if err := e.runs.Export(e.ctx, e.in, e.filter, run, span); err != nil {
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

// exportSink writes to the connection. It sends the headers with the first byte and extends the deadlines with each write.
type exportSink struct {
	request         *call
	w               http.ResponseWriter
	connection      *http.ResponseController
	mediaType, name string
	begun           bool
}

// send writes the export. An error before the first byte is answered like any other. After that, it breaks the connection, so that
// no client takes a part for the whole.
func (s *exportSink) send(ctx context.Context, log *slog.Logger, write func(*exportSink) error) error {
	if err := s.extend(); err != nil {
		return err
	}
	err := write(s)
	if err != nil && s.begun {
		if ctx.Err() == nil {
			log.ErrorContext(ctx, "export broke off", "request_id", callOf(ctx).id, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	if err == nil {
		s.begin()
	}
	return err
}

func (s *exportSink) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", s.mediaType)
	s.w.Header().Set("Content-Disposition", `attachment; filename="`+s.name+`"`)
	s.w.WriteHeader(http.StatusOK)
}

func (s *exportSink) Write(p []byte) (int, error) {
	s.begin()
	if err := s.extend(); err != nil {
		return 0, err
	}
	n, err := s.w.Write(p)
	if err != nil {
		return n, fmt.Errorf("send export: %w", err)
	}
	return n, nil
}

// extend gives the connection more time than the server gives every request. It lifts the read deadline too: when that
// passes, the server assumes that the client is gone.
func (s *exportSink) extend() error {
	if err := s.connection.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("lift the read deadline: %w", err)
	}
	return s.request.extend(s.connection)
}

// ndjson writes one record per line. If named is set, each record has its kind in the member record.
type ndjson struct {
	to    *json.Encoder
	named bool
}

func (n *ndjson) run(r *runs.Run) error {
	record := runOf(r)
	if !n.named {
		return n.to.Encode(record)
	}
	return n.to.Encode(struct {
		Record string `json:"record"`
		contract.Run
	}{"run", record})
}

func (n *ndjson) span(s *runs.Span) error {
	record, err := spanOf(s, true)
	if err != nil {
		return err
	}
	return n.to.Encode(struct {
		Record string `json:"record"`
		contract.Span
	}{"span", record})
}

func (*ndjson) Close() error { return nil }
