package otlpwire

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// request has two resources and three spans, which use every kind of value.
func request(tb testing.TB) []byte {
	tb.Helper()
	td := ptrace.NewTraces()
	for i := range 2 {
		resourceSpans := td.ResourceSpans().AppendEmpty()
		resourceSpans.SetSchemaUrl("https://opentelemetry.io/schemas/1.37.0")
		resourceSpans.Resource().Attributes().PutStr("service.name", "planner")
		resourceSpans.Resource().Attributes().PutStr(runmodel.KeyProjectID, "a project that the client claims")
		scopeSpans := resourceSpans.ScopeSpans().AppendEmpty()
		scopeSpans.Scope().SetName("test")
		scopeSpans.Scope().Attributes().PutBool("b", true)
		for j := range i + 1 {
			span := scopeSpans.Spans().AppendEmpty()
			span.SetTraceID(pcommon.TraceID{15: 1})
			span.SetSpanID(pcommon.SpanID{7: byte(10*i + j + 1)})
			span.SetParentSpanID(pcommon.SpanID{7: 99})
			span.SetName("chat")
			span.SetKind(ptrace.SpanKindClient)
			span.SetFlags(1)
			span.TraceState().FromRaw("a=b")
			span.SetStartTimestamp(1_700_000_000_000_000_000)
			span.SetEndTimestamp(1_700_000_000_000_000_000 + pcommon.Timestamp(10*i+j))
			span.Status().SetCode(ptrace.StatusCodeError)
			span.Status().SetMessage("no")
			span.SetDroppedEventsCount(3)
			attributes := span.Attributes()
			attributes.PutStr("gen_ai.request.model", "m")
			attributes.PutInt("gen_ai.usage.input_tokens", 12)
			attributes.PutDouble("d", 0.5)
			attributes.PutEmptyBytes("bytes").FromRaw([]byte{1, 2})
			attributes.PutEmptySlice("list").AppendEmpty().SetStr("x")
			attributes.PutEmptyMap("map").PutStr("k", "v")
			event := span.Events().AppendEmpty()
			event.SetName("exception")
			event.SetTimestamp(5)
			event.SetDroppedAttributesCount(1)
			event.Attributes().PutStr("k", "v")
			link := span.Links().AppendEmpty()
			link.SetTraceID(pcommon.TraceID{15: 2})
			link.SetSpanID(pcommon.SpanID{7: 2})
			link.SetFlags(1)
			link.Attributes().PutStr("k", "v")
		}
	}
	return marshal(tb, td)
}

func marshal(tb testing.TB, td ptrace.Traces) []byte {
	tb.Helper()
	body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(tb, err)
	return body
}

func TestLook(t *testing.T) {
	t.Parallel()
	body := request(t)
	seen, err := Scan(body, 200, math.MaxInt64)
	require.NoError(t, err)
	assert.Positive(t, seen.Weight)
	seen.Weight = 0
	assert.Equal(t, Summary{Spans: 3, Regular: true, Identified: true, LastTime: 1_700_000_000_000_000_011}, seen)

	with := func(edit func(ptrace.Span)) Summary {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		require.NoError(t, err)
		edit(td.ResourceSpans().At(1).ScopeSpans().At(0).Spans().At(0))
		seen, err := Scan(marshal(t, td), 200, math.MaxInt64)
		require.NoError(t, err)
		return seen
	}
	assert.False(t, with(func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{}) }).Identified)
	assert.False(t, with(func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}) }).Identified)
	assert.True(t, with(func(s ptrace.Span) { s.SetParentSpanID(pcommon.SpanID{}) }).Identified)
	assert.Equal(t, uint64(math.MaxUint64), with(func(s ptrace.Span) { s.SetStartTimestamp(math.MaxUint64) }).LastTime)
}

// within returns a request of one span with these bytes.
func within(span []byte) []byte {
	for range 3 {
		span = append(binary.AppendUvarint([]byte{0x12}, uint64(len(span))), span...)
	}
	span[0] = 0x0a // the outermost is the request's field 1, the others are field 2
	return span
}

func TestIrregular(t *testing.T) {
	t.Parallel()
	for name, span := range map[string][]byte{
		"trace id of 15 bytes":  append([]byte{0x0a, 15}, make([]byte, 15)...),
		"span id of 9 bytes":    append([]byte{0x12, 9}, make([]byte, 9)...),
		"parent id of 1 byte":   {0x22, 1, 1},
		"link's trace id":       {0x6a, 3, 0x0a, 1, 1},
		"name as a number":      {0x28, 1},
		"start time as varint":  {0x38, 1},
		"attribute as varint":   {0x48, 1},
		"a number for a text":   {0x4a, 4, 0x12, 2, 0x08, 1},
		"a group as a stranger": {0xfb, 0x07, 0xfc, 0x07}, // field 127
	} {
		seen, err := Scan(within(span), 200, math.MaxInt64)
		require.NoError(t, err, name)
		assert.False(t, seen.Regular, name)
	}
	seen, err := Scan(within([]byte{0xf8, 0x07, 1}), 200, math.MaxInt64)
	require.NoError(t, err)
	assert.True(t, seen.Regular, "a field of a later OTLP")
	assert.False(t, seen.Identified)
}

// Spans in the field that OTLP had before 0.15 count like others, and have the same depth limit.
func TestDeprecatedScopeSpans(t *testing.T) {
	t.Parallel()
	deprecated := func(body []byte) []byte {
		require.Equal(t, byte(0x0a), body[0])
		inner, n := binary.Uvarint(body[1:])
		resource := body[1+n:]
		require.Equal(t, byte(0x12), resource[0])
		resource = append([]byte{0xc2, 0x3e}, resource[1:inner]...) // number 1000
		return append(binary.AppendUvarint([]byte{0x0a}, uint64(len(resource))), resource...)
	}
	body := deprecated(within([]byte{0x2a, 1, 'x'}))
	td := ptraceotlp.NewExportRequest()
	require.NoError(t, td.UnmarshalProto(body))
	require.Equal(t, 1, td.Traces().SpanCount())
	seen, err := Scan(body, 200, math.MaxInt64)
	require.NoError(t, err)
	assert.Equal(t, 1, seen.Spans)
	assert.False(t, seen.Regular)

	_, err = Scan(deprecated(nested(1_000)), 200, math.MaxInt64)
	require.ErrorIs(t, err, ErrDepth)
}

func TestPassthrough(t *testing.T) {
	t.Parallel()
	body := request(t)
	raw := Passthrough(body, 3)
	assert.Equal(t, 3, raw.SpanCount())
	stampedAttributes := raw.ResourceSpans().At(0).Resource().Attributes()
	stampedAttributes.PutStr(runmodel.KeyProjectID, "that of the key")
	stampedAttributes.PutInt("stamped", 7)

	opened, err := Decode(marshal(t, raw))
	require.NoError(t, err)
	want, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	require.NoError(t, err)
	for _, resourceSpans := range want.ResourceSpans().All() {
		attributes := resourceSpans.Resource().Attributes()
		attributes.Remove(runmodel.KeyProjectID)
		attributes.PutStr(runmodel.KeyProjectID, "that of the key")
		attributes.PutInt("stamped", 7)
	}
	assert.Equal(t, marshal(t, want), marshal(t, opened))
}

// A key may be duplicate in OTLP, and a client may send a raw request itself.
func TestClaimsInARawRequest(t *testing.T) {
	t.Parallel()
	claim := []byte{0x0a, 22}
	claim = append(claim, runmodel.KeyProjectID+"\x12\x03\x0a\x01x"...)
	claim[1] = byte(len(runmodel.KeyProjectID))
	attribute := append([]byte{0x0a, byte(len(claim))}, claim...)
	resource := append(append([]byte{}, attribute...), attribute...)
	resourceSpans := append([]byte{0x0a, byte(len(resource))}, resource...)
	body := append([]byte{0x0a, byte(len(resourceSpans))}, resourceSpans...)
	twice, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	require.NoError(t, err)
	require.Equal(t, 2, twice.ResourceSpans().At(0).Resource().Attributes().Len())

	raw := Passthrough(body, 0)
	raw.ResourceSpans().At(0).Resource().Attributes().PutStr(runmodel.KeyProjectID, "that of the key")
	opened, err := Decode(marshal(t, raw))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{runmodel.KeyProjectID: "that of the key"},
		opened.ResourceSpans().At(0).Resource().Attributes().AsRaw())

	_, err = Decode(marshal(t, Passthrough(request(t), 2)))
	require.ErrorContains(t, err, "it has 3 spans and declares 2")
	_, err = Decode(marshal(t, Passthrough([]byte("no protobuf"), 1)))
	require.ErrorContains(t, err, "raw request: decode OTLP protobuf")
	_, err = Decode(marshal(t, Passthrough(nested(100_000), 1)))
	require.ErrorIs(t, err, ErrDepth)

	// Resources next to a raw request stay unchanged, and a raw request within a raw request is ignored.
	within := Passthrough(marshal(t, Passthrough(request(t), 3)), 3)
	opened, err = Decode(marshal(t, within))
	require.NoError(t, err)
	assert.Equal(t, 3, opened.SpanCount())
	assert.Zero(t, opened.ResourceSpans().At(0).Resource().Attributes().Len())
}

// counting returns a request with a span that has n tokens.
func counting(tb testing.TB, tokens func(pcommon.Value)) []byte {
	tb.Helper()
	td := ptrace.NewTraces()
	tokens(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutEmpty(runmodel.KeyInputTokens))
	return marshal(tb, td)
}

func TestExceeds(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[bool][]any{
		true:  {int64(1<<53 + 1), int64(1 << 62), int64(math.MaxInt64), 1e16, 1e300, math.Inf(1)},
		false: {int64(0), int64(-1), int64(math.MinInt64), int64(1 << 53), 1e15, math.NaN(), -1e300, "9223372036854775807"},
	} {
		for _, number := range numbers {
			seen, err := Scan(counting(t, func(v pcommon.Value) { require.NoError(t, v.FromRaw(number)) }), 200, math.MaxInt64)
			require.NoError(t, err)
			assert.Equal(t, want, seen.Exceeds, number)
		}
	}
	for key, numbers := range map[string][2]any{
		"llm.token_count.prompt":  {int64(1<<62 - 1024), int64(1 << 62)},
		"ai.usage.promptTokens":   {int64(1<<62 - 1024), int64(math.MaxInt64)},
		"gen_ai.usage.cost":       {1e19, 1e20},
		"auth.token.expires_unix": {int64(1_800_000_000_000_000_000), int64(math.MaxInt64)},
	} {
		for i, number := range numbers {
			td := ptrace.NewTraces()
			span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			require.NoError(t, span.Attributes().PutEmpty(key).FromRaw(number))
			seen, err := Scan(marshal(t, td), 200, math.MaxInt64)
			require.NoError(t, err)
			assert.Equal(t, i == 1, seen.Exceeds, "%s %v", key, number)
		}
	}
	// Other attributes have no limit and are not looked into.
	td := ptrace.NewTraces()
	attributes := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes()
	attributes.PutInt("at", math.MaxInt64)
	attributes.PutInt(runmodel.KeyInputTokens, 1)
	attributes.PutEmptyMap("m").PutInt("n", math.MaxInt64)
	attributes.PutInt(runmodel.KeyOutputTokens, 1)
	seen, err := Scan(marshal(t, td), 200, math.MaxInt64)
	require.NoError(t, err)
	assert.False(t, seen.Exceeds)
}

// FuzzPassthrough checks that a request which the walk calls regular and identified decodes to the same number of
// spans, all with ids, and none later than reported.
func FuzzPassthrough(f *testing.F) {
	f.Add(request(f))
	f.Add(within([]byte{0x2a, 1, 'x'}))
	f.Add(counting(f, func(v pcommon.Value) { v.SetInt(1 << 62) }))
	f.Add(counting(f, func(v pcommon.Value) { v.SetDouble(1e300) }))
	f.Fuzz(func(t *testing.T, body []byte) {
		seen, err := Scan(body, 200, math.MaxInt64)
		if err != nil || !seen.Regular {
			return
		}
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		require.NoError(t, err)
		assert.Equal(t, td.SpanCount(), seen.Spans)
		identified, exceeds := true, false
		for _, resourceSpans := range td.ResourceSpans().All() {
			for _, scopeSpans := range resourceSpans.ScopeSpans().All() {
				for _, span := range scopeSpans.Spans().All() {
					identified = identified && !span.TraceID().IsEmpty() && !span.SpanID().IsEmpty()
					for key, value := range span.Attributes().All() {
						number := value.Double()
						if value.Type() == pcommon.ValueTypeInt {
							number = runmodel.RoundUp(value.Int())
						}
						exceeds = exceeds || number > runmodel.Bound(key)
					}
					assert.LessOrEqual(t, uint64(max(span.StartTimestamp(), span.EndTimestamp())), seen.LastTime)
				}
			}
		}
		assert.Equal(t, identified, seen.Identified)
		assert.True(t, seen.Exceeds || !exceeds)
		opened, err := Decode(marshal(t, Passthrough(body, seen.Spans)))
		require.NoError(t, err)
		assert.Equal(t, td.SpanCount(), opened.SpanCount())
	})
}
