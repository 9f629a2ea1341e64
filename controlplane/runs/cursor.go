package runs

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// cursor is a position in a list ordered by time and id. Its text is opaque to clients.
type cursor struct {
	List string `json:"l"`
	// Time is in Unix nanoseconds.
	Time int64  `json:"t"`
	ID   string `json:"i"`
	// Filter is the digest of the filter of a list of runs or threads.
	Filter string `json:"f,omitempty"`
	// Order, Value and From belong to lists of runs. Value is what the list is ordered by, nil where it is unknown. From is the start of
	// the first run that was read, in Unix nanoseconds, where earlier ones were left out.
	Order string `json:"o,omitempty"`
	Value *int64 `json:"v,omitempty"`
	From  int64  `json:"s,omitempty"`
}

// The lists that have cursors.
const (
	listRuns       = "runs"
	listSpans      = "spans"
	listThreads    = "threads"
	listThreadRuns = "turns"
)

func (c cursor) String() string {
	text, _ := json.Marshal(c) // strings and an integer always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// readCursor parses the cursor of a request, which is nil if text is empty. filter is the digest of the list's filter, if it has one.
func readCursor(text, list, filter string) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	c, err := parseCursor(text, list)
	if err == nil && c.Filter != filter {
		err = ErrInvalidCursor
	}
	return &c, err
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
	if list == listRuns || list == listThreadRuns {
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

// after returns the index after the cursor's span. If the span is gone, only its start time is known.
func (c cursor) after(spans []Span) int {
	id, err := strconv.ParseUint(c.ID, 16, 64)
	if at := slices.IndexFunc(spans, func(s Span) bool { return s.SpanID == id }); err == nil && at >= 0 {
		return at + 1
	}
	at, _ := slices.BinarySearchFunc(spans, c.Time, func(s Span, start int64) int {
		return cmp.Or(cmp.Compare(s.StartTime.UnixNano(), start), -1) // after those that start at the same time
	})
	return at
}
