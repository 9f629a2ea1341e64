package kafkabatchreceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestCommitOfWhatIsOwned checks that nothing of a lost partition is committed or counted.
func TestCommitOfWhatIsOwned(t *testing.T) {
	t.Parallel()
	o := newOwnerships()
	o.assign([]int32{0, 1})
	kept, lost := o.of(0), o.of(1)
	var entries []entry
	for offset := range int64(3) {
		entries = append(entries,
			entry{record: &kgo.Record{Partition: 0, Offset: 2 - offset}, owner: kept}, entry{record: &kgo.Record{Partition: 1, Offset: offset}, owner: lost})
	}
	var committed []*kgo.Record
	do := func(last []*kgo.Record) error { committed = append(committed, last...); return nil }
	o.lose([]int32{1})
	o.assign([]int32{1}) // assigned again: a new ownership
	n, err := o.commit(entries, do)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, []*kgo.Record{entries[0].record}, committed)

	o.lose([]int32{0})
	n, err = o.commit(entries, do)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Len(t, committed, 1)
}
