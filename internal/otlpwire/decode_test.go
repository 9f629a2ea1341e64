package otlpwire

import (
	stdbytes "bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/test/bench/loadgen"
)

// withSpan returns a request of one span that edit has filled.
func withSpan(tb testing.TB, edit func(ptrace.Span)) []byte {
	tb.Helper()
	td := ptrace.NewTraces()
	edit(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty())
	return marshal(tb, td)
}

// nestedValue returns a request with an attribute that nests lists and maps in turn.
func nestedValue(tb testing.TB, depth int) []byte {
	tb.Helper()
	return withSpan(tb, func(span ptrace.Span) {
		value := span.Attributes().PutEmpty("deep")
		for i := range depth {
			if i%2 == 0 {
				value = value.SetEmptySlice().AppendEmpty()
			} else {
				value = value.SetEmptyMap().PutEmpty("k")
			}
		}
	})
}

// attributes returns a request of one span with n attributes.
func attributes(tb testing.TB, count int) []byte {
	tb.Helper()
	return withSpan(tb, func(span ptrace.Span) {
		for i := range count {
			span.Attributes().PutInt(fmt.Sprint(i), int64(i)-1)
		}
	})
}

// lengthed encodes a field of bytes.
func lengthed(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
}

// pair encodes a KeyValue in a field.
func pair(number protowire.Number, key string, value ...[]byte) []byte {
	return lengthed(number, lengthed(1, []byte(key)), lengthed(2, value...))
}

func TestDecodeInPlace(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"every field":            request(t),
		"nothing":                {},
		"values in each other":   nestedValue(t, maxNested),
		"attributes":             attributes(t, maxAttributes),
		"a field of later OTLP":  within([]byte{0xf8, 0x07, 1}),
		"a value in two":         within(pair(9, "k", lengthed(1, []byte("text")), []byte{0x18, 3})),
		"a list in two":          within(pair(9, "k", lengthed(5, lengthed(1)), lengthed(5, lengthed(1), lengthed(1)))),
		"a value before its key": within(lengthed(9, lengthed(2, lengthed(1, []byte("v"))), lengthed(1, []byte("k")))),
		"no key":                 within(lengthed(9, lengthed(2, lengthed(1, []byte("v"))))),
		"no value":               within(lengthed(9, lengthed(1, []byte("k")))),
		"an empty value":         within(pair(9, "k")),
		"a status in two":        within(slices.Concat(lengthed(15, lengthed(2, []byte("no"))), lengthed(15, []byte{0x18, 2}))),
		"negative numbers":       within(slices.Concat([]byte{0x30}, protowire.AppendVarint(nil, 1<<64-1))),
		"text that is no UTF-8":  within(pair(9, "\xff", lengthed(1, []byte("\xc3")))),
	} {
		want, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		require.NoError(t, err, name)
		got, ok := decodeInPlace(body)
		require.True(t, ok, name)
		assert.Equal(t, marshal(t, want), marshal(t, got), name)
	}
}

// Requests that are left to pdata's decoder have the same result from Decode.
func TestLeftToPdata(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"a key twice":           within(slices.Concat(pair(9, "k", lengthed(1, []byte("1"))), pair(9, "k", lengthed(1, []byte("2"))))),
		"a value twice":         within(lengthed(9, lengthed(1, []byte("k")), lengthed(2, lengthed(1, []byte("v"))), lengthed(2))),
		"more attributes":       attributes(t, maxAttributes+1),
		"values in each other":  nestedValue(t, maxNested+1),
		"an entity":             lengthed(1, lengthed(1, lengthed(3, lengthed(2, []byte("service"))))),
		"a reference for a key": within(lengthed(9, []byte{0x18, 3})),
		"a reference for text":  within(pair(9, "k", []byte{0x40, 3})),
		"a group":               within([]byte{0xfb, 0x07, 0xfc, 0x07}),
		"spans of older OTLP":   lengthed(1, lengthed(1000, lengthed(2, lengthed(5, []byte("x"))))),
	} {
		_, ok := decodeInPlace(body)
		require.False(t, ok, name)
		want, wrong := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		got, err := Decode(body)
		require.Equal(t, wrong == nil, err == nil, name)
		if err == nil {
			assert.Equal(t, marshal(t, want), marshal(t, got), name)
		}
	}
	for name, body := range map[string][]byte{
		"text that ends early":    within([]byte{0x2a, 5, 'x'}),
		"number that ends early":  within([]byte{0x39, 1, 2}),
		"no number":               within([]byte{0x30}),
		"number over 64 bits":     within(append([]byte{0x30}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)),
		"field 0":                 within([]byte{0x02, 0}),
		"trace id of 15 bytes":    within(append([]byte{0x0a, 15}, make([]byte, 15)...)),
		"span id of 9 bytes":      within(append([]byte{0x12, 9}, make([]byte, 9)...)),
		"name that is a number":   within([]byte{0x28, 1}),
		"number that is a text":   within(pair(9, "k", lengthed(3, []byte{1}))),
		"time that is no fixed64": within([]byte{0x38, 1}),
	} {
		_, ok := decodeInPlace(body)
		require.False(t, ok, name)
		_, err := Decode(body)
		require.Error(t, err, name)
	}
}

// FuzzDecodeInPlace checks that the result equals that of pdata's decoder, unless it returns none.
func FuzzDecodeInPlace(f *testing.F) {
	f.Add(request(f))
	f.Add(nestedValue(f, 3))
	f.Add(within(pair(9, "k", lengthed(5, lengthed(1), lengthed(1, []byte{0x21, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f})))))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := decodeInPlace(body)
		if !ok {
			return
		}
		want, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		require.NoError(t, err)
		require.Equal(t, marshal(t, want), marshal(t, got))
	})
}

// BenchmarkDecode decodes requests of generated spans, and compares that with pdata's decoder.
func BenchmarkDecode(b *testing.B) {
	load, err := loadgen.Spans()
	require.NoError(b, err)
	made, err := load.Make(2_000)
	require.NoError(b, err)
	var bodies [][]byte
	spans := 0
	for _, td := range made {
		bodies, spans = append(bodies, marshal(b, td)), spans+td.SpanCount()
	}
	var base float64
	for _, decoder := range []struct {
		name   string
		decode func([]byte) (ptrace.Traces, error)
	}{
		{"pdata", (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces},
		{"in place", Decode},
	} {
		b.Run(decoder.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, body := range bodies {
					_, err := decoder.decode(body)
					require.NoError(b, err)
				}
			}
			each := float64(b.Elapsed().Nanoseconds()) / float64(b.N*spans)
			if base == 0 {
				base = each
			}
			b.ReportMetric(each, "ns/span")
			b.ReportMetric(each/base, "×pdata")
		})
	}
}

// A text of a span is a part of the request.
func TestTextsAreNotCopied(t *testing.T) {
	t.Parallel()
	body := withSpan(t, func(span ptrace.Span) { span.Attributes().PutStr("key", "value") })
	traces, ok := decodeInPlace(body)
	require.True(t, ok)
	before, _, _ := stdbytes.Cut(body, []byte("value"))
	copy(body[len(before):], "other")
	value, _ := traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().Get("key")
	assert.Equal(t, "other", value.Str())
}

// Unknown fields behind a raw request do not hide what follows.
func TestOddBehindRawRequest(t *testing.T) {
	t.Parallel()
	record := marshal(t, Passthrough(request(t), 3))
	_, err := Decode(record)
	require.NoError(t, err)
	_, err = Decode(slices.Concat(record, []byte{0x08, 1}, request(t)))
	require.ErrorIs(t, err, errSurroundings)
}
