package runsreceiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestAnswers compares every answer with testdata/answers: status, headers and body. Only requests answered 202 may
// reach the next consumer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	jsonHeader := map[string]string{"Content-Type": typeJSON}
	protoHeader := map[string]string{"Content-Type": typeProtobuf}
	with := func(base map[string]string, kv ...string) map[string]string {
		h := map[string]string{}
		for k, v := range base {
			h[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			h[kv[i]] = kv[i+1]
		}
		return h
	}
	runs := func(body string, kv ...string) sent {
		return sent{path: "/v1/runs", header: with(jsonHeader, kv...), body: body}
	}
	traces := func(header map[string]string, body string, kv ...string) sent {
		return sent{path: "/v1/traces", header: with(header, kv...), body: body}
	}
	span := func(traceID, spanID string) string {
		return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"name":"chat","startTimeUnixNano":"1767225600000000000","endTimeUnixNano":"1767225601000000000"}`, traceID, spanID)
	}
	export := func(spans ...string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
	}
	good := span("0199e0a1000070008000000000000001", "00000000000000a1")
	ended := strings.Replace(good, "1767225601", "1767225599", 1)
	millis := strings.ReplaceAll(good, "000000000\"", "000\"")
	noTrace := span(strings.Repeat("0", 32), "00000000000000a2")
	noSpan := span("0199e0a1000070008000000000000001", strings.Repeat("0", 16))
	late := strings.Replace(good, "1767225601000000000", "9214646400000000000", 1)
	asProto := func(body string) string {
		d, err := signals[routeTraces].readJSON([]byte(body))
		require.NoError(t, err)
		b, err := ptraceotlp.NewExportRequestFromTraces(d.(traceData).Traces).MarshalProto()
		require.NoError(t, err)
		return string(b)
	}
	large := strings.Repeat(" ", 1<<20+1)
	deep := func(n int) string {
		return `{"runs":[{"run_id":"0199e0a1-0000-7000-8000-000000000001","name":"plan","start_time":"2026-01-01T00:00:00Z","inputs":` +
			strings.Repeat("[", n) + strings.Repeat("]", n) + `}]}`
	}

	for _, tt := range []struct {
		name string
		sent
		consumer error // the next consumer's answer
		spans    int   // spans that it accepts
	}{
		{name: "runs_queued", sent: runs(oneRun), spans: 1},
		{name: "runs_queued_charset", sent: runs(oneRun, "Content-Type", "application/json; charset=utf-8"), spans: 1},
		{name: "runs_queued_gzip", sent: runs(gzipped(t, oneRun), "Content-Encoding", "gzip"), spans: 1},
		{name: "runs_queued_zstd", sent: runs(zstdded(t, oneRun), "Content-Encoding", "ZSTD"), spans: 1},
		{name: "runs_queued_identity", sent: runs(oneRun, "Content-Encoding", "identity"), spans: 1},
		{name: "runs_twice", sent: runs(strings.Replace(oneRun, "]}", ","+strings.TrimPrefix(strings.TrimSuffix(oneRun, "]}"), `{"runs":[`)+"]}", 1)), spans: 1},
		{name: "traces_json_queued", sent: traces(jsonHeader, export(good)), spans: 1},
		{name: "traces_proto_queued", sent: traces(protoHeader, asProto(export(good))), spans: 1},
		{name: "traces_proto_queued_gzip", sent: traces(protoHeader, gzipped(t, asProto(export(good))), "Content-Encoding", "gzip"), spans: 1},
		{name: "runs_queued_deflate", sent: runs(deflated(t, oneRun), "Content-Encoding", "deflate"), spans: 1},
		{name: "traces_proto_queued_zlib", sent: traces(protoHeader, deflated(t, asProto(export(good))), "Content-Encoding", "zlib"), spans: 1},
		{name: "traces_json_empty", sent: traces(jsonHeader, `{}`)},
		{name: "traces_proto_empty", sent: traces(protoHeader, ``)},
		{name: "traces_json_partial", sent: traces(jsonHeader, export(good, noTrace, noSpan, late)), spans: 1},
		{name: "traces_proto_partial", sent: traces(protoHeader, asProto(export(noSpan, good))), spans: 1},
		{name: "traces_json_wrong_clocks", sent: traces(jsonHeader, export(good, ended, millis)), spans: 3},
		{name: "traces_proto_wrong_clock", sent: traces(protoHeader, asProto(export(millis))), spans: 1},
		{name: "traces_json_all_rejected", sent: traces(jsonHeader, export(noTrace))},

		{name: "runs_malformed", sent: runs(`{"runs":[}`)},
		{name: "runs_empty_body", sent: runs(``)},
		{name: "runs_trailing", sent: runs(oneRun + `x`)},
		{name: "runs_not_utf8", sent: runs("{\"sdk\":\"\xff\"}")},
		{name: "runs_malformed_gzip", sent: runs(oneRun, "Content-Encoding", "gzip")},
		{name: "runs_truncated_gzip", sent: runs(gzipped(t, oneRun)[:40], "Content-Encoding", "gzip")},
		{name: "runs_malformed_zstd", sent: runs(oneRun, "Content-Encoding", "zstd")},
		{name: "runs_malformed_deflate", sent: runs(oneRun, "Content-Encoding", "deflate")},
		{name: "traces_json_malformed", sent: traces(jsonHeader, `{"resourceSpans":[`)},
		{name: "traces_json_trailing", sent: traces(jsonHeader, export(good)+`x`)},
		{name: "traces_json_not_an_object", sent: traces(jsonHeader, `[]`)},
		{name: "traces_json_wrong_type", sent: traces(jsonHeader, `{"resourceSpans":{"scopeSpans":7}}`)},
		{name: "traces_json_base64_ids", sent: traces(jsonHeader, export(span("AZngoQAAcACAAAAAAAAAAQ==", "AAAAAAAAAKE=")))},
		{name: "traces_json_deep", sent: traces(jsonHeader, `{"resourceSpans":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`)},
		{name: "traces_proto_malformed", sent: traces(protoHeader, "\x0a\x05abc")},
		{name: "traces_proto_deep", sent: traces(protoHeader, deepProto(100_000))},
		{name: "traces_proto_malformed_gzip", sent: traces(protoHeader, "plain", "Content-Encoding", "gzip")},

		{name: "runs_no_key", sent: runs(oneRun, "Authorization", "")},
		{name: "runs_wrong_key", sent: runs(oneRun, "Authorization", "Bearer wrong")},
		{name: "traces_json_wrong_key", sent: traces(jsonHeader, export(good), "Authorization", "Bearer wrong")},
		{name: "traces_proto_no_key", sent: traces(protoHeader, asProto(export(good)), "Authorization", "")},
		{name: "other_no_key", sent: sent{path: "/v1/other", header: map[string]string{"Authorization": ""}}},
		{name: "runs_no_scope", sent: runs(oneRun, "Authorization", "Bearer no-scope")},
		{name: "runs_no_scope_formatted", sent: runs(oneRun, "Authorization", "Bearer no-scope-formatted")},
		{name: "traces_json_no_scope", sent: traces(jsonHeader, export(good), "Authorization", "Bearer no-scope")},
		{name: "traces_json_no_scope_formatted", sent: traces(jsonHeader, export(good), "Authorization", "Bearer no-scope-formatted")},
		{name: "traces_proto_no_scope_formatted", sent: traces(protoHeader, asProto(export(good)), "Authorization", "Bearer no-scope-formatted")},
		{name: "runs_key_unknown", sent: runs(oneRun, "Authorization", "Bearer unknown")},
		{name: "traces_proto_key_unknown", sent: traces(protoHeader, asProto(export(good)), "Authorization", "Bearer unknown")},
		{name: "runs_limited", sent: runs(oneRun, "Authorization", "Bearer limited")},
		{name: "traces_json_limited", sent: traces(jsonHeader, export(good), "Authorization", "Bearer limited")},
		{name: "traces_proto_limited", sent: traces(protoHeader, asProto(export(good)), "Authorization", "Bearer limited")},
		{name: "runs_fault", sent: runs(oneRun, "Authorization", "Bearer broken")},
		{name: "runs_other_status", sent: runs(oneRun, "Authorization", "Bearer teapot")},

		{name: "not_found", sent: sent{path: "/v1/other", header: jsonHeader, body: "{}"}},
		{name: "logs_json", sent: sent{path: "/v1/logs", header: jsonHeader, body: "{}"}},
		{name: "logs_json_malformed", sent: sent{path: "/v1/logs", header: jsonHeader, body: `{"resourceLogs":{}}`}},
		{name: "logs_malformed", sent: sent{path: "/v1/logs", header: protoHeader, body: "\x0a\xff"}},
		{name: "metrics_json", sent: sent{path: "/v1/metrics", header: jsonHeader, body: "{}"}},
		{name: "metrics_json_malformed", sent: sent{path: "/v1/metrics", header: jsonHeader, body: `{"resourceMetrics":{}}`}},
		{name: "metrics_malformed", sent: sent{path: "/v1/metrics", header: protoHeader, body: "\x0a\xff"}},
		{name: "not_found_root", sent: sent{method: http.MethodGet, path: "/"}},
		{name: "not_found_doubled_slash", sent: sent{path: "//v1/runs", header: jsonHeader, body: oneRun}},
		{name: "runs_get", sent: sent{method: http.MethodGet, path: "/v1/runs"}},
		{name: "traces_put", sent: sent{method: http.MethodPut, path: "/v1/traces", header: protoHeader}},
		{name: "runs_no_content_type", sent: sent{path: "/v1/runs", body: oneRun}},
		{name: "runs_protobuf", sent: runs(oneRun, "Content-Type", typeProtobuf)},
		{name: "traces_text", sent: traces(jsonHeader, export(good), "Content-Type", "text/plain")},
		{name: "runs_brotli", sent: runs(oneRun, "Content-Encoding", "br")},
		{name: "runs_two_encodings", sent: runs(oneRun, "Content-Encoding", "gzip, zstd")},
		{name: "traces_proto_snappy", sent: traces(protoHeader, asProto(export(good)), "Content-Encoding", "snappy")},

		{name: "runs_too_large", sent: runs(large)},
		{name: "runs_too_large_gzip", sent: runs(gzipped(t, large), "Content-Encoding", "gzip")},
		{name: "runs_too_large_zstd", sent: runs(zstdded(t, large), "Content-Encoding", "zstd")},
		{name: "runs_too_large_deflate", sent: runs(deflated(t, large), "Content-Encoding", "deflate")},
		{name: "runs_zstd_window", sent: runs(zstdBomb(1), "Content-Encoding", "zstd")},
		{name: "traces_json_too_large", sent: traces(jsonHeader, large)},
		{name: "traces_proto_too_large", sent: traces(protoHeader, large)},
		{name: "traces_proto_too_dense", sent: traces(protoHeader, emptySpans(1<<18))},
		{name: "traces_json_too_dense", sent: traces(jsonHeader, export(strings.Repeat("{},", 300_000)+"{}"))},

		{name: "runs_nothing", sent: runs(`{"sdk":"x"}`)},
		{name: "runs_not_an_object", sent: runs(`[1]`)},
		{name: "runs_invalid", sent: runs(readFile(t, "testdata/invalid.json"))},
		{name: "runs_invalid_spans", sent: runs(readFile(t, "testdata/invalid_spans.json"))},
		{name: "runs_invalid_numbers", sent: runs(readFile(t, "testdata/invalid_numbers.json"))},
		{name: "runs_many_problems", sent: runs(`{"runs":[` + strings.Repeat(`{},`, 20) + `{}]}`)},
		{name: "runs_too_deep", sent: runs(deep(198))},
		{name: "runs_deep", sent: runs(deep(197)), spans: 1},

		{name: "runs_queue_down", sent: runs(oneRun), consumer: errors.New("dial tcp 10.0.0.7:9092: refused")},
		{name: "runs_queue_cancelled_another", sent: runs(oneRun), consumer: fmt.Errorf("export: %w", context.Canceled)},
		{name: "runs_queue_permanent", sent: runs(oneRun), consumer: consumererror.NewPermanent(kerr.TopicAuthorizationFailed)},
		{name: "traces_proto_queue_down", sent: traces(protoHeader, asProto(export(good))), consumer: errors.New("refused")},
		{name: "traces_json_queue_down", sent: traces(jsonHeader, export(good)), consumer: errors.New("refused")},
		{
			name: "runs_record_too_large", sent: runs(oneRun),
			consumer: consumererror.NewPermanent(fmt.Errorf("error exporting to topic %q: %w", "looptrace.spans", kerr.MessageTooLarge)),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := new(consumertest.TracesSink)
			var next consumer.Traces = sink
			if tt.consumer != nil {
				next = failing(tt.consumer)
			}
			r := start(t, next, func(c *Config) {
				c.MaxRequestBodySize = 1 << 20
				c.MaxInFlightBytes = 24 << 20
			})
			s := tt.sent
			s.header = with(s.header, headerRequestID, "req-1")
			resp, body := send(t, r, s)
			compareGolden(t, filepath.Join("testdata", "answers", tt.name+".txt"), describe(t, resp, body))
			assert.Equal(t, tt.spans, sink.SpanCount(), "spans consumed")
			if resp.StatusCode != http.StatusAccepted {
				assert.Empty(t, sink.AllTraces())
			}
		})
	}
}

// describe formats an answer for a golden file; protobuf as the JSON of its message.
func describe(t *testing.T, resp *http.Response, body string) []byte {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprintln(&out, resp.StatusCode, http.StatusText(resp.StatusCode))
	for _, name := range []string{"Content-Type", headerRequestID, "Retry-After", "RateLimit-Remaining", "Allow", "WWW-Authenticate"} {
		if v := resp.Header.Get(name); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	out.WriteByte('\n')
	switch {
	case resp.Header.Get("Content-Type") != typeProtobuf:
		out.WriteString(body)
	case resp.StatusCode == http.StatusAccepted:
		message := ptraceotlp.NewExportResponse()
		require.NoError(t, message.UnmarshalProto([]byte(body)))
		b, err := message.MarshalJSON()
		require.NoError(t, err)
		out.Write(b)
	default:
		var message spb.Status
		require.NoError(t, proto.Unmarshal([]byte(body), &message))
		fmt.Fprintf(&out, "google.rpc.Status code=%d message=%q", message.GetCode(), message.GetMessage())
		for _, detail := range message.GetDetails() {
			info := new(errdetails.RetryInfo)
			require.NoError(t, detail.UnmarshalTo(info))
			fmt.Fprintf(&out, " retry_delay=%s", info.GetRetryDelay().AsDuration())
		}
	}
	out.WriteByte('\n')
	return out.Bytes()
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	assert.Equal(t, readFile(t, path), string(got))
}

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	require.NoError(tb, err)
	return string(b)
}

// deepProto returns a request with one span whose attribute nests n arrays.
func deepProto(n int) string {
	// Built from the inside: each array wraps the previous one, so its bytes are written in reverse.
	var reversed []byte
	wrap := func(field byte) {
		length := binary.AppendUvarint(nil, uint64(len(reversed)))
		for i := len(length) - 1; i >= 0; i-- {
			reversed = append(reversed, length[i])
		}
		reversed = append(reversed, field<<3|2)
	}
	for range n {
		wrap(1) // ArrayValue.values
		wrap(5) // AnyValue.array_value
	}
	for _, field := range []byte{2, 9, 2, 2, 1} { // KeyValue.value, Span.attributes, ScopeSpans.spans, ResourceSpans.scope_spans
		wrap(field)
	}
	out := make([]byte, len(reversed))
	for i, b := range reversed {
		out[len(out)-1-i] = b
	}
	return string(out)
}

// emptySpans returns a protobuf request with n spans of two bytes.
func emptySpans(n int) string {
	spans := strings.Repeat("\x12\x00", n)
	for _, field := range []byte{2, 1} {
		spans = string(binary.AppendUvarint([]byte{field<<3 | 2}, uint64(len(spans)))) + spans
	}
	return spans
}

// A zstd frame (RFC 8878) with a window of 512 MiB and blocks of 128 KiB of one repeated byte each.
func zstdBomb(blocks int) string {
	const blockSize = 128 << 10
	bomb := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 19 << 3} // magic, descriptor, window 2^(10+19)
	for i := range blocks {
		header := uint32(1<<1 | blockSize<<3) // a block of run-length encoding
		if i == blocks-1 {
			header |= 1
		}
		bomb = append(bomb, byte(header), byte(header>>8), byte(header>>16), ' ')
	}
	return string(bomb)
}
