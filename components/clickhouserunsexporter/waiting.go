package clickhouserunsexporter

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// waitingFrameworks are those whose log records may name a conversation in place of a span.
var waitingFrameworks = []string{"codex", "gemini-cli"}

const (
	// recordsAround is how far from a call its records may be, and callsBefore how far before a record its call may begin.
	recordsAround = time.Minute
	callsBefore   = 12 * time.Hour
)

// place moves records that wait to the runs of their calls. The calls or the records are in a batch that is stored: of two
// writers that have one of the two each, at least the one that reads later sees both.
func (e *runsExporter) place(ctx context.Context, spans []runmodel.Span, waiting []runmodel.WaitingRecord) error {
	for _, of := range conversationsOf(spans, waiting) {
		records, err := clickhouse.ReadWaiting(ctx, e.conn, of)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		of.First = of.First.Add(-callsBefore)
		calls, err := clickhouse.ReadCalls(ctx, e.conn, of)
		if err != nil {
			return err
		}
		if err := e.placeAt(ctx, records, calls); err != nil {
			return err
		}
	}
	return nil
}

// dayOfProject is a day of a project. A clock that is wrong leads to a day of its own: it widens the time of no other.
type dayOfProject struct {
	project uuid.UUID
	day     time.Time
}

// conversationsOf returns the conversations of a batch whose records may be moved, by day.
func conversationsOf(spans []runmodel.Span, waiting []runmodel.WaitingRecord) map[dayOfProject]clickhouse.Conversations {
	found := map[dayOfProject]clickhouse.Conversations{}
	add := func(project uuid.UUID, first, last time.Time, ids ...string) {
		key := dayOfProject{project, last.Truncate(24 * time.Hour)}
		if first.Before(key.day) {
			first = key.day
		}
		first, last = first.Add(-recordsAround), last.Add(recordsAround)
		c, ok := found[key]
		if !ok {
			c = clickhouse.Conversations{ProjectID: project, First: first, Last: last}
		}
		if first.Before(c.First) {
			c.First = first
		}
		if last.After(c.Last) {
			c.Last = last
		}
		for _, id := range ids {
			if id != "" && !slices.Contains(c.IDs, id) {
				c.IDs = append(c.IDs, id)
			}
		}
		found[key] = c
	}
	for i := range spans {
		s := &spans[i]
		if s.FromLog || !slices.Contains(waitingFrameworks, s.Framework) || s.SessionID == "" && s.ConversationID == "" {
			continue
		}
		last := s.EndTime
		if last.Before(s.StartTime) { // it has not ended
			last = s.StartTime
		}
		add(s.ProjectID, s.StartTime, last, s.SessionID, s.ConversationID)
	}
	for i := range waiting {
		add(waiting[i].ProjectID, waiting[i].At, waiting[i].At, waiting[i].Conversation)
	}
	return found
}

// placeAt stores records as versions below their calls, and notes that they wait no longer.
func (e *runsExporter) placeAt(ctx context.Context, records []runmodel.WaitingRecord, calls []runmodel.Span) error {
	rows := runpdata.Rows{Stored: e.contents.get, ShareState: e.shared.get}
	var placed []runmodel.WaitingRecord
	for i := range records {
		row, err := runpdata.WaitingRow(&records[i])
		if err != nil {
			return err
		}
		call := runmodel.PlaceRecord(&row, calls)
		if call == nil {
			continue
		}
		td, err := runpdata.PlaceWaiting(&records[i], call)
		if err != nil {
			return err
		}
		if err := rows.Add(td); err != nil {
			return err
		}
		records[i].Traces = ""
		placed = append(placed, records[i])
	}
	if len(placed) == 0 {
		return nil
	}
	if err := e.storeRows(ctx, &rows); err != nil {
		return err
	}
	return clickhouse.InsertWaiting(ctx, e.conn, placed)
}
