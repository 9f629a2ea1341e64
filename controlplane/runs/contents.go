package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

type contentsByID map[uint64]runmodel.Content

func (s *Service) contents(ctx context.Context, loc location, runID uuid.UUID, spans []runmodel.Span) (contentsByID, error) {
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
	return s.contentsOf(ctx, loc, runID, slices.Sorted(maps.Keys(wanted)), fullContent)
}

// contentsOf reads contents by their ids. columns is fullContent, cutContent or hashedContent.
func (s *Service) contentsOf(ctx context.Context, loc location, runID uuid.UUID, ids []uint64, columns string) (contentsByID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := inProjects()
	w.add("hour BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)",
		loc.FirstStart.Truncate(time.Hour).Unix(), loc.LastStart.Truncate(time.Hour).Unix())
	w.add("run_id = ?", runID)
	w.add("(content_id IN (?) OR notEmpty(shared_ids))", ids)
	var rows []runmodel.Content
	if err := query(ctx, s.conn, loc.projects, &rows, `SELECT project_id, hour, run_id, content_id, kind, shared_ids, shared_tails, `+columns+` FROM contents AS c WHERE `+w.String(), w.args...); err != nil {
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
	if err := s.fillShared(ctx, loc, contents, columns); err != nil {
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

// idsAtOnce is how many ids of contents one statement has: ClickHouse limits its length.
const idsAtOnce = 4000

// fillShared fills in the contents that are stored among the shared ones.
func (s *Service) fillShared(ctx context.Context, loc location, contents []runmodel.Content, columns string) error {
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
	slices.Sort(ids)
	for some := range slices.Chunk(slices.Compact(ids), idsAtOnce) {
		w := inProjects()
		w.add("day BETWEEN toDate(?) AND toDate(?)", dayNumber(loc.FirstStart), dayNumber(loc.LastStart))
		w.add("content_id IN (?)", some)
		var rows []runmodel.SharedContent
		if err := query(ctx, s.conn, loc.projects, &rows, `SELECT project_id, day, content_id, shared_tail, `+columns+` FROM shared_contents AS c WHERE `+w.String(), w.args...); err != nil {
			return err
		}
		for i := range rows {
			shared[name{rows[i].ContentID, rows[i].SharedTail}] = &rows[i]
		}
	}
	for i := range contents {
		if found := shared[name{contents[i].ContentID, contents[i].SharedTail}]; found != nil {
			contents[i].Frame, contents[i].Texts = found.Frame, found.Texts
		}
	}
	return nil
}

// dayNumber counts days as ClickHouse does: since 1970, in UTC.
func dayNumber(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// text returns the JSON of a content. It is nil if the content is missing: a span may be read before its contents are written.
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

// elements returns the elements of a content that is an array, and any other content as the only element.
func (c contentsByID) elements(id uint64) ([]json.RawMessage, error) {
	text, err := c.text(id)
	return elementsOf(text), err
}

func elementsOf(text json.RawMessage) []json.RawMessage {
	if text == nil {
		return []json.RawMessage{}
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		return list
	}
	return []json.RawMessage{text}
}

// join joins a folded span with its contents.
func (c contentsByID) join(folded runmodel.Span) (Span, error) { return c.joinWith(folded, c.addTo) }

// joinWith joins a folded span with its resource, and with the contents that addTo gives it.
func (c contentsByID) joinWith(folded runmodel.Span, addTo func(*Span) error) (Span, error) {
	span := Span{Span: folded, Attributes: folded.RestoreAttributes(), ResourceAttributes: map[string]any{}}
	if err := addTo(&span); err != nil {
		return Span{}, err
	}
	var err error
	span.Resource, err = c.text(folded.ResourceID)
	err = errors.Join(err, readMember(string(span.Resource), &span.ResourceAttributes),
		readMember(folded.Events, &span.Events), readMember(folded.Links, &span.Links))
	if err != nil {
		return Span{}, fmt.Errorf("read span %s: %w", runmodel.FormatSpanID(folded.SpanID), err)
	}
	for key, value := range span.ResourceAttributes {
		if text, ok := value.(string); ok && span.Attributes[key] == any(text) && folded.Attributes[key] == "" {
			delete(span.Attributes, key) // copied from the resource
		}
	}
	span.Inputs = nonEmpty(cmp.Or(folded.Inputs, folded.ToolArguments, lastQuestion(span.InputMessages)))
	span.Outputs = nonEmpty(cmp.Or(folded.Outputs, folded.ToolResult, lastText(span.OutputMessages)))
	return span, nil
}

// addTo gives a span its messages, instructions and tool definitions.
func (c contentsByID) addTo(span *Span) (err error) {
	if span.InputMessages, err = c.messages(span.InputMessageIDs); err != nil {
		return err
	}
	if span.OutputMessages, err = c.messages(span.OutputMessageIDs); err != nil {
		return err
	}
	if span.SystemInstructions, err = c.elements(span.InstructionsID); err != nil {
		return err
	}
	span.ToolDefinitions, err = c.elements(span.ToolDefinitionsID)
	return err
}

// readMember reads the JSON of a member, unless it is empty.
func readMember[T any](text string, member *T) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), member)
}

// lastText returns the text of the last message that has one and is not by one of these roles.
func lastText(messages []json.RawMessage, except ...string) string {
	for _, message := range slices.Backward(messages) {
		if role, text, _ := runmodel.MessageText(string(message)); text != "" && !slices.Contains(except, role) {
			return text
		}
	}
	return ""
}

// lastQuestion returns the text of the last input that is no system prompt and no answer: some agents record the whole conversation as
// their input. If all are, it is that of the last.
func lastQuestion(messages []json.RawMessage) string {
	return cmp.Or(lastText(messages, "assistant", "system"), lastText(messages))
}
