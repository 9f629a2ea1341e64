package clickhouse

import (
	"bytes"
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Comparisons in the ORDER BY of each table.

func compareSpans(a, b *runmodel.Span) int {
	if c := compareIDs(a.ProjectID, b.ProjectID); c != 0 {
		return c
	}
	if c := compareHours(a.StartTime, b.StartTime); c != 0 {
		return c
	}
	if c := compareIDs(a.RunID, b.RunID); c != 0 {
		return c
	}
	return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.SpanID, b.SpanID), cmp.Compare(a.Version, b.Version))
}

func compareContents(a, b *runmodel.Content) int {
	if c := compareIDs(a.ProjectID, b.ProjectID); c != 0 {
		return c
	}
	if c := a.Hour.Compare(b.Hour); c != 0 {
		return c
	}
	if c := compareIDs(a.RunID, b.RunID); c != 0 {
		return c
	}
	return cmp.Compare(a.ContentID, b.ContentID)
}

func compareShared(a, b *runmodel.SharedContent) int {
	return cmp.Or(
		compareIDs(a.ProjectID, b.ProjectID), a.Day.Compare(b.Day),
		cmp.Compare(a.ContentID, b.ContentID), cmp.Compare(a.SharedTail, b.SharedTail),
	)
}

func compareBounds(a, b *Bounds) int {
	return cmp.Or(compareIDs(a.ProjectID, b.ProjectID), compareIDs(a.RunID, b.RunID))
}

func compareRuns(a, b *runmodel.Run) int {
	return cmp.Or(
		compareIDs(a.ProjectID, b.ProjectID), compareHours(a.StartTime, b.StartTime), compareIDs(a.RunID, b.RunID),
	)
}

// compareIDs compares UUIDs like ClickHouse: by their second half, then by their first.
func compareIDs(a, b uuid.UUID) int {
	const half = len(a) / 2
	if c := bytes.Compare(a[half:], b[half:]); c != 0 {
		return c
	}
	return bytes.Compare(a[:half], b[:half])
}

func compareHours(a, b time.Time) int {
	const second = int64(time.Hour / time.Second)
	return cmp.Compare(a.Unix()/second, b.Unix()/second)
}
