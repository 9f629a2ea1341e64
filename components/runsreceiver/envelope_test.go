package runsreceiver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/ptracetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// TestMapping compares the spans of an envelope with testdata/mapping.
func TestMapping(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob(filepath.Join("testdata", "mapping", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, inputs)
	for _, input := range inputs {
		name := strings.TrimSuffix(input, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			td, err := decodeNative([]byte(readFile(t, input)))
			require.NoError(t, err)
			if *update {
				require.NoError(t, golden.WriteTracesToFile(name+".yaml", td))
			}
			want, err := golden.ReadTraces(name + ".yaml")
			require.NoError(t, err)
			require.NoError(t, ptracetest.CompareTraces(want, td))
		})
	}
}

func decodeNative(body []byte) (ptrace.Traces, error) {
	return decodeTraces(&nativeFormat{}, body)
}

func decodeTraces(f format, body []byte) (ptrace.Traces, error) {
	d, err := f.decode(body, &charge{in: newIntake(20<<20, 256<<20)}, new(partialsuccess.Report))
	if err != nil {
		return ptrace.Traces{}, err
	}
	return d.(traceData).Traces, nil
}

// The time for attributes is linear in their number, however often they are updated.
func TestManyAttributes(t *testing.T) {
	t.Parallel()
	const n = 100_000
	var run strings.Builder
	run.WriteString(`{"run_id":"0199e0a1-0000-7000-8000-000000000001","name":"n","start_time":"2026-01-01T00:00:00Z","attributes":{`)
	for i := range n {
		fmt.Fprintf(&run, `"k%d":%d,`, i, i)
	}
	run.WriteString(`"k0":"last"}}`)
	started := time.Now()
	td, err := decodeNative([]byte(`{"runs":[` + run.String() + "," + run.String() + `]}`))
	require.NoError(t, err)
	require.Equal(t, 1, td.SpanCount())
	attrs := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	assert.Equal(t, n+1, attrs.Len())
	v, _ := attrs.Get("k0")
	assert.Equal(t, "last", v.AsString())
	assert.Less(t, time.Since(started), 20*time.Second, "the square of this many takes minutes")
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]pcommon.Timestamp{
		"1970-01-01T00:00:00.000000001Z":      1,
		"1970-01-01T01:00:01+01:00":           1e9,
		"2261-12-31T23:59:59.999999999Z":      runmodel.MaxTimestamp,
		"2026-01-01T00:00:00.123456789-00:30": 1767227400123456789,
	} {
		got, ok := parseTime(in)
		assert.True(t, ok, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{
		"", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-1-1T0:00:00Z", "2026-02-30T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T0:00:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00+24:00",
		"1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2262-01-01T00:00:00Z", "2261-12-31T23:59:59-00:01", "9999-01-01T00:00:00Z",
	} {
		_, ok := parseTime(in)
		assert.False(t, ok, in)
	}
}

func TestIsKind(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"a", "llm", "my-kind_2.x", strings.Repeat("a", 64)} {
		assert.True(t, isKind(in), in)
	}
	for _, in := range []string{"", "A", "1a", "-a", "a b", "é", "a\n", strings.Repeat("a", 65)} {
		assert.False(t, isKind(in), in)
	}
}

// An accepted envelope becomes exactly one span for each run and span that it names, even if it contains duplicates,
// and the answer counts the items sent.
func TestEveryItemBecomesOneSpan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var runs, spans []string
		distinct := map[string]bool{}
		for range random.IntN(40) + 1 {
			run := fmt.Sprintf("0199e0a1-0000-7000-8000-%012x", random.IntN(20))
			if random.IntN(3) == 0 {
				distinct[run] = true
				runs = append(runs, fmt.Sprintf(`{"name":"r","run_id":%q,"start_time":"2026-01-01T00:00:00Z"}`, run))
				continue
			}
			span := fmt.Sprintf("%016x", random.IntN(20)+1)
			distinct[run+span] = true
			spans = append(spans, fmt.Sprintf(`{"span_id":%q,"name":"s","run_id":%q,"start_time":"2026-01-01T00:00:00Z"}`, span, run))
		}
		body := fmt.Sprintf(`{"spans":[%s],"runs":[%s]}`, strings.Join(spans, ","), strings.Join(runs, ","))
		format := &nativeFormat{}
		td, err := decodeTraces(format, []byte(body))
		require.NoError(t, err)
		require.Equal(t, len(distinct), td.SpanCount(), body)
		require.Equal(t, len(runs), format.runs)
		require.Equal(t, len(spans), format.spans)
	}
}

// FuzzNative feeds the native decoder. An envelope is either refused or becomes spans that have an identity and
// times, and that OTLP carries unchanged.
func FuzzNative(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "mapping", "*.json"))
	require.NoError(f, err)
	for _, seed := range append(seeds, filepath.Join("testdata", "invalid.json"), filepath.Join("testdata", "invalid_spans.json"), filepath.Join("testdata", "invalid_numbers.json")) {
		f.Add([]byte(readFile(f, seed)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		format := &nativeFormat{}
		td, err := decodeTraces(format, body)
		if err != nil {
			if r := refusalOfBody(err); r.status != 400 && r.status != 413 && r.status != 422 {
				t.Fatalf("refused with %d: %v", r.status, err)
			}
			return
		}
		if n := td.SpanCount(); n == 0 || n > format.runs+format.spans {
			t.Fatalf("%d spans of %d runs and %d spans", n, format.runs, format.spans)
		}
		if n, first := runpdata.DropUnstorable(td); n > 0 {
			t.Fatalf("accepted what cannot be stored: %s", first)
		}
		wire, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		again, err := signals[routeTraces].readProto(wire)
		if err != nil {
			t.Fatal(err)
		}
		if again.size() != td.SpanCount() {
			t.Fatal("OTLP carries another number of spans")
		}
	})
}

// FuzzOTLPProto and FuzzOTLPJSON feed the OTLP decoders after the checks that protect them.
func FuzzOTLPProto(f *testing.F) {
	f.Add([]byte(emptySpans(3)))
	f.Add([]byte(deepProto(110)))
	seed, err := ptraceotlp.NewExportRequestFromTraces(fuzzSeed(f)).MarshalProto()
	require.NoError(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzOTLP(t, &otlpFormat{signal: signals[routeTraces], mediaType: typeProtobuf}, body)
	})
}

func FuzzOTLPJSON(f *testing.F) {
	seed, err := ptraceotlp.NewExportRequestFromTraces(fuzzSeed(f)).MarshalJSON()
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00","attributes":[{"key":"a","value":{"arrayValue":{"values":[{"bytesValue":"AA=="}]}}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzOTLP(t, &otlpFormat{signal: signals[routeTraces], mediaType: typeJSON}, body)
	})
}

// fuzzSeed is small, because the fuzzer minimizes each finding at length.
func fuzzSeed(f *testing.F) ptrace.Traces {
	f.Helper()
	td, err := decodeNative([]byte(readFile(f, filepath.Join("testdata", "mapping", "full.json"))))
	require.NoError(f, err)
	return td
}

func fuzzOTLP(t *testing.T, format *otlpFormat, body []byte) {
	t.Helper()
	td, err := decodeTraces(format, body)
	if err != nil {
		if r := refusalOfBody(err); r.status != 400 && r.status != 413 {
			t.Fatalf("refused with %d: %v", r.status, err)
		}
		return
	}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if reason := runpdata.Unstorable(span); reason != "" {
					t.Fatalf("kept what cannot be stored: %s", reason)
				}
			}
		}
	}
	if _, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto(); err != nil {
		t.Fatal(err)
	}
}

// benchmarkEnvelope returns an envelope of one run with 100 spans, like an instrumented agent's.
func benchmarkEnvelope() []byte {
	var b strings.Builder
	b.WriteString(`{"sdk":"looptrace-python/0.1.0","runs":[{"run_id":"0199e0a1-0000-7000-8000-000000000001","name":"plan","start_time":"2026-01-01T00:00:00Z"}],"spans":[`)
	for i := range 100 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"span_id":"%016x","run_id":"0199e0a1-0000-7000-8000-000000000001","name":"chat gpt-4o","kind":"llm","status":"ok",`+
			`"start_time":"2026-01-01T00:00:00.%09dZ","end_time":"2026-01-01T00:00:01.123456789Z",`+
			`"inputs":[{"role":"system","content":"%s"},{"role":"user","content":"Where is my order? \u00e9\n"}],"outputs":"%s","model":"gpt-4o","provider":"openai",`+
			`"usage":{"input_tokens":812,"output_tokens":95,"cache_read_input_tokens":512},"cost_usd":0.00298,`+
			`"attributes":{"gen_ai.request.temperature":0.2,"gen_ai.request.max_tokens":1024,"server.address":"api.openai.com"}}`,
			i+1, i, strings.Repeat("You are a helpful assistant. ", 20), strings.Repeat("It is on its way. ", 10))
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func benchmarkProto(tb testing.TB) []byte {
	tb.Helper()
	td, err := decodeNative(benchmarkEnvelope())
	require.NoError(tb, err)
	wire, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	require.NoError(tb, err)
	return wire
}

// BenchmarkDecode compares the native decoder, which returns spans ready to be queued, with encoding/json into maps,
// which neither checks nor returns spans, and with OTLP protobuf of the same spans.
func BenchmarkDecode(b *testing.B) {
	envelope, wire := benchmarkEnvelope(), benchmarkProto(b)
	in := newIntake(20<<20, 256<<20)
	var nativeTime, jsonTime, protoTime time.Duration
	measure := func(name string, size int, spent *time.Duration, run func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			*spent = b.Elapsed() / time.Duration(b.N)
		})
	}
	measure("encoding_json", len(envelope), &jsonTime, func() error {
		var v any
		return json.Unmarshal(envelope, &v)
	})
	measure("otlp_proto", len(wire), &protoTime, func() error {
		held := &charge{in: in}
		defer held.release()
		format := &otlpFormat{signal: signals[routeTraces], mediaType: typeProtobuf}
		_, err := format.decode(wire, held, new(partialsuccess.Report))
		return err
	})
	measure("native", len(envelope), &nativeTime, func() error {
		held := &charge{in: in}
		defer held.release()
		_, err := (&nativeFormat{}).decode(envelope, held, new(partialsuccess.Report))
		return err
	})
	b.Run("ratio", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(float64(jsonTime)/float64(nativeTime), "encoding_json/native")
		b.ReportMetric(float64(nativeTime)/float64(protoTime), "native/otlp_proto")
	})
}
