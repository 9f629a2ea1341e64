package diagnoses

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/looptrace/looptrace/controlplane/runs"
)

// stepOf is a step of which each field has a text.
func stepOf(result string) *runs.Span {
	span := &runs.Span{
		SystemInstructions: []json.RawMessage{json.RawMessage(`{"type":"text","content":"Refuse every refund above 50 EUR."}`)},
		InputMessages: []json.RawMessage{
			json.RawMessage(`{"role":"user","parts":[{"type":"text","content":"Please refund order A17."}]}`),
			json.RawMessage(`{"role":"assistant","parts":[{"type":"tool_call","name":"find_order","arguments":{"order":"A17"}}]}`),
		},
		OutputMessages: []json.RawMessage{json.RawMessage(`{"role":"assistant","parts":[{"type":"text","content":"I cannot refund\n\n  this order."}]}`)},
	}
	span.ErrorType, span.ErrorMessage, span.ToolResult, span.ToolArguments = "TimeoutError", "no answer within 3000 ms", result, `{"order": "A17", "note": "café"}`
	return span
}

func TestFind(t *testing.T) {
	t.Parallel()
	fields := fieldsOf(stepOf("The stock server said: \"busy – try later\". Cafe\u0301 Zoë."))
	for quote, field := range map[string]string{
		"no answer within 3000 ms":              "error",
		"TimeoutError: no answer within":        "error",
		"I cannot refund this order.":           "output_messages[0].parts[0]", // white space is folded
		"  I cannot\trefund\u00a0this order.  ": "output_messages[0].parts[0]",
		"Please refund order A17.":              "input_messages[0].parts[0]",
		`find_order({"order":"A17"})`:           "input_messages[1].parts[0]",
		"every refund above 50 EUR":             "system_instructions[0]",
		`"order": "A17"`:                        "tool.arguments",
		`"busy – try later"`:                    "tool.result",
		"Café Zoë":                              "tool.result", // composed, and recorded as two characters
		norm.NFD.String("later\". Café Zoë"):    "tool.result",
	} {
		found, ok := find(fields, quote)
		if assert.True(t, ok, quote) {
			assert.Equal(t, field, found.Field, quote)
			i := 0
			for fields[i].name != field {
				i++
			}
			characters := []rune(fields[i].text)
			assert.Equal(t, found.Text, string(characters[found.Offset:found.Offset+found.Length]), quote)
			assert.Equal(t, strings.TrimSpace(foldText(quote)), foldText(found.Text), quote)
		}
	}
	for _, quote := range []string{
		"", "A17", "timeout", // too short
		`", "   ", "`, "........", "—————————", "« » « » «", `{"":""},{}`, // punctuation
		"no answer within 3000 m\u0455",      // a homoglyph: Cyrillic dze for s
		"n\u043e answer within 3000 ms",      // Cyrillic o
		"no answer\u200b within 3000 ms",     // an invisible character
		"no answer within 3001 ms",           // one digit
		"No answer within 3000 ms",           // another case
		"no answer … 3000 ms",                // an ellipsis
		"I cannot refund this order!",        // another sign
		"I cannotrefund this order.",         // white space that is missing
		"Please refund order A17. find_or",   // over two parts
		"stock server said: Refuse",          // two fields
		"try later\". Cafe",                  // ends inside of a character
		"\u0301 Zoë. and more",               // begins inside of one
		"ﬁnd_order({\"order\":\"A17\"})",     // a ligature, which only NFKC resolves
		strings.Repeat("no answer ", 10_000), // huge
		"no answer within 3000 ms\x00",
		"<script>alert(1)</script>",
	} {
		_, ok := find(fields, quote)
		assert.False(t, ok, "%.60q", quote)
	}
}

// FuzzFind holds that what is found is what was quoted, where it says.
func FuzzFind(f *testing.F) {
	f.Add("The stock server is busy.", "server is busy")
	f.Add("Cafe\u0301  au\n lait", "Café au lait")
	f.Add("a\u0300\u0301\u0302bcdefgh", "bcdefgh")
	f.Add("\u1100\u1161\u11a8 가각 text here", "각 가각 text")
	f.Add("x \u0301 accents on spaces", "accents on spaces")
	f.Add("\xff\xfe invalid bytes here", "invalid bytes")
	f.Fuzz(func(t *testing.T, text, quote string) {
		found, ok := find([]field{{"tool.result", text}}, quote)
		wanted, quoted := quotable(quote)
		if !ok {
			if quoted && norm.NFC.IsNormalString(text) && strings.Join(strings.Fields(text), " ") == text && text == quote && utf8.ValidString(text) {
				t.Fatalf("%q is not found in itself", text)
			}
			return
		}
		require.True(t, quoted)
		require.Equal(t, wanted, strings.TrimSpace(foldText(found.Text)), "what is found is what was quoted")
		characters := []rune(text)
		if utf8.ValidString(text) {
			require.Equal(t, found.Text, string(characters[found.Offset:found.Offset+found.Length]))
		}
		// A letter that is changed is not found, unless the text has that, too.
		letters := []rune(wanted)
		for _, i := range []int{0, len(letters) / 2, len(letters) - 1} {
			changed := append([]rune{}, letters...)
			changed[i] = '\u2603'
			if !strings.ContainsRune(text, '\u2603') {
				_, ok := find([]field{{"tool.result", text}}, string(changed))
				require.False(t, ok)
			}
		}
	})
}
