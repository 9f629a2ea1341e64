package runpdata

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestIsGenAI checks that attributes decide as the row of their span does: each that has a column, with values that fit and
// values that do not.
func TestIsGenAI(t *testing.T) {
	t.Parallel()
	check := func(raw map[string]any) bool {
		fill := attributes(t, raw)
		rows := rowsOf(t, nil, fill)
		require.Len(t, rows.Spans, 1)
		m := pcommon.NewMap()
		require.NoError(t, m.FromRaw(raw))
		got := IsGenAI(m)
		assert.Equal(t, rows.Spans[0].IsGenAI(), got, "%v", raw)
		return got
	}
	keys := slices.Concat(slices.Collect(maps.Keys(runmodel.StringFields)), slices.Collect(maps.Keys(runmodel.CountFields)), []string{
		runmodel.KeyRun, runmodel.KeyFromLog, runmodel.KeyInputMessages, runmodel.KeyOutputMessages, runmodel.KeySystemInstructions,
		runmodel.KeyToolDefinitions, runmodel.KeyTags, runmodel.KeyScores, runmodel.KeyCostUSD, runmodel.KeyMetadataPrefix + "x", "x",
	})
	message := `{"role":"user","parts":[{"type":"text","content":"Hi"}]}`
	var decisive []string
	for _, key := range keys {
		for _, value := range []any{
			"", "chat", runmodel.KindSpan, true, false, 0, 7, -1, 1.5, 7.0, int64(1)<<53 + 1,
			[]any{},
			[]any{map[string]any{}},
			"[]", "[7",
			`[` + message + `]`, ` [` + message + `,` + message + `,` + message + `] `, `[` + message + `,{]`, "\xff", `{"a":"` + "\xff" + `"}`,
		} {
			if check(map[string]any{key: value}) && !slices.Contains(decisive, key) {
				decisive = append(decisive, key)
			}
		}
	}
	assert.ElementsMatch(t, decisive, slices.DeleteFunc(keys, func(key string) bool { return !isStatement(key) && !isContent(key) }))

	check(map[string]any{runmodel.KeyInputMessages: "[]", runmodel.KeyKind: runmodel.KindSpan, runmodel.KeyOtherTokens: -1})
	long := `[` + message + `,` + message + `,` + message
	check(map[string]any{runmodel.KeyInputMessages: long + `]`, runmodel.KeyOutputMessages: long + `,7x]`})
}

// TestIsGenAIOfRepeatedKeys checks that of an attribute that was sent several times the one decides that the row has.
func TestIsGenAIOfRepeatedKeys(t *testing.T) {
	t.Parallel()
	for _, values := range [][2]string{{"chat", ""}, {"", "chat"}} {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(fmt.Appendf(nil, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[
			{"key":%[1]q,"value":{"stringValue":%[2]q}},{"key":%[1]q,"value":{"stringValue":%[3]q}}]}]}]}]}`,
			runmodel.KeyOperationName, values[0], values[1]))
		require.NoError(t, err)
		repeated := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		require.Equal(t, 2, repeated.Len())
		rows := rowsOf(t, nil, func(span ptrace.Span) { repeated.CopyTo(span.Attributes()) })
		assert.Equal(t, values[1] != "", rows.Spans[0].IsGenAI(), "%q", values)
		assert.Equal(t, values[1] != "", IsGenAI(repeated), "%q", values)
	}
}
