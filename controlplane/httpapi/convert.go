package httpapi

import (
	"time"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// defaultLimit is the length of a page if the request has no limit.
const defaultLimit = 50

func pageOf(limit, offset *int) postgres.Page {
	page := postgres.Page{Limit: defaultLimit}
	if limit != nil {
		page.Limit = *limit
	}
	if offset != nil {
		page.Offset = *offset
	}
	return page
}

// known returns nil for an empty text.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// present returns nil for an absent time.
func present(t time.Time) *time.Time {
	if runmodel.IsAbsent(t) {
		return nil
	}
	return utc(&t)
}

func elapsed(start, end time.Time) *float64 {
	if runmodel.IsAbsent(end) {
		return nil
	}
	ms := float64(end.Sub(start)) / float64(time.Millisecond)
	return &ms
}

func count(n uint64) int64 { return int64(n) }

// list is never null in JSON.
func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

// cutMembers returns nil, which JSON leaves out, if nothing was cut.
func cutMembers(members []string) *[]string {
	if len(members) == 0 {
		return nil
	}
	return &members
}

// all is never null in JSON.
func all[T any](values []T) *[]T {
	if values == nil {
		values = []T{}
	}
	return &values
}

// object is never null in JSON.
func object(members map[string]any) *map[string]any {
	if members == nil {
		members = map[string]any{}
	}
	return &members
}

func valueOf[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}
	return *value
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
