package runs

import (
	"context"
	"slices"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Limits of Texts.
const (
	// MaxText is how many bytes of a text Texts returns.
	MaxText = 4 << 10
	// maxTexts is how many bytes Texts reads of a run.
	maxTexts = 48 << 20
	// textSpans and textContents are how many of either are read at a time.
	textSpans    = 2000
	textContents = 4000
)

// TextEnd separates the beginning of a text that was cut from a hash of the whole, which has TextHash digits. Two such texts are equal if
// their bytes are.
const (
	TextEnd  = "\x00"
	TextHash = 16
)

// Texts reads the texts of the spans of an outline, in its order: error, inputs, outputs, tool call, output messages, the newest input
// messages, instructions and tool definitions. A longer text than MaxText is cut and followed by TextEnd and a hash of the whole. If the
// run has more text than Texts reads, the last spans have none, and partial is true.
func (s *Service) Texts(ctx context.Context, outline Outline) (spans []Span, partial bool, err error) {
	read, used := 0, 0
	spans = make([]Span, 0, len(outline.Spans))
	contents := contentsByID{}
	for some := range slices.Chunk(outline.Spans, textSpans) {
		if used > maxTexts {
			break
		}
		n, err := s.textsOf(ctx, outline, some, contents, &spans)
		if err != nil {
			return nil, false, err
		}
		used += n
		read += len(some)
	}
	for i := read; i < len(outline.Spans); i++ {
		spans = append(spans, Span{Span: outline.Spans[i]})
	}
	return spans, read < len(outline.Spans), nil
}

// textsOf appends the texts of some of a run's spans, and returns how many bytes it read.
func (s *Service) textsOf(ctx context.Context, outline Outline, some []runmodel.Span, contents contentsByID, spans *[]Span) (int, error) {
	runID := outline.Run.RunID
	of := make(spanIDs, len(some))
	for i := range some {
		of.add(&some[i])
	}
	found, err := s.spansByID(ctx, outline.location, runID, of, textColumns)
	if err != nil {
		return 0, err
	}
	folded := map[uint64]runmodel.Span{}
	var wanted []uint64
	used := 0
	for _, span := range found {
		used += len(span.ErrorMessage) + len(span.Inputs) + len(span.Outputs) + len(span.ToolArguments) + len(span.ToolResult)
		for _, id := range slices.Concat(span.InputMessageIDs, span.OutputMessageIDs, []uint64{span.InstructionsID, span.ToolDefinitionsID}) {
			if _, ok := contents[id]; !ok && id != 0 {
				wanted = append(wanted, id)
				contents[id] = runmodel.Content{}
			}
		}
		folded[span.SpanID] = span
	}
	for ids := range slices.Chunk(wanted, textContents) {
		found, err := s.contentsOf(ctx, outline.location, runID, ids, hashedContent)
		if err != nil {
			return 0, err
		}
		for id, content := range found {
			contents[id] = content
			used += len(content.Frame)
			for _, text := range content.Texts {
				used += len(text)
			}
		}
	}
	for i := range some {
		// Fold sets parents by the run's own span, which may not be among these.
		own := folded[some[i].SpanID]
		own.ParentSpanID = some[i].ParentSpanID
		own.SpanID = some[i].SpanID
		span := Span{Span: own, Inputs: nonEmpty(own.Inputs), Outputs: nonEmpty(own.Outputs)}
		if err := contents.addTo(&span); err != nil {
			return 0, err
		}
		*spans = append(*spans, span)
	}
	return used, nil
}

// Excerpts reads the texts of spans of an outline, each cut one byte after MaxExcerpt: inputs, outputs, tool call, error, output messages
// and the newest input messages. The other fields of a Span are empty.
func (s *Service) Excerpts(ctx context.Context, outline Outline, ids []uint64) ([]Span, error) {
	runID := outline.Run.RunID
	of := make(spanIDs, len(ids))
	for i := range outline.Spans {
		if slices.Contains(ids, outline.Spans[i].SpanID) {
			of.add(&outline.Spans[i])
		}
	}
	folded, err := s.spansByID(ctx, outline.location, runID, of, excerptColumns)
	if err != nil {
		return nil, err
	}
	var contentIDs []uint64
	for i := range folded {
		contentIDs = append(append(contentIDs, folded[i].InputMessageIDs...), folded[i].OutputMessageIDs...)
	}
	contents, err := s.contentsOf(ctx, outline.location, runID, contentIDs, cutContent)
	if err != nil {
		return nil, err
	}
	spans := make([]Span, len(folded))
	for i := range folded {
		spans[i] = Span{Span: folded[i], Inputs: nonEmpty(folded[i].Inputs), Outputs: nonEmpty(folded[i].Outputs), Truncated: true}
		if err := contents.addTo(&spans[i]); err != nil {
			return nil, err
		}
	}
	return spans, nil
}
