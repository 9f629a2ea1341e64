package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Service reads runs.
type Service struct {
	conn  driver.Conn
	log   *slog.Logger
	now   func() time.Time
	feeds feeds
	kept  *keptRows
	// guesses are where runs lay when they were last read.
	guesses *lru.Cache[string, place]
}

// NewService returns a service that reads through conn, and logs what fails in the background. The caller closes it.
func NewService(conn driver.Conn, log *slog.Logger) *Service {
	guesses, _ := lru.New[string, place](mostGuesses) // no size below one
	return &Service{conn: conn, log: log, now: time.Now, kept: newKeptRows(), guesses: guesses}
}

// Ping tells whether ClickHouse answers.
func (s *Service) Ping(ctx context.Context) error {
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Get returns a run with its totals and its root's payloads.
func (s *Service) Get(ctx context.Context, projects access.Projects, runID uuid.UUID) (Run, error) {
	return located(ctx, s, projects, runID, s.getAt)
}

func (s *Service) getAt(ctx context.Context, p place, runID uuid.UUID) (Run, error) {
	w := p.where(runID)
	var rows []runmodel.Run
	err := query(ctx, s.conn, p.projects, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String()+`
		ORDER BY version DESC LIMIT 1`, w.args...)
	if err != nil {
		return Run{}, err
	}
	if len(rows) == 0 {
		return Run{}, ErrNotFound
	}
	run := Run{Run: rows[0]}
	scored := []Run{run}
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		run.Inputs, run.Outputs, err = s.inputsAndOutputs(groupContext, p, runID, run.RootSpanID)
		return err
	})
	group.Go(func() error { return s.addScoresAfter(groupContext, p.projects, p.DeletedAt, scored, mostScoresRead) })
	if err := group.Wait(); err != nil {
		return Run{}, err
	}
	run.Scores, run.ScoreCount = scored[0].Scores, scored[0].ScoreCount
	// A root without payloads is summed up by its first question and last answer.
	if run.Inputs == nil {
		run.Inputs, run.Truncated = nonEmpty(run.InputPreview), run.Truncated || run.InputPreview != ""
	}
	if run.Outputs == nil {
		run.Outputs, run.Truncated = nonEmpty(run.OutputPreview), run.Truncated || run.OutputPreview != ""
	}
	return run, nil
}

// inputsAndOutputs reads what went into a span and came out of it, nil where it does not say.
func (s *Service) inputsAndOutputs(ctx context.Context, p place, runID uuid.UUID, spanID uint64) (inputs, outputs *string, err error) {
	w := p.where(runID)
	w.add("span_id = ?", spanID)
	var versions []runmodel.Span
	err = query(ctx, s.conn, p.projects, &versions, `SELECT `+p.present(placeColumns)+`, inputs, outputs, tool_arguments, tool_result,
		input_message_ids, output_message_ids FROM spans WHERE `+w.String(), w.args...)
	if err != nil || len(versions) == 0 {
		return nil, nil, err
	}
	span := runmodel.Fold(versions)[0]
	in, out := cmp.Or(span.Inputs, span.ToolArguments), cmp.Or(span.Outputs, span.ToolResult)
	var ids []uint64
	if in == "" {
		ids = append(ids, span.InputMessageIDs...)
	}
	if out == "" {
		ids = append(ids, span.OutputMessageIDs...)
	}
	contents, err := s.contentsOf(ctx, p, runID, ids, wholeContent)
	if err != nil {
		return nil, nil, err
	}
	for _, of := range []struct {
		text *string
		ids  []uint64
	}{{&in, span.InputMessageIDs}, {&out, span.OutputMessageIDs}} {
		if *of.text != "" {
			continue
		}
		messages, err := contents.messages(of.ids)
		if err != nil {
			return nil, nil, err
		}
		*of.text = lastText(messages)
	}
	return nonEmpty(in), nonEmpty(out), nil
}

// listedColumns are what a list of a run's spans shows: no payloads but the beginnings of inputs and outputs. cutListedColumns have the
// beginnings of all texts, which takes ClickHouse longer to plan.
var (
	listedColumns = cutColumns(allListedColumns, map[string]string{
		"inputs": beginning(cutAt), "outputs": beginning(cutAt), "tool_arguments": beginning(cutAt), "tool_result": beginning(cutAt),
	})
	cutListedColumns = cutColumns(allListedColumns, map[string]string{
		"name": beginning(MostText), "kind": beginning(MostText), "operation": beginning(MostText), "status": beginning(MostText),
		"error_type": beginning(MostText), "error_message": beginning(cutAt), "error_stack": beginning(cutAt), "service_name": beginning(MostText),
		"dialect": beginning(MostText), "framework": beginning(MostText), "provider": beginning(MostText),
		"request_model": beginning(MostText), "response_model": beginning(MostText),
		"tool_name": beginning(MostText), "tool_call_id": beginning(MostText), "agent_name": beginning(MostText),
		"session_id": beginning(MostText), "conversation_id": beginning(MostText), "user_id": beginning(MostText),
		"prompt_id": beginning(MostText), "prompt_name": beginning(MostText), "prompt_version": beginning(MostText), "finish_reasons": cutList,
		"price_version": beginning(MostText),
		"inputs":        beginning(cutAt), "outputs": beginning(cutAt), "tool_arguments": beginning(cutAt), "tool_result": beginning(cutAt),
	})
	allListedColumns = []string{
		"span_id", "version", "parent_span_id", "start_time", "end_time", "is_run", "from_log",
		"name", "kind", "operation", "status", "error_type", "error_message", "error_stack", "service_name",
		"dialect", "framework", "provider", "request_model", "response_model", "tool_name", "tool_call_id", "agent_name",
		"session_id", "conversation_id", "user_id", "prompt_id", "prompt_name", "prompt_version", "finish_reasons",
		"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
		"cost_usd", "cost_source", "price_version", "counting", "time_to_first_token", "input_preview", "output_preview",
		"inputs", "outputs", "tool_arguments", "tool_result",
	}
)

// mostListed bounds what is read to list all spans of a run in one statement. Of a run that has more, what is where is read first, and then
// the page.
const mostListed = 64 << 20

// cutAt is how much of an input or output a list of spans gives, in bytes.
const cutAt = 2048

// Spans returns a page of a run's spans in start order.
func (s *Service) Spans(ctx context.Context, projects access.Projects, runID uuid.UUID, q SpansQuery) (SpanPage, error) {
	var after *cursor
	if q.Cursor != "" {
		c, err := parseCursor(q.Cursor, listSpans)
		if err != nil {
			return SpanPage{}, err
		}
		after = &c
	}
	return located(ctx, s, projects, runID, func(ctx context.Context, p place, runID uuid.UUID) (SpanPage, error) {
		return s.spansAt(ctx, p, runID, q, after)
	})
}

func (s *Service) spansAt(ctx context.Context, p place, runID uuid.UUID, q SpansQuery, after *cursor) (SpanPage, error) {
	var all []Span
	var scores []runmodel.Score
	listed := !q.Full
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if listed {
			all, err = s.listSpans(groupContext, p, runID, listedColumns, mostListed)
			if !errors.Is(err, ErrTooExpensive) {
				return err
			}
			listed = false
		}
		all, err = s.listSpans(groupContext, p, runID, placeColumns, 0)
		return err
	})
	group.Go(func() (err error) {
		scores, err = s.spanScores(groupContext, p, runID, 0, false)
		return err
	})
	if err := group.Wait(); err != nil {
		return SpanPage{}, err
	}
	page := SpanPage{SpanCount: len(all)}
	start := 0
	if after != nil {
		start = after.behind(all)
	}
	page.Spans = all[start:min(start+q.Limit, len(all))]
	var err error
	switch {
	case q.Full:
		page.Spans, err = s.wholePage(ctx, p, runID, page.Spans)
	case !listed:
		page.Spans, err = s.listedPage(ctx, p, runID, page.Spans)
	default:
		page.Spans = page.Spans[:abridged(page.Spans)]
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

// placeColumns are what says where a span stands among the others of its run, and whether its usage counts.
var placeColumns = []string{
	"span_id", "version", "parent_span_id", "start_time", "is_run", "from_log", "kind", "operation", "counting",
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
}

// versionRows holds the rows of listSpans, which are done with when they are folded: to grow them anew was a third of the memory
// that a list of a thousand spans takes, in all.
var versionRows = sync.Pool{New: func() any { return new([]runmodel.Span) }}

// mostVersionsKept is 5 MB.
const mostVersionsKept = 4096

// listSpans reads columns of all spans of a run, folded, with their places in the tree. Project and run need not be
// among them. Where they have more than most bytes, it is ErrTooExpensive; 0 is no bound.
func (s *Service) listSpans(ctx context.Context, p place, runID uuid.UUID, columns []string, most int) ([]Span, error) {
	w := p.where(runID)
	bound := ""
	if most > 0 {
		bound = fmt.Sprintf(" SETTINGS max_result_bytes = %d", most)
	}
	versions := versionRows.Get().(*[]runmodel.Span)
	defer func() {
		if cap(*versions) <= mostVersionsKept {
			clear(*versions)
			versionRows.Put(versions)
		}
	}()
	if err := query(plain(ctx), s.conn, p.projects, versions, `SELECT `+p.present(columns)+` FROM spans WHERE `+w.String()+bound, w.args...); err != nil {
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
		spans[i].ProjectID, spans[i].RunID = p.ProjectID, runID
	}
	return spans, nil
}

// abridged abridges spans and is how many of the first a page has room for: at least one.
func abridged(spans []Span) int {
	size := 0
	for i := range spans {
		spans[i].abridge()
		if size += spans[i].size(); size > mostPage && i > 0 {
			return i
		}
	}
	return len(spans)
}

// listedPage reads what a list shows of spans, a few at a time, as many of the first as a page has room for.
func (s *Service) listedPage(ctx context.Context, p place, runID uuid.UUID, spans []Span) ([]Span, error) {
	size := 0
	for from := 0; from < len(spans); from += listedSpans {
		part := spans[from:min(from+listedSpans, len(spans))]
		ids := make([]uint64, len(part))
		for i := range part {
			ids[i] = part[i].SpanID
		}
		w := p.where(runID)
		w.add("span_id IN (?)", ids)
		var versions []runmodel.Span
		if err := query(plain(ctx), s.conn, p.projects, &versions, `SELECT `+p.present(cutListedColumns)+` FROM spans WHERE `+w.String(), w.args...); err != nil {
			return nil, err
		}
		byID := make(map[uint64]runmodel.Span, len(part))
		for _, span := range runmodel.Fold(versions) {
			byID[span.SpanID] = span
		}
		for i := range part {
			span := byID[part[i].SpanID]
			// What takes all spans of the run to know.
			span.ProjectID, span.RunID, span.SpanID, span.ParentSpanID = p.ProjectID, runID, part[i].SpanID, part[i].ParentSpanID
			part[i].Span = span
			part[i].abridge()
			if size += part[i].size(); size > mostPage && from+i > 0 {
				return spans[:from+i], nil
			}
		}
	}
	return spans, nil
}

// listedSpans is how many spans listedPage reads at a time: each has some 30 KiB at most.
const listedSpans = 500

// abridge gives a listed span the beginnings of its inputs and outputs, and of what else is long.
func (s *Span) abridge() {
	s.Cut = cutSpan(&s.Span)
	inputs := cmp.Or(s.Span.Inputs, s.ToolArguments, s.InputPreview)
	outputs := cmp.Or(s.Span.Outputs, s.ToolResult, s.OutputPreview)
	s.Inputs, s.Outputs = nonEmpty(cutText(inputs)), nonEmpty(cutText(outputs))
	s.ToolArguments, s.ToolResult = cutText(s.ToolArguments), cutText(s.ToolResult)
	s.Truncated = true
}

func cutText(text string) string {
	if len(text) <= cutAt {
		return text
	}
	return strings.ToValidUTF8(text[:cutAt], "")
}

// wholePage reads spans whole, a few at a time, as many of the first as a page has room for.
func (s *Service) wholePage(ctx context.Context, p place, runID uuid.UUID, spans []Span) ([]Span, error) {
	size := 0
	for from := 0; from < len(spans); from += exportSpans {
		part := spans[from:min(from+exportSpans, len(spans))]
		if err := s.addPayloads(ctx, p, runID, part); err != nil {
			return nil, err
		}
		for i := range part {
			size += part[i].size()
			if at := from + i; size > mostPage && at > 0 {
				return spans[:at], nil
			}
		}
	}
	return spans, nil
}

// size is about how many bytes a span has.
func (s *Span) size() int {
	size := len(s.Name) + len(s.ErrorMessage) + len(s.ErrorStack) + len(s.Span.Inputs) + len(s.Span.Outputs) + len(s.ToolArguments) + len(s.ToolResult) + len(s.Span.Events) + len(s.Span.Links)
	for _, list := range [][]json.RawMessage{s.SystemInstructions, s.InputMessages, s.OutputMessages, s.ToolDefinitions} {
		for _, text := range list {
			size += len(text)
		}
	}
	for key, value := range s.Span.Attributes {
		size += len(key) + len(value)
	}
	return size
}

// addPayloads reads the rest of spans of which only placeColumns are there. Where one is deleted meanwhile, it is ErrNotFound.
func (s *Service) addPayloads(ctx context.Context, p place, runID uuid.UUID, spans []Span) error {
	ids := make([]uint64, len(spans))
	for i := range spans {
		ids[i] = spans[i].SpanID
	}
	whole, err := s.payloads(ctx, p, runID, ids)
	if err != nil {
		return err
	}
	byID := make(map[uint64]Span, len(whole))
	for _, span := range whole {
		byID[span.SpanID] = span
	}
	for i, listed := range spans {
		span, ok := byID[listed.SpanID]
		if !ok {
			return ErrNotFound
		}
		// What takes all spans of the run to know.
		span.ParentSpanID, span.Depth, span.UsageCounted = listed.ParentSpanID, listed.Depth, listed.UsageCounted
		spans[i] = span
	}
	return nil
}

// Span returns one span, whole. spanID is 16 lower-case hexadecimal digits.
func (s *Service) Span(ctx context.Context, projects access.Projects, runID uuid.UUID, spanID string) (Span, error) {
	id, err := strconv.ParseUint(spanID, 16, 64)
	if err != nil {
		return Span{}, ErrNotFound
	}
	return located(ctx, s, projects, runID, func(ctx context.Context, p place, runID uuid.UUID) (Span, error) {
		return s.spanAt(ctx, p, runID, id)
	})
}

func (s *Service) spanAt(ctx context.Context, p place, runID uuid.UUID, id uint64) (Span, error) {
	all, err := s.listSpans(ctx, p, runID, placeColumns, 0)
	if err != nil {
		return Span{}, err
	}
	at := slices.IndexFunc(all, func(span Span) bool { return span.SpanID == id })
	if at < 0 {
		return Span{}, ErrNotFound
	}
	found := all[at : at+1]
	if err := s.addPayloads(ctx, p, runID, found); err != nil {
		return Span{}, err
	}
	scores, err := s.spanScores(ctx, p, runID, id, true)
	if err != nil {
		return Span{}, err
	}
	addSpanScores(found, scores)
	return found[0], nil
}

// payloads reads spans whole, with their messages.
func (s *Service) payloads(ctx context.Context, p place, runID uuid.UUID, ids []uint64) ([]Span, error) {
	w := p.where(runID)
	w.add("span_id IN (?)", ids)
	var versions []runmodel.Span
	if err := query(ctx, s.conn, p.projects, &versions, `SELECT * EXCEPT escaped_words FROM spans WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	folded := runmodel.Fold(versions)
	contents, err := s.contents(ctx, p, runID, folded)
	if err != nil {
		return nil, err
	}
	spans := make([]Span, len(folded))
	for i := range folded {
		if spans[i], err = contents.whole(folded[i]); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

type contentsByID map[uint64]runmodel.Content

func (s *Service) contents(ctx context.Context, p place, runID uuid.UUID, spans []runmodel.Span) (contentsByID, error) {
	wanted := make(map[uint64]struct{})
	for i := range spans {
		span := &spans[i]
		for _, id := range slices.Concat(span.InputMessageIDs, span.OutputMessageIDs,
			[]uint64{span.InstructionsID, span.ToolDefinitionsID, span.ResourceID}) {
			if id != 0 {
				wanted[id] = struct{}{}
			}
		}
	}
	return s.contentsOf(ctx, p, runID, slices.Sorted(maps.Keys(wanted)), wholeContent)
}

// contentsOf reads contents by their ids; columns is wholeContent or cutContent.
func (s *Service) contentsOf(ctx context.Context, p place, runID uuid.UUID, ids []uint64, columns string) (contentsByID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w where
	w.add(projectsMark)
	w.add("hour BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)",
		p.FirstStart.Truncate(time.Hour).Unix(), p.LastStart.Truncate(time.Hour).Unix())
	w.add("run_id = ?", runID)
	w.add("(content_id IN (?) OR notEmpty(shared_ids))", ids)
	var rows []runmodel.Content
	if err := query(ctx, s.conn, p.projects, &rows, `SELECT project_id, hour, run_id, content_id, kind, shared_tail, shared_ids, shared_tails, `+columns+` FROM contents AS c WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	wanted := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	contents := make([]runmodel.Content, 0, len(ids))
	for i := range rows {
		for content := range rows[i].Each() {
			if wanted[content.ContentID] {
				contents = append(contents, content)
			}
		}
	}
	if err := s.fillShared(ctx, p, contents, columns); err != nil {
		return nil, err
	}
	byID := make(contentsByID, len(contents))
	for _, content := range contents {
		if content.Frame != "" {
			byID[content.ContentID] = content
		}
	}
	return byID, nil
}

// fillShared gives contents what stands among the shared ones.
func (s *Service) fillShared(ctx context.Context, p place, contents []runmodel.Content, columns string) error {
	type name struct{ id, tail uint64 }
	shared := map[name]*runmodel.SharedContent{}
	var ids []uint64
	for _, c := range contents {
		if c.SharedTail != 0 {
			shared[name{c.ContentID, c.SharedTail}] = nil
			ids = append(ids, c.ContentID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var w where
	w.add(projectsMark)
	w.add("day BETWEEN toDate(?) AND toDate(?)", dayNumber(p.FirstStart), dayNumber(p.LastStart))
	w.add("content_id IN (?)", ids)
	var rows []runmodel.SharedContent
	if err := query(ctx, s.conn, p.projects, &rows, `SELECT project_id, day, content_id, shared_tail, `+columns+` FROM shared_contents AS c WHERE `+w.String(), w.args...); err != nil {
		return err
	}
	for i := range rows {
		shared[name{rows[i].ContentID, rows[i].SharedTail}] = &rows[i]
	}
	for i := range contents {
		if found := shared[name{contents[i].ContentID, contents[i].SharedTail}]; found != nil {
			contents[i].Frame, contents[i].Texts = found.Frame, found.Texts
		}
	}
	return nil
}

// dayNumber is a day as ClickHouse counts them: since 1970, in UTC.
func dayNumber(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// text returns the JSON of a content, nil where it is not there: a span may be read before its contents are
// written.
func (c contentsByID) text(id uint64) (json.RawMessage, error) {
	content := c[id]
	if content.Frame == "" {
		return nil, nil
	}
	text, err := runmodel.JoinContent(content.Kind, content.Frame, content.Texts)
	if err != nil {
		return nil, fmt.Errorf("read content %d: %w", id, err)
	}
	return text, nil
}

func (c contentsByID) messages(ids []uint64) ([]json.RawMessage, error) {
	messages := make([]json.RawMessage, 0, len(ids))
	for _, id := range ids {
		text, err := c.text(id)
		if err != nil {
			return nil, err
		}
		if text != nil {
			messages = append(messages, text)
		}
	}
	return messages, nil
}

// elements returns a content as a list: its elements where it is an array, else itself.
func (c contentsByID) elements(id uint64) ([]json.RawMessage, error) {
	text, err := c.text(id)
	if err != nil || text == nil {
		return []json.RawMessage{}, err
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		return list, nil
	}
	return []json.RawMessage{text}, nil
}

// whole joins a folded span with its contents.
func (c contentsByID) whole(folded runmodel.Span) (Span, error) {
	span := Span{Span: folded, Attributes: folded.RestoreAttributes(), ResourceAttributes: map[string]any{}}
	var err error
	if span.InputMessages, err = c.messages(folded.InputMessageIDs); err != nil {
		return Span{}, err
	}
	if span.OutputMessages, err = c.messages(folded.OutputMessageIDs); err != nil {
		return Span{}, err
	}
	if span.SystemInstructions, err = c.elements(folded.InstructionsID); err != nil {
		return Span{}, err
	}
	if span.ToolDefinitions, err = c.elements(folded.ToolDefinitionsID); err != nil {
		return Span{}, err
	}
	resource, err := c.text(folded.ResourceID)
	if err != nil {
		return Span{}, err
	}
	readMember(string(resource), &span.ResourceAttributes)
	readMember(folded.Events, &span.Events)
	readMember(folded.Links, &span.Links)
	for key, value := range span.ResourceAttributes {
		if text, ok := value.(string); ok && span.Attributes[key] == any(text) && folded.Attributes[key] == "" {
			delete(span.Attributes, key) // taken over from the resource
		}
	}
	span.Inputs = nonEmpty(cmp.Or(folded.Inputs, folded.ToolArguments, lastText(span.InputMessages)))
	span.Outputs = nonEmpty(cmp.Or(folded.Outputs, folded.ToolResult, lastText(span.OutputMessages)))
	return span, nil
}

// readMember reads stored JSON, and leaves a member out that cannot be read: earlier versions stored a text where one
// attribute was a number that JSON cannot write, and the rest of the span is as good as ever.
func readMember[T any](text string, member *T) {
	var value T
	if text != "" && json.Unmarshal([]byte(text), &value) == nil {
		*member = value
	}
}

// lastText is the text of the last message that has any.
func lastText(messages []json.RawMessage) string {
	for _, message := range slices.Backward(messages) {
		if _, text, _ := runmodel.MessageText(string(message)); text != "" {
			return text
		}
	}
	return ""
}
