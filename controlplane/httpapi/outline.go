package httpapi

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type outlineHandlers struct {
	runs outlineReader
}

type outlineReader interface {
	Outline(ctx context.Context, in access.Projects, runID uuid.UUID) (runs.Outline, error)
}

// GetOutline reads what all spans of a run are.
func (h outlineHandlers) GetOutline(ctx context.Context, req contract.GetOutlineRequestObject) (contract.GetOutlineResponseObject, error) {
	outline, err := h.runs.Outline(ctx, grantOf(ctx).Projects, req.RunId)
	if err != nil {
		return nil, err
	}
	return contract.GetOutline200JSONResponse(outlineOf(outline)), nil
}

// words gives each text a number. The empty text is 0.
type words struct {
	list  []string
	index map[string]int
}

func (w *words) number(text string) int {
	n, ok := w.index[text]
	if !ok {
		n = len(w.list)
		w.index[text] = n
		w.list = append(w.list, strings.ToValidUTF8(text, "\uFFFD"))
	}
	return n
}

func outlineOf(outline runs.Outline) contract.Outline {
	w := words{list: []string{""}, index: map[string]int{"": 0}}
	spans, nodes := outline.Spans, outline.Tree()
	counted := runmodel.CountsUsage(spans)
	answer := contract.Outline{RunId: outline.Run.RunID, StartTime: spans[0].StartTime.UTC(), Partial: outline.Partial}
	since := func(t time.Time) float64 { return milliseconds(t.Sub(spans[0].StartTime)) }
	placeOf := make([]int, len(spans))
	columns := &answer.Spans
	for place, node := range nodes {
		s := &spans[node.Span]
		placeOf[node.Span] = place
		columns.SpanId = append(columns.SpanId, runmodel.FormatSpanID(s.SpanID))
		columns.Parent = append(columns.Parent, node.Parent)
		columns.StartMs = append(columns.StartMs, since(s.StartTime))
		columns.DurationMs = append(columns.DurationMs, lengthOf(s))
		columns.Status = append(columns.Status, contract.Status(s.EffectiveStatus()))
		columns.Name = append(columns.Name, w.number(s.Name))
		columns.Kind = append(columns.Kind, w.number(s.EffectiveKind()))
		model := s.ResponseModel
		if model == "" {
			model = s.RequestModel
		}
		columns.Model = append(columns.Model, w.number(model))
		columns.Tool = append(columns.Tool, w.number(s.ToolName))
		columns.Agent = append(columns.Agent, w.number(s.AgentName))
		columns.Error = append(columns.Error, w.number(s.ErrorType))
		tokens := int64(unknownNumber)
		if counted[node.Span] && (s.InputTokens != nil || s.OutputTokens != nil) {
			tokens = valueOf(s.InputTokens, 0) + valueOf(s.OutputTokens, 0)
		}
		columns.Tokens = append(columns.Tokens, tokens)
	}
	answer.Words = w.list
	answer.ErrorChain = []int{}
	for _, i := range runmodel.ErrorChain(spans, outline.Run.FailingSpanID) {
		answer.ErrorChain = append(answer.ErrorChain, placeOf[i])
	}
	path := &answer.CriticalPath
	path.Span, path.StartMs, path.DurationMs = []int{}, []float64{}, []float64{}
	for _, section := range runs.CriticalPath(spans, outline.Root()) {
		path.Span = append(path.Span, placeOf[section.Span])
		path.StartMs = append(path.StartMs, since(section.From))
		path.DurationMs = append(path.DurationMs, milliseconds(section.To.Sub(section.From)))
	}
	return answer
}

// unknownNumber stands in a column where there is no number.
const unknownNumber = -1

// lengthOf is a span's duration in milliseconds, 0 where clocks made it end before it began.
func lengthOf(s *runmodel.Span) float64 {
	if runmodel.IsAbsent(s.EndTime) {
		return unknownNumber
	}
	return max(0, milliseconds(s.EndTime.Sub(s.StartTime)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
