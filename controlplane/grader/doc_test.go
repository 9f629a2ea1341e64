package grader

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader/textmetrics"
)

var update = flag.Bool("update", false, "write the results into docs/graders.md")

const document = "../../docs/graders.md"

// documentedSample is the sample of the document.
type documentedSample struct {
	Input           json.RawMessage `json:"input"`
	ReferenceOutput json.RawMessage `json:"reference_output"`
	Metadata        map[string]any  `json:"metadata"`
	Output          json.RawMessage `json:"output"`
	Message         json.RawMessage `json:"message"`
	ToolCalls       []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Result    json.RawMessage `json:"result"`
		Error     *string         `json:"error"`
	} `json:"tool_calls"`
	FinishReason string  `json:"finish_reason"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
	DurationMS   int64   `json:"duration_ms"`
}

func (d *documentedSample) sample() *Sample {
	s := &Sample{
		Input: d.Input, ReferenceOutput: d.ReferenceOutput, Metadata: d.Metadata, Output: d.Output, Message: d.Message,
		FinishReason: d.FinishReason, InputTokens: &d.InputTokens, OutputTokens: &d.OutputTokens, CostUSD: &d.CostUSD,
		Duration: ptr(time.Duration(d.DurationMS) * time.Millisecond),
	}
	for _, c := range d.ToolCalls {
		s.ToolCalls = append(s.ToolCalls, ToolCall{c.ID, c.Name, c.Arguments, c.Result, c.Error})
	}
	return s
}

// TestDocument grades the sample of the document with each of its examples. -update writes the results.
func TestDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(document)
	require.NoError(t, err)
	text := string(raw)

	_, rest, found := strings.Cut(text, "```json sample\n")
	require.True(t, found)
	block, _, _ := strings.Cut(rest, "```")
	var sample documentedSample
	decoder := json.NewDecoder(strings.NewReader(block))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&sample))

	shown := map[string]bool{}
	var updated strings.Builder
	for {
		before, rest, found := strings.Cut(text, "```json\n")
		updated.WriteString(before)
		if !found {
			break
		}
		example, rest, found := strings.Cut(rest, "```\n")
		require.True(t, found)
		documented, rest, found := strings.Cut(rest, "\n")
		require.True(t, found && strings.HasPrefix(documented, "Gives "), example)
		g, err := Parse(json.RawMessage(example), "example")
		require.NoError(t, err, example)
		shown[g.Type()] = true
		line := documentedResult(t, g.Grade(t.Context(), sample.sample()))
		if !*update {
			assert.Equal(t, line, documented, example)
		}
		updated.WriteString("```json\n" + example + "```\n" + line + "\n")
		text = rest
	}
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(updated.String()), 0o600))
	}
	for _, kind := range Types() {
		assert.True(t, shown[kind], "the document has no example of %s", kind)
	}
	for _, metric := range textmetrics.MetricNames() {
		assert.True(t, strings.Contains(string(raw), "`"+metric+"`"), "the document lacks %s", metric) //nolint:testifylint // the document is long
	}
}

func documentedResult(t *testing.T, r Result) string {
	t.Helper()
	require.Empty(t, r.Error)
	if r.Score == nil {
		return "Gives no score. " + r.Reason
	}
	line := fmt.Sprintf("Gives %.3g", *r.Score)
	if r.Pass != nil {
		line += map[bool]string{true: ", passed", false: ", not passed"}[*r.Pass]
	}
	return line + ". " + r.Reason
}
