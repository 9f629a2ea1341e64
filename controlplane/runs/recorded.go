package runs

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Recorded is all spans of a run in full, in start order, without their scores. Equal contents share their memory, and so do the messages of
// requests that begin with those of a request before: all messages of all requests are the square of a run's length.
type Recorded struct {
	Spans []Span
	// SpanCount is how many the run has. Bytes is the size of the texts that were read, each content once.
	SpanCount, Bytes int
	// TooLarge reports that the run exceeds a limit. Then Spans has a part of it at most.
	TooLarge bool
}

// Replayed are the spans as replays read them.
func (r *Recorded) Replayed() []recorded.Span {
	spans := make([]recorded.Span, len(r.Spans))
	for i := range r.Spans {
		span := &r.Spans[i]
		spans[i] = recorded.Span{
			Span: span.Span, SystemInstructions: span.SystemInstructions, InputMessages: span.InputMessages, OutputMessages: span.OutputMessages,
			ToolDefinitions: span.ToolDefinitions, Truncated: span.Truncated,
		}
	}
	return spans
}

// recordedSpans is how many spans Recorded reads at a time.
const recordedSpans = 250

// Recorded reads a run with up to a number of spans and of bytes of text.
func (s *Service) Recorded(ctx context.Context, projects access.Projects, runID uuid.UUID, maxSpans, maxBytes int) (Recorded, error) {
	return located(ctx, s, projects, runID, func(ctx context.Context, loc location, runID uuid.UUID) (Recorded, error) {
		listed, err := s.listSpans(ctx, loc, runID, treeColumns, 0)
		if err != nil {
			return Recorded{}, err
		}
		out := Recorded{SpanCount: len(listed), TooLarge: len(listed) > maxSpans}
		shared := sharedTexts{texts: map[uint64]json.RawMessage{}, resources: contentsByID{}, tails: map[requestKey]requestTail{}}
		for part := range slices.Chunk(listed, recordedSpans) {
			if out.TooLarge {
				break
			}
			spans, err := s.recorded(ctx, loc, runID, part, &shared)
			if err != nil {
				return Recorded{}, err
			}
			for i := range spans {
				out.Bytes += spans[i].ownSize()
			}
			out.Spans = append(out.Spans, spans...)
			out.TooLarge = out.Bytes+shared.bytes > maxBytes
		}
		out.Bytes += shared.bytes
		return out, nil
	})
}

// recorded reads listed spans in full.
func (s *Service) recorded(ctx context.Context, loc location, runID uuid.UUID, listed []Span, shared *sharedTexts) ([]Span, error) {
	folded, err := s.spansByID(ctx, loc, runID, identified(listed), "* EXCEPT escaped_words")
	if err != nil {
		return nil, err
	}
	if err := s.readShared(ctx, loc, runID, folded, shared); err != nil {
		return nil, err
	}
	byID := make(map[uint64]int, len(folded))
	for i := range folded {
		byID[folded[i].SpanID] = i
	}
	spans := make([]Span, len(listed))
	for i := range listed {
		at, ok := byID[listed[i].SpanID]
		if !ok {
			return nil, ErrNotFound // it was deleted meanwhile
		}
		if spans[i], err = shared.resources.joinWith(folded[at], shared.addTo); err != nil {
			return nil, err
		}
		spans[i].ParentSpanID, spans[i].Depth, spans[i].UsageCounted = listed[i].ParentSpanID, listed[i].Depth, listed[i].UsageCounted
		spans[i].InputMessageIDs = nil // as large as the messages
	}
	return spans, nil
}

// readShared reads the contents of spans that were not read before.
func (s *Service) readShared(ctx context.Context, loc location, runID uuid.UUID, spans []runmodel.Span, shared *sharedTexts) error {
	var wanted []uint64
	want := func(id uint64) {
		if _, known := shared.texts[id]; !known && id != 0 {
			shared.texts[id] = nil
			wanted = append(wanted, id)
		}
	}
	for i := range spans {
		span := &spans[i]
		for _, id := range span.InputMessageIDs {
			want(id)
		}
		for _, id := range span.OutputMessageIDs {
			want(id)
		}
		for _, id := range []uint64{span.InstructionsID, span.ToolDefinitionsID, span.ResourceID} {
			want(id)
		}
		if _, known := shared.resources[span.ResourceID]; !known {
			shared.resources[span.ResourceID] = runmodel.Content{}
		}
	}
	for some := range slices.Chunk(wanted, idsAtOnce) {
		found, err := s.contentsOf(ctx, loc, runID, some, fullContent)
		if err != nil {
			return err
		}
		for id, content := range found {
			if _, isResource := shared.resources[id]; isResource {
				shared.resources[id] = content
			}
			text, err := found.text(id)
			if err != nil {
				return err
			}
			shared.texts[id] = text
			shared.bytes += len(text)
		}
	}
	return nil
}

// sharedTexts are the contents of a run by their ids: nil for one that is missing.
type sharedTexts struct {
	texts     map[uint64]json.RawMessage
	resources contentsByID
	bytes     int
	tails     map[requestKey]requestTail
}

// requestKey is what the requests of a conversation have in common: the span above them, and their first message.
type requestKey struct{ parent, first uint64 }

// requestTail is the newest request of a conversation.
type requestTail struct {
	ids      []uint64
	messages []json.RawMessage
}

// addTo gives a span its messages, instructions and tool definitions.
func (t *sharedTexts) addTo(span *Span) error {
	span.InputMessages = t.request(span.ParentSpanID, span.InputMessageIDs)
	span.OutputMessages = t.add([]json.RawMessage{}, span.OutputMessageIDs)
	span.SystemInstructions, span.ToolDefinitions = elementsOf(t.texts[span.InstructionsID]), elementsOf(t.texts[span.ToolDefinitionsID])
	return nil
}

// request returns the messages of a request. The newest request with a key has the memory after its own for the next one.
func (t *sharedTexts) request(parent uint64, ids []uint64) []json.RawMessage {
	if len(ids) == 0 {
		return []json.RawMessage{}
	}
	key := requestKey{parent, ids[0]}
	before := t.tails[key]
	if len(before.ids) > len(ids) || !slices.Equal(before.ids, ids[:len(before.ids)]) {
		before = requestTail{}
	}
	messages := t.add(before.messages, ids[len(before.ids):])
	t.tails[key] = requestTail{ids, messages}
	return slices.Clip(messages)
}

func (t *sharedTexts) add(messages []json.RawMessage, ids []uint64) []json.RawMessage {
	for _, id := range ids {
		if text := t.texts[id]; text != nil {
			messages = append(messages, text)
		}
	}
	return messages
}
