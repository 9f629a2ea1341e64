package runpdata

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TakeWaiting removes the versions that wait for a span from td and returns them.
func TakeWaiting(td ptrace.Traces) ([]runmodel.WaitingRecord, error) {
	var waiting []runmodel.WaitingRecord
	var failed error
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				conversation := stringAt(span.Attributes(), runmodel.KeyRecordIn)
				if conversation == "" || failed != nil {
					return false
				}
				var record runmodel.WaitingRecord
				record, failed = waitingRecord(rs, ss, span, conversation)
				waiting = append(waiting, record)
				return true
			})
		}
	}
	return waiting, failed
}

func waitingRecord(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, conversation string) (runmodel.WaitingRecord, error) {
	project, err := uuid.Parse(stringAt(rs.Resource().Attributes(), runmodel.KeyProjectID))
	if err != nil {
		return runmodel.WaitingRecord{}, ErrNoProject
	}
	alone := ptrace.NewTraces()
	resource := alone.ResourceSpans().AppendEmpty()
	rs.Resource().CopyTo(resource.Resource())
	resource.SetSchemaUrl(rs.SchemaUrl())
	scope := resource.ScopeSpans().AppendEmpty()
	ss.Scope().CopyTo(scope.Scope())
	scope.SetSchemaUrl(ss.SchemaUrl())
	span.CopyTo(scope.Spans().AppendEmpty())
	var encoder ptrace.ProtoMarshaler
	encoded, err := encoder.MarshalTraces(alone)
	if err != nil {
		return runmodel.WaitingRecord{}, fmt.Errorf("encode a log record: %w", err)
	}
	w := runmodel.WaitingRecord{ProjectID: project, Conversation: conversation, RecordID: xxhash.Sum64(encoded), Traces: string(encoded)}
	row, err := WaitingRow(&w)
	w.At = row.StartTime // which the store can hold, whatever the client's clock says
	return w, err
}

// WaitingRow returns a waiting version as a row of no run.
func WaitingRow(w *runmodel.WaitingRecord) (runmodel.Span, error) {
	var rows Rows
	td, err := decodeWaiting(w)
	if err == nil {
		err = rows.Add(td)
	}
	if err != nil {
		return runmodel.Span{}, err
	}
	return rows.Spans[0], nil
}

// PlaceWaiting returns a waiting version as one of a call's records.
func PlaceWaiting(w *runmodel.WaitingRecord, call *runmodel.Span) (ptrace.Traces, error) {
	td, err := decodeWaiting(w)
	if err != nil {
		return td, err
	}
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	span.SetTraceID(pcommon.TraceID(call.RunID))
	var parent pcommon.SpanID
	binary.BigEndian.PutUint64(parent[:], call.SpanID)
	span.SetParentSpanID(parent)
	span.Attributes().Remove(runmodel.KeyRecordIn)
	return td, nil
}

func decodeWaiting(w *runmodel.WaitingRecord) (ptrace.Traces, error) {
	var decoder ptrace.ProtoUnmarshaler
	td, err := decoder.UnmarshalTraces([]byte(w.Traces))
	if err != nil {
		return td, fmt.Errorf("decode a log record: %w", err)
	}
	return td, nil
}
