package httpapi

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// TestSpanPageIsTheStandardLibrarys: pages of spans have an encoder of their own, which must write the same bytes as that of all
// other answers.
func TestSpanPageIsTheStandardLibrarys(t *testing.T) {
	t.Parallel()
	var every strings.Builder
	for r := rune(0); r < 0x3000; r++ {
		every.WriteRune(r)
	}
	texts := []string{"", every.String(), "\xff\xc3(\xed\xa0\x80", "<script>&amp;</script>", "\u2028\u2029\U0001f600\ufffd", `{"a": 1}`, "\\\"\r\n\t\x00"}
	numbers := []float64{0, math.Copysign(0, -1), 1, -1.5, 1e20, 1e21, 1e-6, 1e-7, 123456789.123456789, math.MaxFloat64, math.SmallestNonzeroFloat64}
	page := contract.SpanPage{Limit: 5, SpanCount: math.MaxInt64}
	for i, text := range texts {
		for j, number := range numbers {
			count := int64(number)
			span := runs.Span{Inputs: &text}
			span.SpanID, span.RunID, span.ParentSpanID = uint64(i), uuid.New(), uint64(j)
			span.Name, span.Kind, span.ErrorMessage, span.ToolResult, span.SessionID = text, "tool", text, text, text
			span.StartTime = time.Unix(int64(j)*1e8, int64(j)*1001)
			span.CostUSD, span.TimeToFirstToken, span.InputTokens = &number, &number, &count
			span.FinishReasons = texts[:i]
			message, err := json.MarshalIndent(map[string]any{text: []any{text, number, nil, true, map[string]any{}}}, " ", "\t")
			require.NoError(t, err)
			span.InputMessages = []json.RawMessage{message, json.RawMessage(` [ 12345678901234567890 , "<&>" ] `)}
			span.Span.Attributes = map[string]string{text: text, "b": "<", "a": "\u2029"}
			for _, whole := range []bool{false, true} {
				one, err := spanOf(&span, whole)
				require.NoError(t, err)
				page.Data = append(page.Data, one)
			}
		}
	}
	for _, page := range []contract.SpanPage{page, {Data: []contract.Span{}}} {
		standard, err := json.Marshal(page)
		require.NoError(t, err)
		answer := httptest.NewRecorder()
		require.NoError(t, spanPage(page).VisitListSpansResponse(answer))
		if got := answer.Body.String(); got != string(standard) { // megabytes, to print whole
			require.Fail(t, "not the same", "where they part: %q", around(string(standard), got))
		}
		assert.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	}
}

// around returns a little of both texts around the first byte that differs.
func around(a, b string) [2]string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(at-60, 0)
	return [2]string{a[from:min(at+60, len(a))], b[from:min(at+60, len(b))]}
}
