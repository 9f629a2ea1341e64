package ratelimit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testRecord() *record {
	return &record{
		replica: "a", epoch: 1_700_000_000_000_000_000, seq: 12, snapshotFrom: 11, leaving: true,
		entries: []entry{
			{
				subject: testSubject, incarnation: 3,
				limits:   Limits{Requests: {Rate: 0.5, Burst: 10}, Spans: {Rate: 1e6, Burst: 1e7}},
				counters: [measures]uint64{Requests: 7, Spans: 1 << 40}, levels: [measures]float64{Requests: -3, Spans: 12},
			},
			{
				subject: Subject{Kind: Key, ID: "not a UUID"}, incarnation: 1,
				limits: Limits{Bytes: {Rate: 1, Burst: 1}}, counters: [measures]uint64{Bytes: 5},
			},
		},
	}
}

func TestRecordSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	want := testRecord()
	encoded := want.encode()
	got, err := decode(encoded)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for n := range encoded {
		_, err := decode(encoded[:n])
		require.Error(t, err, "cut off at %d", n)
	}
}

func TestRecordOfOneBucketIsSmall(t *testing.T) {
	t.Parallel()
	r := testRecord()
	empty := len((&record{replica: "a", epoch: r.epoch, seq: r.seq}).encode())
	r.entries = []entry{{
		subject: testSubject, incarnation: 100, limits: Limits{Requests: {Rate: 100, Burst: 1000}},
		counters: [measures]uint64{1_000_000}, levels: [measures]float64{500},
	}}
	assert.LessOrEqual(t, len(r.encode())-empty, 32)
}

func FuzzDecode(f *testing.F) {
	f.Add(testRecord().encode())
	f.Add([]byte{recordVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(r.encode())
		require.NoError(t, err)
		require.Len(t, again.entries, len(r.entries))
		l := New()
		l.Join("fuzz")
		l.receive(b, l.now())
	})
}
