package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// SpansQuery selects a page of a run's spans.
type SpansQuery struct {
	Full   bool
	Limit  int
	Cursor string
}

// SpanPage is a page of spans in start order. SpanCount counts all spans of the run.
type SpanPage struct {
	Spans      []Span
	SpanCount  int
	HasMore    bool
	NextCursor string
}

// Span is a folded span as it is read. Without payloads, messages, attributes, events and links are nil.
type Span struct {
	runmodel.Span
	Depth        int
	UsageCounted bool
	// Scores are the newest of the span.
	Scores []runmodel.Score

	Inputs    *string
	Outputs   *string
	Truncated bool
	// Cut names the members, as the API does, that a list has cut.
	Cut []string

	SystemInstructions []json.RawMessage
	InputMessages      []json.RawMessage
	OutputMessages     []json.RawMessage
	ToolDefinitions    []json.RawMessage
	Attributes         map[string]any
	ResourceAttributes map[string]any
	// Resource is ResourceAttributes as they are stored, with all digits of their numbers.
	Resource json.RawMessage
	Events   []runmodel.Event
	Links    []runmodel.Link
}

// maxListed is how many bytes one statement reads to list all spans of a run. For a larger run, one statement reads the tree and others
// the page.
const maxListed = 64 << 20

// Spans returns a page of a run's spans in start order.
func (s *Service) Spans(ctx context.Context, projects access.Projects, runID uuid.UUID, q SpansQuery) (SpanPage, error) {
	after, err := readCursor(q.Cursor, listSpans, "")
	if err != nil {
		return SpanPage{}, err
	}
	return located(ctx, s, projects, runID, func(ctx context.Context, loc location, runID uuid.UUID) (SpanPage, error) {
		return s.spansAt(ctx, loc, runID, q, after)
	})
}

func (s *Service) spansAt(ctx context.Context, loc location, runID uuid.UUID, q SpansQuery, after *cursor) (SpanPage, error) {
	var all []Span
	var scores []runmodel.Score
	listed := !q.Full
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if listed {
			all, err = s.listSpans(groupContext, loc, runID, listedColumns, maxListed)
			if !errors.Is(err, ErrTooExpensive) {
				return err
			}
			listed = false
		}
		all, err = s.listSpans(groupContext, loc, runID, treeColumns, 0)
		return err
	})
	group.Go(func() (err error) {
		scores, err = s.spanScores(groupContext, loc, runID, 0, false)
		return err
	})
	if err := group.Wait(); err != nil {
		return SpanPage{}, err
	}
	page := SpanPage{SpanCount: len(all)}
	start := 0
	if after != nil {
		start = after.after(all)
	}
	page.Spans = all[start:min(start+q.Limit, len(all))]
	var err error
	switch {
	case q.Full:
		page.Spans, err = s.fullPage(ctx, loc, runID, page.Spans)
	case !listed:
		page.Spans, err = s.listedPage(ctx, loc, runID, page.Spans)
	default:
		page.Spans = page.Spans[:shortenPage(page.Spans)]
	}
	if err != nil {
		return SpanPage{}, err
	}
	page.HasMore = start+len(page.Spans) < len(all)
	if page.HasMore {
		last := page.Spans[len(page.Spans)-1]
		page.NextCursor = cursor{List: listSpans, Time: last.StartTime.UnixNano(), ID: runmodel.FormatSpanID(last.SpanID)}.String()
	}
	if len(page.Spans) == 0 {
		return page, nil
	}
	addSpanScores(page.Spans, scores)
	return page, nil
}

// versionRows pools the rows of listSpans, which are needed until they are folded. Growing them took a third of the memory of a list of a
// thousand spans.
var versionRows = sync.Pool{New: func() any { return new([]runmodel.Span) }}

// maxPooledVersions rows take 5 MB.
const maxPooledVersions = 4096

// listSpans reads columns of all spans of a run, folded, with their depth in the tree. The columns need not include project and run. A
// result of more than limit bytes is ErrTooExpensive; 0 is no limit.
func (s *Service) listSpans(ctx context.Context, loc location, runID uuid.UUID, columns []string, limit int) ([]Span, error) {
	w := loc.where(runID)
	bound := ""
	if limit > 0 {
		bound = fmt.Sprintf(" SETTINGS max_result_bytes = %d", limit)
	}
	versions := versionRows.Get().(*[]runmodel.Span)
	defer func() {
		if cap(*versions) <= maxPooledVersions {
			clear(*versions)
			versionRows.Put(versions)
		}
	}()
	if err := query(ctx, s.conn.with(options{oldAnalyzer: true}), loc.projects, versions, `SELECT `+loc.withoutAbsent(columns)+` FROM spans WHERE `+w.String()+bound, w.args...); err != nil {
		return nil, err
	}
	if len(*versions) == 0 {
		return nil, ErrNotFound
	}
	folded := runmodel.Fold(*versions)
	counted := runmodel.CountsUsage(folded)
	depths := runmodel.Depths(folded)
	spans := make([]Span, len(folded))
	for i := range folded {
		spans[i] = Span{Span: folded[i], Depth: depths[i], UsageCounted: counted[i]}
		spans[i].ProjectID, spans[i].RunID = loc.ProjectID, runID
	}
	return spans, nil
}

// listedPage reads what a list shows of spans, a few at a time, and returns as many as fit the page.
func (s *Service) listedPage(ctx context.Context, loc location, runID uuid.UUID, spans []Span) ([]Span, error) {
	size := 0
	for from := 0; from < len(spans); from += listedSpans {
		part := spans[from:min(from+listedSpans, len(spans))]
		folded, err := s.with(options{oldAnalyzer: true}).spansByID(ctx, loc, runID, identified(part), loc.withoutAbsent(cutListedColumns))
		if err != nil {
			return nil, err
		}
		byID := make(map[uint64]runmodel.Span, len(part))
		for _, span := range folded {
			byID[span.SpanID] = span
		}
		for i := range part {
			span := byID[part[i].SpanID]
			// These depend on all spans of the run.
			span.ProjectID, span.RunID, span.SpanID, span.ParentSpanID = loc.ProjectID, runID, part[i].SpanID, part[i].ParentSpanID
			span.Status = part[i].Status
			part[i].Span = span
			part[i].shorten()
			if size += part[i].size(); size > maxPage && from+i > 0 {
				return spans[:from+i], nil
			}
		}
	}
	return spans, nil
}

// listedSpans is how many spans listedPage reads at a time. Each has at most about 30 KiB.
const listedSpans = 500

// fullPage reads spans in full, a few at a time, and returns as many as fit the page.
func (s *Service) fullPage(ctx context.Context, loc location, runID uuid.UUID, spans []Span) ([]Span, error) {
	size := 0
	for from := 0; from < len(spans); from += exportSpans {
		part := spans[from:min(from+exportSpans, len(spans))]
		if err := s.addPayloads(ctx, loc, runID, part); err != nil {
			return nil, err
		}
		for i := range part {
			size += part[i].size()
			if at := from + i; size > maxPage && at > 0 {
				return spans[:at], nil
			}
		}
	}
	return spans, nil
}

// addPayloads reads the payloads of spans that have treeColumns only. It returns ErrNotFound if a span was deleted meanwhile.
func (s *Service) addPayloads(ctx context.Context, loc location, runID uuid.UUID, spans []Span) error {
	folded, err := s.spansByID(ctx, loc, runID, identified(spans), "* EXCEPT escaped_words")
	if err != nil {
		return err
	}
	contents, err := s.contents(ctx, loc, runID, folded)
	if err != nil {
		return err
	}
	byID := make(map[uint64]int, len(folded))
	for i := range folded {
		byID[folded[i].SpanID] = i
	}
	for i, listed := range spans {
		at, ok := byID[listed.SpanID]
		if !ok {
			return ErrNotFound
		}
		if spans[i], err = contents.join(folded[at]); err != nil {
			return err
		}
		// These depend on all spans of the run.
		spans[i].ParentSpanID, spans[i].Depth, spans[i].UsageCounted = listed.ParentSpanID, listed.Depth, listed.UsageCounted
		spans[i].Status = listed.Status
	}
	return nil
}

// spansByID reads columns of some spans of a run, folded.
func (s *Service) spansByID(ctx context.Context, loc location, runID uuid.UUID, of spanIDs, columns string) ([]runmodel.Span, error) {
	w := loc.where(runID)
	w.add("span_id IN (?)", slices.Collect(maps.Keys(of)))
	var versions []runmodel.Span
	if err := query(ctx, s.conn, loc.projects, &versions, `SELECT `+columns+` FROM spans WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	return of.fold(versions), nil
}

// spanIDs are the ids of some spans, and of the log records that were merged with them: each is mapped to that of the
// span.
type spanIDs map[uint64]uint64

func idsOfSpan(id uint64, records []uint64) spanIDs {
	of := spanIDs{id: id}
	for _, record := range records {
		of[record] = id
	}
	return of
}

func (of spanIDs) add(s *runmodel.Span) { maps.Copy(of, idsOfSpan(s.SpanID, s.Records)) }

// fold folds the versions of the spans and of their records.
func (of spanIDs) fold(versions []runmodel.Span) []runmodel.Span {
	for i := range versions {
		if span, ok := of[versions[i].SpanID]; ok && span != versions[i].SpanID {
			versions[i].SpanID, versions[i].ParentSpanID = span, 0
		}
	}
	return runmodel.Fold(versions)
}

func identified(spans []Span) spanIDs {
	of := make(spanIDs, len(spans))
	for i := range spans {
		of.add(&spans[i].Span)
	}
	return of
}

// Span returns one span in full. spanID is 16 lower-case hexadecimal digits.
func (s *Service) Span(ctx context.Context, projects access.Projects, runID uuid.UUID, spanID string) (Span, error) {
	id, err := strconv.ParseUint(spanID, 16, 64)
	if err != nil {
		return Span{}, ErrNotFound
	}
	return located(ctx, s, projects, runID, func(ctx context.Context, loc location, runID uuid.UUID) (Span, error) {
		return s.spanAt(ctx, loc, runID, id)
	})
}

func (s *Service) spanAt(ctx context.Context, loc location, runID uuid.UUID, id uint64) (Span, error) {
	all, err := s.listSpans(ctx, loc, runID, treeColumns, 0)
	if err != nil {
		return Span{}, err
	}
	at := slices.IndexFunc(all, func(span Span) bool { return span.SpanID == id })
	if at < 0 {
		return Span{}, ErrNotFound
	}
	found := all[at : at+1]
	if err := s.addPayloads(ctx, loc, runID, found); err != nil {
		return Span{}, err
	}
	scores, err := s.spanScores(ctx, loc, runID, id, true)
	if err != nil {
		return Span{}, err
	}
	addSpanScores(found, scores)
	return found[0], nil
}
