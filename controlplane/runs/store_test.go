package runs

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// No statement reaches ClickHouse without the caller's projects; a nil connection would panic if one did.
func TestQueryNeedsAScope(t *testing.T) {
	t.Parallel()
	var rows []runmodel.Run
	scope := Scope{ProjectIDs: []uuid.UUID{uuid.New()}}
	require.ErrorIs(t, query(t.Context(), nil, scope, &rows, "SELECT * FROM runs"), errUnscoped)
	require.ErrorIs(t, query(t.Context(), nil, Scope{}, &rows, "SELECT * FROM runs WHERE {scope}"), ErrNotFound)
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

func TestDepths(t *testing.T) {
	t.Parallel()
	span := func(id, parent uint64) runmodel.Span { return runmodel.Span{SpanID: id, ParentSpanID: parent} }
	for name, test := range map[string]struct {
		spans []runmodel.Span
		want  []int
	}{
		"a tree":                {[]runmodel.Span{span(1, 0), span(2, 1), span(3, 2), span(4, 1)}, []int{0, 1, 2, 1}},
		"children first":        {[]runmodel.Span{span(3, 2), span(2, 1), span(1, 0)}, []int{2, 1, 0}},
		"a parent not arrived":  {[]runmodel.Span{span(2, 9), span(3, 2)}, []int{0, 1}},
		"its own parent":        {[]runmodel.Span{span(1, 1), span(2, 1)}, []int{0, 1}},
		"a circle ends somehow": {[]runmodel.Span{span(1, 2), span(2, 1)}, []int{1, 0}},
	} {
		assert.Equal(t, test.want, depthsOf(test.spans), name)
	}
}

func TestCutText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "short", cutText("short"))
	long := make([]byte, 0, cutAt+10)
	for len(long) < cutAt+5 {
		long = append(long, "ü"...)
	}
	assert.Len(t, cutText("x"+string(long)), cutAt-1, "no half rune at the end")
}
