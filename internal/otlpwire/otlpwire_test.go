package otlpwire

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// nested returns a request whose one attribute nests n lists.
func nested(lists int) []byte {
	var headers [][]byte
	size := 0
	header := func(tag byte) []byte {
		h := binary.AppendUvarint([]byte{tag}, uint64(size))
		size += len(h)
		return h
	}
	for range lists { // from the innermost: AnyValue.array_value, ArrayValue.values
		headers = append(headers, header(0x0a), header(0x2a))
	}
	// KeyValue.value, Span.attributes, ScopeSpans.spans, ResourceSpans.scope_spans, request.resource_spans
	for _, tag := range []byte{0x12, 0x4a, 0x12, 0x12, 0x0a} {
		headers = append(headers, header(tag))
	}
	slices.Reverse(headers)
	return slices.Concat(headers...)
}

func TestDepth(t *testing.T) {
	t.Parallel()
	shallow := nested(90)
	_, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(shallow)
	require.NoError(t, err)
	_, err = Scan(shallow, 200, math.MaxInt64)
	require.NoError(t, err)
	for _, lists := range []int{100, 1_800_000} {
		_, err = Scan(nested(lists), 200, math.MaxInt64)
		require.ErrorIs(t, err, ErrDepth)
	}
}

func TestWeight(t *testing.T) {
	t.Parallel()
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for range 100 {
		spans.AppendEmpty().Attributes().PutStr("k", "v")
	}
	body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	seen, err := Scan(body, 200, math.MaxInt64)
	require.NoError(t, err)
	assert.Greater(t, seen.Weight, int64(100*(320+64+32)+len(body)))
	_, err = Scan(body, 200, seen.Weight)
	require.NoError(t, err)
	_, err = Scan(body, 200, seen.Weight-1)
	require.ErrorIs(t, err, ErrDense)
	_, err = Scan(body[:len(body)-1], 200, math.MaxInt64)
	require.Error(t, err, "cut off")
}

// FuzzLook checks that the walk accepts what the decoder accepts, except what it must refuse.
func FuzzLook(f *testing.F) {
	f.Add(nested(3))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := Scan(body, 200, math.MaxInt64)
		if err == nil {
			_, _ = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body) // must not end the process
		}
	})
}

func TestLogs(t *testing.T) {
	t.Parallel()
	deep := func(depth int) []byte {
		ld := plog.NewLogs()
		body := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body()
		for range depth {
			body = body.SetEmptySlice().AppendEmpty()
		}
		encoded, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		return encoded
	}
	weight, err := WeighLogs(deep(3), 200, math.MaxInt64)
	require.NoError(t, err)
	assert.Greater(t, weight, int64(288))
	_, err = WeighLogs(deep(100), 200, math.MaxInt64)
	require.ErrorIs(t, err, ErrDepth)
	_, err = WeighLogs(deep(3), 200, weight-1)
	require.ErrorIs(t, err, ErrDense)
}

// Every kind of metric weighs at least what its decoded values take.
func TestMetrics(t *testing.T) {
	t.Parallel()
	const values = 1000
	for name, add := range map[string]func(pmetric.Metric){
		"gauge": func(m pmetric.Metric) {
			points := m.SetEmptyGauge().DataPoints()
			for range values {
				points.AppendEmpty().Exemplars().AppendEmpty().FilteredAttributes().PutInt("k", 1)
			}
		},
		"sum":       func(m pmetric.Metric) { many(values, m.SetEmptySum().DataPoints().AppendEmpty) },
		"histogram": func(m pmetric.Metric) { many(values, m.SetEmptyHistogram().DataPoints().AppendEmpty) },
		"summary": func(m pmetric.Metric) {
			many(values, m.SetEmptySummary().DataPoints().AppendEmpty().QuantileValues().AppendEmpty)
		},
		"exponential histogram": func(m pmetric.Metric) { many(values, m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty) },
		"buckets": func(m pmetric.Metric) {
			m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty().Negative().BucketCounts().FromRaw(make([]uint64, 6*values))
		},
	} {
		md := pmetric.NewMetrics()
		add(md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty())
		body, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
		require.NoError(t, err)
		weight, err := WeighMetrics(body, 200, math.MaxInt64)
		require.NoError(t, err, name)
		assert.Greater(t, weight, int64(48*values+len(body)), name)
		_, err = WeighMetrics(body, 200, weight-1)
		require.ErrorIs(t, err, ErrDense, name)
		_, err = WeighMetrics(body, 4, math.MaxInt64)
		require.ErrorIs(t, err, ErrDepth, name)
	}
}

func many[T any](n int, add func() T) {
	for range n {
		add()
	}
}
