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

// stringTable holds each string once. The empty string has index 0.
type stringTable struct {
	list    []string
	indexOf map[string]int
}

// index returns the index of text in the list, and adds text if it is new.
func (t *stringTable) index(text string) int {
	i, ok := t.indexOf[text]
	if !ok {
		i = len(t.list)
		t.indexOf[text] = i
		t.list = append(t.list, strings.ToValidUTF8(text, "\uFFFD"))
	}
	return i
}

func outlineOf(outline runs.Outline) contract.Outline {
	table := stringTable{list: []string{""}, indexOf: map[string]int{"": 0}}
	spans, nodes := outline.Spans, outline.Tree()
	counted := runmodel.CountsUsage(spans)
	answer := contract.Outline{RunId: outline.Run.RunID, StartTime: spans[0].StartTime.UTC(), Partial: outline.Partial}
	since := func(t time.Time) float64 { return milliseconds(t.Sub(spans[0].StartTime)) }
	positionOf := make([]int, len(spans))
	columns := &answer.Spans
	for position, node := range nodes {
		s := &spans[node.Span]
		positionOf[node.Span] = position
		columns.SpanId = append(columns.SpanId, runmodel.FormatSpanID(s.SpanID))
		columns.Parent = append(columns.Parent, node.Parent)
		columns.StartMs = append(columns.StartMs, since(s.StartTime))
		columns.DurationMs = append(columns.DurationMs, lengthOf(s))
		columns.Status = append(columns.Status, contract.Status(s.EffectiveStatus()))
		columns.Name = append(columns.Name, table.index(s.Name))
		columns.Kind = append(columns.Kind, table.index(s.EffectiveKind()))
		model := s.ResponseModel
		if model == "" {
			model = s.RequestModel
		}
		columns.Model = append(columns.Model, table.index(model))
		columns.Tool = append(columns.Tool, table.index(s.ToolName))
		columns.Agent = append(columns.Agent, table.index(s.AgentName))
		columns.Error = append(columns.Error, table.index(s.ErrorType))
		tokens := int64(unknownNumber)
		if counted[node.Span] && (s.InputTokens != nil || s.OutputTokens != nil) {
			tokens = valueOf(s.InputTokens, 0) + valueOf(s.OutputTokens, 0)
		}
		columns.Tokens = append(columns.Tokens, tokens)
	}
	answer.Strings = table.list
	answer.ErrorChain = []int{}
	for _, i := range runmodel.ErrorChain(spans, outline.Run.FailingSpanID) {
		answer.ErrorChain = append(answer.ErrorChain, positionOf[i])
	}
	path := &answer.CriticalPath
	path.Span, path.StartMs, path.DurationMs = []int{}, []float64{}, []float64{}
	for _, section := range runs.CriticalPath(spans, outline.Root()) {
		path.Span = append(path.Span, positionOf[section.Span])
		path.StartMs = append(path.StartMs, since(section.From))
		path.DurationMs = append(path.DurationMs, milliseconds(section.To.Sub(section.From)))
	}
	return answer
}

// unknownNumber is the value of a column without a number.
const unknownNumber = -1

// lengthOf is a span's duration in milliseconds, 0 if clock skew makes it end before it began.
func lengthOf(s *runmodel.Span) float64 {
	if runmodel.IsAbsent(s.EndTime) {
		return unknownNumber
	}
	return max(0, milliseconds(s.EndTime.Sub(s.StartTime)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
