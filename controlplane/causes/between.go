package causes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Difference is a subject of which two runs have other values.
type Difference struct {
	Kind Kind
	// Key names the subject. Title names it in words, and both values.
	Key, Title string
}

// maxDifferences is how many differences are listed.
const maxDifferences = 50

// between names the first failed run and the last good one before it, and what differs between them. read are the runs that were read.
func (f *Found) between(ctx context.Context, reader *reader, failed uuid.UUID, good *uuid.UUID, first time.Time, read []Run) error {
	f.FirstFailed = RunRef{failed, first}
	if good == nil {
		return nil
	}
	ends := make([]*Run, 0, 2)
	for _, id := range []uuid.UUID{failed, *good} {
		at := slices.IndexFunc(read, func(r Run) bool { return r.ID == id })
		if at >= 0 {
			ends = append(ends, &read[at])
			continue
		}
		alone, err := reader.read(ctx, []uuid.UUID{id}, new(Read))
		if err != nil {
			return err
		}
		if len(alone) == 0 {
			return nil // gone or too large
		}
		ends = append(ends, &alone[0])
	}
	f.LastGood = &RunRef{*good, ends[1].Start}
	f.Differences = differences(ends[0], ends[1])
	return nil
}

// differences are what a failed run has that a good one has otherwise, what makes the agent first.
func differences(failed, good *Run) []Difference {
	c := comparison{failed: []Run{*failed}, good: []Run{*good}}
	c.runs = slices.Concat(c.failed, c.good)
	found := []Difference{}
	columns := c.columns()
	slices.SortStableFunc(columns, func(a, b *column) int {
		return cmp.Or(cmp.Compare(specific(a.kind), specific(b.kind)), strings.Compare(a.key(), b.key()))
	})
	for _, col := range columns {
		if len(found) < maxDifferences && col.told[0] && col.told[1] && col.has[0] && !col.has[1] {
			counter, text := c.counter(col)
			found = append(found, Difference{col.kind, col.key(), c.title(col, counter, text)})
		}
	}
	return found
}
