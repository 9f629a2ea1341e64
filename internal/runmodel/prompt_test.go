package runmodel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPromptsOfRun(t *testing.T) {
	t.Parallel()
	call := func(id uint64, second int64, change func(*Span)) Span {
		s := Span{SpanID: id, Version: id, ParentSpanID: 1, Kind: KindLLM, StartTime: time.Unix(second, 0)}
		change(&s)
		return s
	}
	spans := []Span{
		{SpanID: 1, Version: 1, Kind: KindAgent, StartTime: time.Unix(1, 0), InstructionsTextID: 9},
		call(2, 3, func(s *Span) { s.PromptName, s.PromptVersion, s.InstructionsTextID = "triage", "3", 10 }),
		call(3, 2, func(s *Span) { s.PromptID, s.PromptName, s.PromptVersion = "id", "answer", "1" }),
		call(4, 4, func(s *Span) { s.PromptName, s.PromptVersion = "triage", "3" }),
		call(5, 5, func(s *Span) { s.PromptVersion, s.SystemMessageTextID, s.InputMessageIDs = "v7", 11, []uint64{1} }),
		call(6, 6, func(s *Span) { s.InstructionsTextID, s.SystemMessageTextID, s.InputMessageIDs = 12, 11, []uint64{1} }),
		call(7, 7, func(s *Span) { s.Kind, s.InstructionsTextID = KindTool, 13 }),
		{SpanID: 8, Version: 8, Operation: "chat", StartTime: time.Unix(8, 0), InstructionsTextID: 14},
	}
	run := Totals(spans)
	assert.Empty(t, run.PromptName, "the root names none")
	assert.Equal(t, []string{"id", "", ""}, run.PromptIDs)
	assert.Equal(t, []string{"answer", "triage", ""}, run.PromptNames)
	assert.Equal(t, []string{"1", "3", "v7"}, run.PromptVersions)
	assert.Equal(t, []uint64{11, 12, 14}, run.SystemTextIDs, "of model calls that name no prompt")
	slices.Reverse(spans)
	again := Totals(append(spans, spans[:3]...))
	assert.Equal(t, run, again, "whatever the order of arrival")
}

// TestSystemMessageOfVersions checks that the text of the first message always belongs to the list of messages.
func TestSystemMessageOfVersions(t *testing.T) {
	t.Parallel()
	with := func(version, text uint64, fromLog bool, ids ...uint64) Span {
		return Span{SpanID: 1, Version: version, FromLog: fromLog, InputMessageIDs: ids, SystemMessageTextID: text}
	}
	for name, test := range map[string]struct {
		versions []Span
		want     uint64
	}{
		"a version without messages":       {[]Span{with(1, 5, false, 1, 2), with(2, 0, false)}, 5},
		"other messages":                   {[]Span{with(1, 5, false, 1, 2), with(2, 0, false, 2)}, 0},
		"log records":                      {[]Span{with(1, 5, true, 1), with(2, 0, true, 2)}, 5},
		"log records, the message later":   {[]Span{with(1, 0, true, 2), with(2, 5, true, 1)}, 0},
		"a span without, a log with":       {[]Span{with(1, 0, false), with(2, 5, true, 1)}, 5},
		"a span with messages wins":        {[]Span{with(1, 0, false, 3), with(2, 5, true, 1)}, 0},
		"log records without, then a text": {[]Span{with(1, 0, true), with(2, 5, true, 1)}, 5},
	} {
		assert.Equal(t, test.want, Fold(test.versions)[0].SystemMessageTextID, name)
	}
}

func TestPromptsAreBounded(t *testing.T) {
	t.Parallel()
	var spans []Span
	for i := range 2 * maxPrompts {
		naming := Span{SpanID: uint64(1 + i), Version: 1, Kind: KindLLM, StartTime: time.Unix(int64(i), 0)}
		other := naming
		naming.PromptName, naming.PromptVersion = "p", fmt.Sprint(i)
		other.SpanID, other.InstructionsTextID = uint64(1000+i), uint64(1+i)
		spans = append(spans, naming, other)
	}
	run := Totals(spans)
	require.Len(t, run.PromptVersions, maxPrompts)
	assert.Equal(t, "0", run.PromptVersions[0], "those of the first spans")
	assert.Len(t, run.SystemTextIDs, maxSystemTextIDs)

	hostile := strings.Repeat("x", maxPromptBytes)
	run = Totals([]Span{
		{SpanID: 1, Version: 1, PromptName: "p", StartTime: time.Unix(1, 0)},
		{SpanID: 2, Version: 1, PromptName: hostile, StartTime: time.Unix(2, 0)},
		{SpanID: 3, Version: 1, PromptName: "q", StartTime: time.Unix(3, 0)},
	})
	assert.Equal(t, []string{"p", "q"}, run.PromptNames)
}

func TestContentSystemText(t *testing.T) {
	t.Parallel()
	want := SystemTextID("Be \"brief\".\nÉcoute.")
	require.NotZero(t, want)
	for _, text := range []string{
		`[{"type":"text","content":"Be \"brief\".\nÉcoute."}]`,
		`[{"type": "text", "content": "Be \"brief\".\n\u00c9coute.\n"}]`,
		`[{"content":"Be \"brief\".","type":"text"},{"type":"image"},{"content":"Écoute.","type":"text"}]`,
	} {
		assert.Equal(t, want, SystemTextID(ContentSystemText(ContentInstructions, text)), text)
	}
	for _, text := range []string{
		`{"role":"system","parts":[{"type":"text","content":"Be \"brief\".\nÉcoute."}]}`,
		`{"role": "developer", "parts": [{"content": "Be \"brief\".\n\u00c9coute.", "type": "text"}], "name": null}`,
		`{"parts":[{"type":"text","content":"Be \"brief\"."},{"type":"text","content":"Écoute."}],"role":"system"}`,
	} {
		assert.Equal(t, want, SystemTextID(ContentSystemText(ContentMessage, text)), text)
	}
	for kind, texts := range map[string][]string{
		ContentMessage: {
			`{"role":"user","parts":[{"type":"text","content":"Be \"brief\".\nÉcoute."}]}`,
			`{"role":"user","parts":[{"type":"text","content":"the \"system\""}]}`, `{"role":"system","parts":[]}`, `{"role":"system"`, `"system"`, ``,
		},
		ContentInstructions:    {`[]`, `{}`, `[{"type":"text","content":""}]`, `[{"type":"text","content":"x"}`, ``},
		ContentToolDefinitions: {`[{"type":"text","content":"Be brief."}]`},
	} {
		for _, text := range texts {
			assert.Empty(t, ContentSystemText(kind, text), text)
		}
	}
	assert.Zero(t, SystemTextID(" \n"))
}
