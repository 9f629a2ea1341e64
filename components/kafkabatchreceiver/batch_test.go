package kafkabatchreceiver

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/otlpwire"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// The version of a span must not depend on the division of records into batches.
func TestVersionIsTheSameInEveryBatching(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	records := make([]*kgo.Record, 200)
	for i := range records {
		traces := ptrace.NewTraces()
		for j := range random.IntN(4) {
			resource := traces.ResourceSpans().AppendEmpty()
			scope := resource.ScopeSpans().AppendEmpty()
			for k := range random.IntN(5) {
				scope.Spans().AppendEmpty().SetName(fmt.Sprintf("%d/%d/%d", i, j, k))
			}
		}
		records[i] = &kgo.Record{Value: encode(t, traces), Offset: random.Int64(), Timestamp: time.UnixMilli(random.Int64N(2e12))}
	}
	versionsIn := func(records []*kgo.Record) map[string]int64 {
		traces, _, _ := merge(entriesOf(records))
		return versions(traces)
	}
	want := versionsIn(records)
	for round := range 20 {
		got := map[string]int64{}
		order := random.Perm(len(records))
		for len(order) > 0 {
			n := 1 + random.IntN(min(len(order), 50))
			part := make([]*kgo.Record, 0, n)
			for _, i := range order[:n] {
				part = append(part, records[i])
			}
			order = order[n:]
			maps.Copy(got, versionsIn(part))
		}
		require.Equal(t, want, got, "round %d", round)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	traces := ptrace.NewTraces()
	for _, spans := range []int{3, 0, 2} {
		resource := traces.ResourceSpans().AppendEmpty()
		resource.Resource().Attributes().PutStr("service.name", "kept")
		for range spans {
			resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		}
	}
	record := &kgo.Record{Value: encode(t, traces), Partition: 3, Offset: 5_000_007, Timestamp: time.UnixMilli(1_700_000_000_123)}
	decoded, err := decode(record)
	require.NoError(t, err)
	// 3·6,181 + 5,000,007 is 8,550 modulo 10,000.
	for i, want := range []int64{1_700_000_000_123_855_000, 1_700_000_000_123_855_003, 1_700_000_000_123_855_003} {
		assert.Equal(t, map[string]any{"service.name": "kept", runmodel.KeyReceivedAt: want},
			decoded.ResourceSpans().At(i).Resource().Attributes().AsRaw())
	}
}

// TestVersionsOfNeighbours checks that versions of records of one millisecond, up to a hundred spans long, are
// unique: for neighbours, and for records at the same offset of other partitions. Within a partition later ones are
// newer.
func TestVersionsOfNeighbours(t *testing.T) {
	t.Parallel()
	traces := ptrace.NewTraces()
	for i := range 100 {
		scope := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		scope.Spans().AppendEmpty().SetName(name(i))
	}
	value := encode(t, traces)
	seen := map[int64]bool{}
	for partition := range int32(16) {
		newest := int64(0)
		for offset := range int64(10) {
			decoded, err := decode(&kgo.Record{Value: value, Partition: partition, Offset: offset, Timestamp: time.UnixMilli(7)})
			require.NoError(t, err)
			of := versions(decoded)
			require.Greater(t, of[name(0)], newest)
			for _, version := range of {
				require.False(t, seen[version])
				seen[version] = true
				newest = max(newest, version)
			}
			require.Less(t, newest, 8*int64(time.Millisecond))
		}
	}
}

// OTLP allows duplicate keys. All values from a client must be removed.
func TestVersionOfTheClientIsReplaced(t *testing.T) {
	t.Parallel()
	// A pdata map cannot have duplicate keys, so this is encoded by hand.
	field := func(number int, content []byte) []byte {
		return append(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(content))), content...)
	}
	var resource []byte
	for claim := range byte(3) {
		resource = append(resource, field(1, slices.Concat(
			field(1, []byte(runmodel.KeyReceivedAt)),
			field(2, []byte{3 << 3, claim}),
		))...)
	}
	value := field(1, field(1, resource))
	var unmarshaler ptrace.ProtoUnmarshaler
	claimed, err := unmarshaler.UnmarshalTraces(value)
	require.NoError(t, err)
	require.Equal(t, 3, claimed.ResourceSpans().At(0).Resource().Attributes().Len())

	decoded, err := decode(&kgo.Record{Value: value, Timestamp: time.UnixMilli(7)})
	require.NoError(t, err)
	attributes := decoded.ResourceSpans().At(0).Resource().Attributes()
	assert.Equal(t, 1, attributes.Len())
	assert.Equal(t, map[string]any{runmodel.KeyReceivedAt: int64(7_000_000)}, attributes.AsRaw())
}

// A record that nests too deep is a dead letter like any other that cannot be decoded, and does not affect others.
func TestDeepRecordIsUndecodable(t *testing.T) {
	t.Parallel()
	deep := ptrace.NewTraces()
	value := deep.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutEmptySlice("k")
	for range 1_000 {
		value = value.AppendEmpty().SetEmptySlice()
	}
	plain := ptrace.NewTraces()
	plain.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	var b batch
	for _, e := range entriesOf([]*kgo.Record{{Value: encode(t, deep)}, {Value: encode(t, plain)}}) {
		b.add(e)
	}
	assert.Equal(t, 1, b.spans)
	traces, decoded, undecodable := merge(b.entries)
	require.Len(t, undecodable, 1)
	require.ErrorIs(t, undecodable[0].err, otlpwire.ErrDepth)
	assert.Equal(t, b.entries[1:], decoded)
	assert.Equal(t, 1, traces.SpanCount())
}

func FuzzDecode(f *testing.F) {
	traces := ptrace.NewTraces()
	span := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName("step")
	span.Attributes().PutStr("key", "value")
	f.Add(encode(f, traces), int64(0), int64(0))
	f.Add([]byte{}, int64(-1), int64(1<<62))
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0f"), int64(1), int64(-1))
	f.Fuzz(func(t *testing.T, value []byte, offset, milliseconds int64) {
		record := &kgo.Record{Value: value, Offset: offset, Timestamp: time.UnixMilli(milliseconds)}
		first, err := decode(record)
		if err != nil {
			return
		}
		assert.Equal(t, first.SpanCount(), otlpwire.CountSpans(value))
		second, err := decode(record)
		require.NoError(t, err)
		assert.Equal(t, encode(t, first), encode(t, second))
	})
}

func entriesOf(records []*kgo.Record) []entry {
	entries := make([]entry, 0, len(records))
	for _, record := range records {
		entries = append(entries, entry{record: record, owner: &ownership{}})
	}
	return entries
}

func versions(traces ptrace.Traces) map[string]int64 {
	got := map[string]int64{}
	for _, resource := range traces.ResourceSpans().All() {
		version, _ := resource.Resource().Attributes().Get(runmodel.KeyReceivedAt)
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				got[span.Name()] = version.Int()
			}
		}
	}
	return got
}

func encode(tb testing.TB, traces ptrace.Traces) []byte {
	tb.Helper()
	var marshaler ptrace.ProtoMarshaler
	value, err := marshaler.MarshalTraces(traces)
	require.NoError(tb, err)
	return value
}

// TestPatience checks that a batch waits longer only during a flood.
func TestPatience(t *testing.T) {
	t.Parallel()
	r := &tracesReceiver{cfg: &Config{MaxBatchSpans: 1000, MaxBatchBytes: 1 << 20, MaxBatchDelay: 100 * time.Millisecond}}
	for _, test := range []struct {
		records, spans, bytes int
		want                  time.Duration
	}{
		{1, 1, 1000, 100 * time.Millisecond},
		{50, 99, 100 << 10, 100 * time.Millisecond},
		{1, 900, 900 << 10, 100 * time.Millisecond},
		{10, 100, 1000, time.Second},
		{10, 10, 200 << 10, time.Second},
		{100, 5000, 9 << 20, time.Second},
	} {
		assert.Equal(t, test.want, r.patience(&batch{entries: make([]entry, test.records), spans: test.spans, bytes: test.bytes}))
	}
}
