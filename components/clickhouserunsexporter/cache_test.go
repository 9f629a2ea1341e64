package clickhouserunsexporter

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// TestMemory checks that the cache keeps its limit, and that returned maps do not change.
func TestMemory(t *testing.T) {
	t.Parallel()
	hours := make([]runpdata.RunHour, 4)
	for i := range hours {
		hours[i] = runpdata.RunHour{RunKey: runmodel.RunKey{RunID: uuid.New()}, Hour: 3600}
	}
	m := newContentCache(4)
	assert.Empty(t, m.get(hours[0]))
	m.add(hours[0], runpdata.KnownContents{1: 10})
	m.add(hours[1], runpdata.KnownContents{1: 11})
	before := m.get(hours[0])
	m.add(hours[0], runpdata.KnownContents{2: 20})
	assert.Equal(t, runpdata.KnownContents{1: 10}, before)
	assert.Equal(t, runpdata.KnownContents{1: 10, 2: 20}, m.get(hours[0]))

	m.add(hours[2], runpdata.KnownContents{1: 12})
	assert.Len(t, m.get(hours[1]), 1, "four are within the bound; and now it was asked for")
	m.add(hours[3], runpdata.KnownContents{1: 13})
	assert.Empty(t, m.get(hours[0]), "the one that was not heard of for longest")
	assert.Equal(t, runpdata.KnownContents{1: 11}, m.get(hours[1]))
	assert.Equal(t, runpdata.KnownContents{1: 12}, m.get(hours[2]))
	assert.Equal(t, 3, m.held)

	m.add(hours[0], runpdata.KnownContents{1: 1, 2: 2, 3: 3, 4: 4, 5: 5})
	assert.Empty(t, m.get(hours[0]), "more than is remembered at all")
	assert.Zero(t, m.held)

	m.add(hours[0], runpdata.KnownContents{1: 1})
	m.clear()
	assert.Empty(t, m.get(hours[0]))
	assert.Zero(t, m.held)
}

func TestSharedContentCache(t *testing.T) {
	t.Parallel()
	const capacity = 10
	key := func(id uint64) runpdata.SharedKey { return runpdata.SharedKey{ContentID: id} }
	s := newSharedContentCache(capacity)
	assert.Equal(t, runpdata.ShareUnseen, s.get(key(1)))
	s.add(key(1), runpdata.ShareSeenOnce)
	s.add(key(1), runpdata.ShareStored)
	s.add(key(2), runpdata.ShareSeenOnce)
	for id := range uint64(100) {
		s.add(key(100+id), runpdata.ShareSeenOnce)
		assert.Equal(t, runpdata.ShareStored, s.get(key(1)), "asked for again and again")
		assert.LessOrEqual(t, len(s.newer)+len(s.older), capacity)
	}
	assert.Equal(t, runpdata.ShareUnseen, s.get(key(2)))
	assert.Equal(t, runpdata.ShareSeenOnce, s.get(key(199)))
	s.clear()
	assert.Equal(t, runpdata.ShareUnseen, s.get(key(1)))
}
