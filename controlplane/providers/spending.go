package providers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Group is what spending is grouped by.
type Group string

// The groups.
const (
	ByProvider Group = "provider"
	ByFeature  Group = "feature"
	ByCaller   Group = "caller"
	ByModel    Group = "model"
	ByDay      Group = "day"
)

// maxSpendingRows limits the rows of spending.
const maxSpendingRows = 100

// Totals are sums over requests to providers.
type Totals struct {
	// Calls are all requests, Failed those that failed, Running those under way.
	Calls, Failed, Running int64
	// Cost is the sum of known costs. Bounded is the most that BoundedCalls of unknown cost can have cost.
	Cost, Bounded Money
	BoundedCalls  int64
	// Unpriced calls have no known price, and no part in any amount.
	Unpriced int64
	// Reserved is the most that calls under way can cost.
	Reserved Money
}

// SpendingRow is the spending of one connection, feature, caller, model or day.
type SpendingRow struct {
	Key   string
	Label *string
	Totals
}

// Spending is what the calls of a project cost.
type Spending struct {
	Total Totals
	// Rows are those that cost most first; days are in order. Other is all further rows together, nil if there are none.
	Rows  []SpendingRow
	Other *Totals
}

// Spending returns what the calls of a project cost that began in a time.
func (s *Service) Spending(ctx context.Context, grant access.Grant, start, end time.Time, by Group) (Spending, error) {
	project, err := grant.Project()
	if err != nil {
		return Spending{}, err
	}
	rows, err := postgres.Many[SpendingRow](ctx, s.calls, "sum spending", pgx.NamedArgs{"project": project, "start": start, "end": end, "group": by})
	if err != nil {
		return Spending{}, err
	}
	slices.SortFunc(rows, func(a, b SpendingRow) int {
		if by == ByDay {
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Or(cmp.Compare(b.Cost+b.Bounded, a.Cost+a.Bounded), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Key, b.Key))
	})
	found := Spending{Rows: rows}
	for i := range rows {
		found.Total.add(&rows[i].Totals)
	}
	if len(rows) > maxSpendingRows {
		cut := rows[maxSpendingRows:]
		found.Rows = rows[:maxSpendingRows]
		if by == ByDay { // the newest days
			cut, found.Rows = rows[:len(rows)-maxSpendingRows], rows[len(rows)-maxSpendingRows:]
		}
		found.Other = &Totals{}
		for i := range cut {
			found.Other.add(&cut[i].Totals)
		}
	}
	return found, nil
}

func (t *Totals) add(o *Totals) {
	t.Calls, t.Failed, t.Running = t.Calls+o.Calls, t.Failed+o.Failed, t.Running+o.Running
	t.Cost, t.Bounded, t.BoundedCalls = t.Cost+o.Cost, t.Bounded+o.Bounded, t.BoundedCalls+o.BoundedCalls
	t.Unpriced, t.Reserved = t.Unpriced+o.Unpriced, t.Reserved+o.Reserved
}
