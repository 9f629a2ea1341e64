package clickhouserunsexporter

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// TestMemory holds that contents are remembered within the bound, and that what was handed out does not change.
func TestMemory(t *testing.T) {
	t.Parallel()
	hours := make([]runpdata.RunHour, 4)
	for i := range hours {
		hours[i] = runpdata.RunHour{RunKey: runmodel.RunKey{RunID: uuid.New()}, Hour: 3600}
	}
	m := newMemory(4)
	assert.Empty(t, m.of(hours[0]))
	m.add(hours[0], runpdata.KnownContents{1: 10})
	m.add(hours[1], runpdata.KnownContents{1: 11})
	before := m.of(hours[0])
	m.add(hours[0], runpdata.KnownContents{2: 20})
	assert.Equal(t, runpdata.KnownContents{1: 10}, before)
	assert.Equal(t, runpdata.KnownContents{1: 10, 2: 20}, m.of(hours[0]))

	m.add(hours[2], runpdata.KnownContents{1: 12})
	assert.Len(t, m.of(hours[1]), 1, "four are within the bound; and now it was asked for")
	m.add(hours[3], runpdata.KnownContents{1: 13})
	assert.Empty(t, m.of(hours[0]), "the one that was not heard of for longest")
	assert.Equal(t, runpdata.KnownContents{1: 11}, m.of(hours[1]))
	assert.Equal(t, runpdata.KnownContents{1: 12}, m.of(hours[2]))
	assert.Equal(t, 3, m.held)

	m.add(hours[0], runpdata.KnownContents{1: 1, 2: 2, 3: 3, 4: 4, 5: 5})
	assert.Empty(t, m.of(hours[0]), "more than is remembered at all")
	assert.Zero(t, m.held)

	m.add(hours[0], runpdata.KnownContents{1: 1})
	m.forget()
	assert.Empty(t, m.of(hours[0]))
	assert.Zero(t, m.held)
}

func TestSharings(t *testing.T) {
	t.Parallel()
	const most = 10
	key := func(id uint64) runpdata.SharedKey { return runpdata.SharedKey{ContentID: id} }
	s := newSharings(most)
	assert.Equal(t, runpdata.SharingUnseen, s.of(key(1)))
	s.add(key(1), runpdata.SharingSeen)
	s.add(key(1), runpdata.SharingStored)
	s.add(key(2), runpdata.SharingSeen)
	for id := range uint64(100) {
		s.add(key(100+id), runpdata.SharingSeen)
		assert.Equal(t, runpdata.SharingStored, s.of(key(1)), "asked for again and again")
		assert.LessOrEqual(t, len(s.newer)+len(s.older), most)
	}
	assert.Equal(t, runpdata.SharingUnseen, s.of(key(2)))
	assert.Equal(t, runpdata.SharingSeen, s.of(key(199)))
	s.forget()
	assert.Equal(t, runpdata.SharingUnseen, s.of(key(1)))
}
