package runs

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// No statement reaches ClickHouse without the caller's projects. The nil connection would panic if one did.
func TestQueryNeedsProjects(t *testing.T) {
	t.Parallel()
	var rows []runmodel.Run
	projects := accesstest.Projects(t, uuid.New())
	require.ErrorIs(t, query(t.Context(), store{}, projects, &rows, "SELECT * FROM runs"), errNoProjects)
	require.ErrorIs(t, query(t.Context(), store{}, access.Projects{}, &rows, "SELECT * FROM runs WHERE {projects}"), ErrNotFound)
}

func TestCursor(t *testing.T) {
	t.Parallel()
	c := cursor{List: listRuns, Time: time.Now().UnixNano(), ID: uuid.NewString()}
	got, err := parseCursor(c.String(), listRuns)
	require.NoError(t, err)
	assert.Equal(t, c, got)
	for _, text := range []string{
		"", "!", "e30", c.String() + "x", c.String()[1:],
		cursor{List: listSpans, ID: "00"}.String(),
		cursor{List: listRuns, ID: "') OR 1=1"}.String(),
	} {
		_, err := parseCursor(text, listRuns)
		require.ErrorIs(t, err, ErrInvalidCursor, text)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{List: listRuns, Time: 1, ID: uuid.NewString()}.String())
	f.Add("eyJsIjoicnVucyJ9")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text, listRuns)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalidCursor)
			return
		}
		_, err = uuid.Parse(c.ID)
		require.NoError(t, err)
	})
}

// Spans that start at the same time are not in the order of their ids (TestSortByStart of runmodel).
func TestCursorAfter(t *testing.T) {
	t.Parallel()
	at := func(id uint64, seconds int64) Span {
		return Span{Span: runmodel.Span{SpanID: id, StartTime: time.Unix(seconds, 0)}}
	}
	spans := []Span{at(9, 1), at(3, 1), at(4, 1), at(1, 2)}
	for i := range spans {
		c := cursor{List: listSpans, Time: spans[i].StartTime.UnixNano(), ID: runmodel.FormatSpanID(spans[i].SpanID)}
		assert.Equal(t, i+1, c.after(spans))
	}
	for _, id := range []string{"", "no id", runmodel.FormatSpanID(0), runmodel.FormatSpanID(5)} {
		assert.Equal(t, 3, cursor{Time: time.Unix(1, 0).UnixNano(), ID: id}.after(spans), "one that is gone: %q", id)
	}
	assert.Equal(t, 0, cursor{ID: runmodel.FormatSpanID(5)}.after(spans))
}

func TestCutText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "short", cutText("short"))
	long := make([]byte, 0, maxListedPayload+10)
	for len(long) < maxListedPayload+5 {
		long = append(long, "ü"...)
	}
	assert.Len(t, cutText("x"+string(long)), maxListedPayload-1, "no half rune at the end")
}
