package genaispans

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strangeStrings have special characters at every offset within an eight-byte word.
func strangeStrings() []string {
	parts := []string{
		"", "a", "\"", "\\", "\\\\", "\\\"", "\n", "\x00", "\x1f", " ", "#", "!", "[", "]", "\x7f", "é", "語", "😀", "\xff", "\xe8\xaa", "plain text ",
	}
	var all []string
	for pad := range 18 {
		for _, a := range parts {
			for _, b := range parts {
				all = append(all, strings.Repeat("x", pad)+a+b+strings.Repeat("y", pad%5)+a)
			}
		}
	}
	return append(all, strings.Repeat("a \"quoted\" word, ", 40), strings.Repeat(`{"a":1,"b":"c\\"}`, 60), strings.Repeat("\"\\", 90),
		strings.Repeat("語", 300)+"\xff", "\xff"+strings.Repeat("é", 50))
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, s := range strangeStrings() {
		for _, room := range []int{0, len(s) + 2, 6 * len(s)} {
			b := appendString(append(make([]byte, 0, room+4), "head"...), s)
			var back string
			require.NoError(t, json.Unmarshal(b[len("head"):], &back), "%q", s)
			require.Equal(t, "head", string(b[:len("head")]))
			want, err := json.Marshal(s)
			require.NoError(t, err)
			var same string // encoding/json replaces the same bytes by U+FFFD
			require.NoError(t, json.Unmarshal(want, &same))
			require.Equal(t, same, back, "%q", s)
		}
	}
}

func TestEndOfString(t *testing.T) {
	t.Parallel()
	for _, s := range strangeStrings() {
		for _, text := range []string{s, s + `"`, string(appendString(nil, s))[1:] + `: "behind"`} {
			want, escaped := -1, false
			for i := range len(text) {
				switch {
				case escaped:
					escaped = false
					continue
				case text[i] == '\\':
					escaped = true
					continue
				case text[i] != '"':
					continue
				}
				want = i
				break
			}
			assert.Equal(t, want, endOfString(text, 0), "%q", text)
			assert.Equal(t, want, endOfDense(text, 0), "%q", text)
			if want >= 0 {
				assert.Equal(t, want+1, endOfString(" "+text, 1), "%q", text)
			}
		}
	}
}
