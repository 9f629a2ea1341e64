package runs

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who does not take what it is told is left behind; others are told on, and nothing is kept.
func TestSlowWatchIsLeftBehind(t *testing.T) {
	t.Parallel()
	var f feeds
	of := &feed{cancel: func() {}, watches: map[*Watch]struct{}{}}
	newWatch := func() *Watch {
		w := &Watch{feed: of, news: make(chan changes, maxBehind), filter: Filter{ProjectID: uuid.New()}}
		of.watches[w] = struct{}{}
		f.watches++
		return w
	}
	slow, quick := newWatch(), newWatch()
	for range maxBehind + 1 {
		f.tell(of, changes{at: time.Now()})
		<-quick.news
	}
	for range maxBehind {
		_, open := <-slow.news
		require.True(t, open)
	}
	_, _, err := slow.Next(t.Context())
	require.ErrorIs(t, err, ErrWatchBehind)
	assert.Equal(t, 1, f.watches)
	assert.Contains(t, of.watches, quick)
	f.remove(quick, ErrWatchClosed)
	f.remove(quick, ErrWatchClosed)
	assert.Zero(t, f.watches)
}
