package runpdata

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSplitElements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`[]`:                              nil,
		` [ 1 , {"a":[1,2]} ] `:           {"1", `{"a":[1,2]}`},
		`["a,b","c\"]",{"k":"\\"}]`:       {`"a,b"`, `"c\"]"`, `{"k":"\\"}`},
		`[{"text":"[{]}"}, [[], [1, 2]]]`: {`{"text":"[{]}"}`, `[[], [1, 2]]`},
	} {
		got, ok := splitElements(text)
		require.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "[", "{}", `["a]`, "[1]]", "[[1]", "hello [TRUNCATED]"} {
		_, ok := splitElements(text)
		assert.False(t, ok, text)
	}
}

func FuzzSplitElements(f *testing.F) {
	f.Add(`[1,"a,]\"",{"b":[2,3]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		elements, ok := splitElements(text)
		var want []json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return // invalid JSON is detected when the elements are parsed
		}
		require.True(t, ok, "a valid array is cut: %q", text)
		require.Len(t, elements, len(want))
		for i := range want {
			require.Equal(t, strings.TrimSpace(string(want[i])), elements[i])
		}
	})
}

func TestEndOfString(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		text := make([]byte, random.IntN(20))
		for i := range text {
			text[i] = `a"\`[random.IntN(3)]
		}
		want := -1
		for i := 0; i < len(text) && want < 0; i++ {
			switch text[i] {
			case '"':
				want = i
			case '\\':
				i++
			}
		}
		require.Equal(t, want, endOfString(string(text), 0), string(text))
	}
}
