package runmodel

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// TestOutputOfRun checks that tool calls are the output of a run only if no call answers.
func TestOutputOfRun(t *testing.T) {
	t.Parallel()
	span := func(id uint64, output string, calls bool) Span {
		start := time.Unix(1_700_000_000+int64(id), 0).UTC()
		s := Span{
			RunID: uuid.UUID{1}, SpanID: id, Version: id, Kind: KindLLM, StartTime: start, EndTime: start.Add(time.Second),
			OutputPreview: output, OutputCalls: calls,
		}
		if id > 1 {
			s.ParentSpanID = 1
		}
		return s
	}
	root, first, second := span(1, "", false), span(2, "f()", true), span(3, "g()", true)
	answer := span(4, "done", false)
	last := span(5, "h()", true)
	assert.Equal(t, "done", Totals([]Span{root, first, answer, last}).OutputPreview, "calls after the answer")
	assert.Equal(t, "done", Totals([]Span{root, first, second, answer}).OutputPreview)
	assert.Equal(t, "g()", Totals([]Span{root, first, second}).OutputPreview, "the last calls")
	assert.Equal(t, "done", Totals([]Span{span(1, "f()", true), answer}).OutputPreview, "the root only calls")
	assert.Equal(t, "all done", Totals([]Span{span(1, "all done", false), answer, last}).OutputPreview, "the root answers")

	again := first
	again.Version, again.OutputPreview, again.OutputCalls = 9, "late answer", false
	assert.Equal(t, "late answer", Totals([]Span{root, first, again, second}).OutputPreview, "a newer version answers")
}
