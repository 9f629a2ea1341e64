package runsreceiver

import (
	"cmp"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/otlpwire"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// maxDepth is how deep a body may nest, in each of its forms.
const maxDepth = 200

// otlpFormat is OTLP in one of its two encodings.
type otlpFormat struct {
	mediaType string
	// weigh checks the shape of a body and estimates the memory that its spans take.
	weigh     func(body []byte, limit int64) (int64, error)
	unmarshal func(body []byte) (ptrace.Traces, error)
	marshal   func(ptraceotlp.ExportResponse) ([]byte, error)

	dropped dropped
	// clock says what is wrong with the times of spans that are stored, empty if nothing is.
	clock string
}

func (f *otlpFormat) name() string {
	if f.mediaType == typeProtobuf {
		return "otlp_proto"
	}
	return "otlp_json"
}

func (f *otlpFormat) decode(body []byte, held *charge) (ptrace.Traces, error) {
	weight, err := f.weigh(body, held.in.budget)
	if err != nil {
		return ptrace.Traces{}, err
	}
	if err := held.grow(weight); err != nil {
		return ptrace.Traces{}, err
	}
	td, err := f.unmarshal(body)
	if err != nil {
		return ptrace.Traces{}, err
	}
	f.dropped = dropUnstorable(td)
	f.clock = wrongClocks(td)
	return td, nil
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

// passthroughFormat is OTLP in protobuf that is passed on unchanged, unless something in it may have to be dropped or
// refused.
type passthroughFormat struct{ otlpFormat }

func (f *passthroughFormat) decode(body []byte, held *charge) (ptrace.Traces, error) {
	seen, err := look(body, held.in.budget)
	if err != nil {
		return ptrace.Traces{}, err
	}
	if !seen.Regular || !seen.Identified || seen.LastTime > runmodel.MaxTimestamp || seen.Exceeds || seen.WrongClock {
		return f.otlpFormat.decode(body, held)
	}
	if err := held.grow(seen.Weight); err != nil {
		return ptrace.Traces{}, err
	}
	return otlpwire.Passthrough(body, seen.Spans), nil
}

func (f *otlpFormat) accepted(string) (string, []byte) {
	if f.dropped.spans == 0 && f.clock == "" {
		return f.mediaType, allAccepted(f.mediaType)
	}
	resp := ptraceotlp.NewExportResponse()
	resp.PartialSuccess().SetRejectedSpans(f.dropped.spans) // a message without rejected spans is a warning
	resp.PartialSuccess().SetErrorMessage(cmp.Or(f.dropped.first, f.clock))
	body, err := f.marshal(resp)
	if err != nil {
		body = nil // a number and a text always marshal
	}
	return f.mediaType, body
}

// allAccepted returns an answer without partial_success, as OTLP wants it. pdata's encoders write it empty.
func allAccepted(mediaType string) []byte {
	if mediaType == typeJSON {
		return []byte("{}")
	}
	return nil
}

func (f *otlpFormat) rejected() int64 { return f.dropped.spans }

func unmarshalProto(body []byte) (ptrace.Traces, error) {
	req := ptraceotlp.NewExportRequest()
	err := req.UnmarshalProto(body)
	return req.Traces(), err
}

func unmarshalJSON(body []byte) (ptrace.Traces, error) {
	req := ptraceotlp.NewExportRequest()
	err := req.UnmarshalJSON(dropNulls(body))
	return req.Traces(), err
}

func marshalProto(resp ptraceotlp.ExportResponse) ([]byte, error) { return resp.MarshalProto() }

func marshalResponseJSON(resp ptraceotlp.ExportResponse) ([]byte, error) { return resp.MarshalJSON() }

// dropped counts spans that cannot be stored.
type dropped struct {
	spans int64
	first string // the location of the first one, and why
}

func dropUnstorable(td ptrace.Traces) (d dropped) {
	d.spans, d.first = runpdata.DropUnstorable(td)
	return d
}

// weighJSON walks an OTLP/JSON body without decoding it.
func weighJSON(body []byte, limit int64) (int64, error) {
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

// weighProto walks an OTLP protobuf body without decoding it.
func weighProto(body []byte, limit int64) (int64, error) {
	seen, err := look(body, limit)
	return seen.Weight, err
}

func look(body []byte, limit int64) (otlpwire.Summary, error) {
	seen, err := otlpwire.Scan(body, maxDepth, limit)
	return seen, refusalOfShape(err)
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
