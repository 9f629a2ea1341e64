package runsreceiver

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/otlpwire"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// maxDepth is how deep a body may nest, in each of its forms.
const maxDepth = 200

// data is what a request holds, decoded.
type data interface {
	// size is the number of spans, log records or data points.
	size() int
	// consume passes the data to the next consumer of its signal.
	consume(ctx context.Context, r *runsReceiver, format string) error
}

type traceData struct{ ptrace.Traces }

func (d traceData) size() int { return d.SpanCount() }

func (d traceData) consume(ctx context.Context, r *runsReceiver, format string) error {
	n := d.size()
	ctx = r.report.StartTracesOp(ctx)
	err := r.traces.ConsumeTraces(ctx, d.Traces)
	r.report.EndTracesOp(ctx, format, n, err)
	return err
}

type logData struct{ plog.Logs }

func (d logData) size() int { return d.LogRecordCount() }

func (d logData) consume(ctx context.Context, r *runsReceiver, format string) error {
	n := d.size()
	ctx = r.report.StartLogsOp(ctx)
	err := r.logs.ConsumeLogs(ctx, d.Logs)
	r.report.EndLogsOp(ctx, format, n, err)
	return err
}

type metricData struct{ pmetric.Metrics }

func (d metricData) size() int { return d.DataPointCount() }

func (d metricData) consume(ctx context.Context, r *runsReceiver, format string) error {
	n := d.size()
	ctx = r.report.StartMetricsOp(ctx)
	err := r.metrics.ConsumeMetrics(ctx, d.Metrics)
	r.report.EndMetricsOp(ctx, format, n, err)
	return err
}

// signal is what differs between the signals of OTLP.
type signal struct {
	// protoFormat and jsonFormat are the names of its encodings in the Collector's metrics.
	protoFormat, jsonFormat string
	// rejected is the name of the count in a partial_success.
	rejected string
	// copies is how often the decoded data are in memory at once.
	copies int64

	weighProto func(body []byte, maxDepth int, limit int64) (int64, error)
	readProto  func(body []byte) (data, error)
	readJSON   func(body []byte) (data, error)
}

// signals are the signals of OTLP by route.
var signals = map[string]*signal{
	routeTraces: {
		protoFormat: "otlp_proto", jsonFormat: "otlp_json", rejected: "rejectedSpans", copies: 1,
		weighProto: func(body []byte, maxDepth int, limit int64) (int64, error) {
			seen, err := otlpwire.Scan(body, maxDepth, limit)
			return seen.Weight, err
		},
		readProto: func(body []byte) (data, error) {
			req := ptraceotlp.NewExportRequest()
			err := req.UnmarshalProto(body)
			return traceData{req.Traces()}, err
		},
		readJSON: func(body []byte) (data, error) {
			req := ptraceotlp.NewExportRequest()
			err := req.UnmarshalJSON(body)
			return traceData{req.Traces()}, err
		},
	},
	routeLogs: {
		protoFormat: "otlp_logs_proto", jsonFormat: "otlp_logs_json", rejected: "rejectedLogRecords",
		copies:     2, // the records, and the spans that are made of them
		weighProto: otlpwire.WeighLogs,
		readProto: func(body []byte) (data, error) {
			req := plogotlp.NewExportRequest()
			err := req.UnmarshalProto(body)
			return logData{req.Logs()}, err
		},
		readJSON: func(body []byte) (data, error) {
			req := plogotlp.NewExportRequest()
			err := req.UnmarshalJSON(body)
			return logData{req.Logs()}, err
		},
	},
	routeMetrics: {
		protoFormat: "otlp_metrics_proto", jsonFormat: "otlp_metrics_json", rejected: "rejectedDataPoints", copies: 1,
		weighProto: otlpwire.WeighMetrics,
		readProto: func(body []byte) (data, error) {
			req := pmetricotlp.NewExportRequest()
			err := req.UnmarshalProto(body)
			return metricData{req.Metrics()}, err
		},
		readJSON: func(body []byte) (data, error) {
			req := pmetricotlp.NewExportRequest()
			err := req.UnmarshalJSON(body)
			return metricData{req.Metrics()}, err
		},
	},
}

// otlpFormat is OTLP of one signal in one of two encodings.
type otlpFormat struct {
	*signal
	mediaType string
}

func (f *otlpFormat) name() string {
	if f.mediaType == typeProtobuf {
		return f.protoFormat
	}
	return f.jsonFormat
}

func (f *otlpFormat) decode(body []byte, held *charge, report *partialsuccess.Report) (data, error) {
	weigh, read := f.weighProto, f.readProto
	if f.mediaType == typeJSON {
		weigh, read = weighJSON, f.readJSON
	}
	weight, err := weigh(body, maxDepth, held.in.budget)
	if err != nil {
		return nil, refusalOfShape(err)
	}
	if err := held.grow(f.copies * weight); err != nil {
		return nil, err
	}
	if f.mediaType == typeJSON {
		body = dropNulls(body)
	}
	d, err := read(body)
	if err != nil {
		return nil, err
	}
	if td, ok := d.(traceData); ok {
		report.Reject(runpdata.DropUnstorable(td.Traces))
		report.Warn(wrongClocks(td.Traces))
	}
	return d, nil
}

// wrongClocks counts the spans with wrong times, and names the first.
func wrongClocks(td ptrace.Traces) string {
	n, first := 0, ""
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				wrong := runmodel.WrongClock(uint64(span.StartTimestamp()), uint64(span.EndTimestamp()))
				if wrong == "" {
					continue
				}
				if n++; first == "" {
					first = fmt.Sprintf("span %s of trace %s: %s", span.SpanID(), span.TraceID(), wrong)
				}
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Stored, but lists may not show the runs of spans with wrong times: check the clock and the unit of what sends them. There are %d. The first is %s.", n, first)
}

// accepted answers without partial_success if all was accepted, as OTLP wants it.
func (f *otlpFormat) accepted(_ string, report *partialsuccess.Report) (string, []byte) {
	count, message := report.Rejected()
	switch {
	case f.mediaType == typeJSON && message == "":
		return typeJSON, []byte("{}")
	case f.mediaType == typeJSON:
		return typeJSON, partialsuccess.MarshalJSON(f.rejected, count, message)
	case message == "":
		return typeProtobuf, nil
	}
	return typeProtobuf, partialsuccess.MarshalProto(count, message)
}

// passthroughFormat is OTLP traces in protobuf that are passed on unchanged, unless something in them may have to be
// dropped or refused.
type passthroughFormat struct{ otlpFormat }

func (f *passthroughFormat) decode(body []byte, held *charge, report *partialsuccess.Report) (data, error) {
	seen, err := otlpwire.Scan(body, maxDepth, held.in.budget)
	if err != nil {
		return nil, refusalOfShape(err)
	}
	if !seen.Regular || !seen.Identified || seen.LastTime > runmodel.MaxTimestamp || seen.Exceeds || seen.WrongClock {
		return f.otlpFormat.decode(body, held, report)
	}
	if err := held.grow(seen.Weight); err != nil {
		return nil, err
	}
	return traceData{otlpwire.Passthrough(body, seen.Spans)}, nil
}

// weighJSON walks an OTLP/JSON body without decoding it, and estimates the memory that its content takes.
func weighJSON(body []byte, maxDepth int, limit int64) (int64, error) {
	r := jsonpull.NewReader(body, maxDepth, limit)
	kind := r.Kind()
	r.Text()
	r.End()
	if err := r.Err(); err != nil {
		return 0, err
	}
	if kind != jsonpull.Object {
		return 0, errors.New("expected a JSON object")
	}
	return r.Weight(), nil
}

// refusalOfShape converts an error of otlpwire for the client.
func refusalOfShape(err error) error {
	switch {
	case errors.Is(err, otlpwire.ErrDepth):
		return jsonpull.ErrDepth
	case errors.Is(err, otlpwire.ErrDense):
		return &bodyTooDense
	}
	return err
}
