package runs

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// cursor is a place in a list ordered by time and id. Its text is opaque to clients.
type cursor struct {
	List string `json:"l"`
	// Time is in Unix nanoseconds.
	Time int64  `json:"t"`
	ID   string `json:"i"`
	// What digest says of the filter of a list of runs or threads.
	Filter string `json:"f,omitempty"`
	// Of lists of runs: their order; the value that the order goes by, null where it
	// is not known; and, where earlier runs were left out, the start of the first that were not, in Unix nanoseconds.
	Order string `json:"o,omitempty"`
	Value *int64 `json:"v,omitempty"`
	From  int64  `json:"s,omitempty"`
}

// The lists that have cursors.
const (
	listRuns    = "runs"
	listSpans   = "spans"
	listThreads = "threads"
	listTurns   = "turns"
)

func (c cursor) String() string {
	text, _ := json.Marshal(c) // strings and an integer always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text, list string) (cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, ErrInvalidCursor
	}
	var c cursor
	if err := json.Unmarshal(raw, &c); err != nil || c.List != list {
		return cursor{}, ErrInvalidCursor
	}
	if list == listRuns || list == listTurns {
		if _, err := uuid.Parse(c.ID); err != nil {
			return cursor{}, ErrInvalidCursor
		}
	}
	if list == listThreads {
		if _, err := strconv.ParseUint(c.ID, 10, 64); err != nil {
			return cursor{}, ErrInvalidCursor
		}
	}
	return c, nil
}

// behind is the place behind a cursor's span. Where that is not there, no more is known of it than when it started.
func (c cursor) behind(spans []Span) int {
	id, err := strconv.ParseUint(c.ID, 16, 64)
	if at := slices.IndexFunc(spans, func(s Span) bool { return s.SpanID == id }); err == nil && at >= 0 {
		return at + 1
	}
	at, _ := slices.BinarySearchFunc(spans, c.Time, func(s Span, start int64) int {
		return cmp.Or(cmp.Compare(s.StartTime.UnixNano(), start), -1) // behind those that start at once with it
	})
	return at
}
