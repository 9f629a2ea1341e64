package runsreceiver

import (
	"context"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/otlpwire"
)

// logsFormat is OTLP logs in one of two encodings. Records with GenAI events become versions of the spans that they
// name, and are handled like spans. Other records are dropped.
type logsFormat struct {
	mediaType string
	weigh     func(body []byte, limit int64) (int64, error)
	unmarshal func(body []byte) (plog.Logs, error)
	marshal   func(plogotlp.ExportResponse) ([]byte, error)

	counts  genailogs.Counts
	dropped dropped
}

func (f *logsFormat) name() string {
	if f.mediaType == typeProtobuf {
		return "otlp_logs_proto"
	}
	return "otlp_logs_json"
}

func (f *logsFormat) decode(body []byte, held *charge) (ptrace.Traces, error) {
	weight, err := f.weigh(body, held.in.budget)
	if err != nil {
		return ptrace.Traces{}, err
	}
	const copies = 2 // the records, and the spans that are made of them
	if err := held.grow(copies * weight); err != nil {
		return ptrace.Traces{}, err
	}
	ld, err := f.unmarshal(body)
	if err != nil {
		return ptrace.Traces{}, err
	}
	var td ptrace.Traces
	td, f.counts = genailogs.ToSpans(ld)
	f.dropped = dropUnstorable(td)
	return td, nil
}

// accepted reports events that can never be joined to a span: the client is set up in a way that loses them.
func (f *logsFormat) accepted(string) (string, []byte) {
	resp := plogotlp.NewExportResponse()
	switch {
	default:
		return f.mediaType, allAccepted(f.mediaType)
	case f.counts.NoSpan > 0:
		resp.PartialSuccess().SetRejectedLogRecords(f.counts.NoSpan)
		resp.PartialSuccess().SetErrorMessage("GenAI events without a trace id and a span id belong to no span, and are not stored. " +
			"Some clients send such events although their tracing is on: what their spans say is stored. Else turn on the tracing.")
	case f.dropped.spans > 0:
		resp.PartialSuccess().SetRejectedLogRecords(f.dropped.spans)
		resp.PartialSuccess().SetErrorMessage(f.dropped.first)
	}
	body, err := f.marshal(resp)
	if err != nil {
		body = nil // a number and a text always marshal
	}
	return f.mediaType, body
}

func (f *logsFormat) rejected() int64 { return f.dropped.spans }

// countRecords counts log records by what became of them.
func (r *runsReceiver) countRecords(ctx context.Context, counts genailogs.Counts) {
	for outcome, n := range counts.ByOutcome() {
		if n > 0 {
			r.telemetry.ReceiverRunsLogRecords.Add(ctx, n, metric.WithAttributeSet(attribute.NewSet(attribute.String("record", outcome))))
		}
	}
}

func weighLogsProto(body []byte, limit int64) (int64, error) {
	weight, err := otlpwire.WeighLogs(body, maxDepth, limit)
	return weight, refusalOfShape(err)
}

func unmarshalLogsProto(body []byte) (plog.Logs, error) {
	req := plogotlp.NewExportRequest()
	err := req.UnmarshalProto(body)
	return req.Logs(), err
}

func unmarshalLogsJSON(body []byte) (plog.Logs, error) {
	req := plogotlp.NewExportRequest()
	err := req.UnmarshalJSON(dropNulls(body))
	return req.Logs(), err
}
