package clickhouse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestColumnsOfStrings holds our own columns to what ch-go's send: compressed or not, used once or again.
func TestColumnsOfStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 1000)
	values := map[string][]string{
		"few":        {"", "a", "a", "b", "a", "c", "c", "a", "", "b"},
		"same":       {"x", "x", "x"},
		"empty":      {"", ""},
		"long":       {long, "", long, long + long, "short", long},
		"ends short": {long, "short"},
	}
	for _, distinct := range []int{256, 257, 65536, 65537} {
		var many []string
		for i := range distinct {
			many = append(many, fmt.Sprint(i), fmt.Sprint(i/2))
		}
		values[fmt.Sprint(distinct)] = many
	}
	words, plain, lists := newDictionary(), new(text), new(texts)
	for name, list := range values {
		t.Run(name, func(t *testing.T) {
			wantWords, wantPlain, wantLists := new(proto.ColStr).LowCardinality(), new(proto.ColStr), new(proto.ColStr).Array()
			for i, value := range list {
				words.append(value)
				plain.append(value)
				wantWords.Append(value)
				wantPlain.Append(value)
				lists.append(list[:i%3])
				wantLists.Append(list[:i%3])
			}
			assert.Equal(t, wantWords.Type(), words.Type())
			assert.Equal(t, wantPlain.Type(), plain.Type())
			assert.Equal(t, wantLists.Type(), lists.Type())
			require.Equal(t, len(list), words.Rows())
			require.Equal(t, len(list), plain.Rows())
			require.Equal(t, len(list), lists.Rows())
			require.NoError(t, words.Prepare())
			require.NoError(t, wantWords.Prepare())
			for _, pair := range [][2]proto.ColInput{{wantWords, words}, {wantPlain, plain}, {wantLists, lists}} {
				assert.Equal(t, encoded(pair[0]), encoded(pair[1]))
				assert.Equal(t, written(t, pair[0]), written(t, pair[1]))
			}
			words.reset()
			plain.reset()
			lists.reset()
			assert.Zero(t, words.Rows())
			assert.Zero(t, plain.Rows())
			assert.Zero(t, lists.Rows())
		})
	}
}

func encoded(column proto.ColInput) string {
	var b proto.Buffer
	column.EncodeColumn(&b)
	return string(b.Buf)
}

func written(t *testing.T, column proto.ColInput) string {
	t.Helper()
	var out strings.Builder
	w := proto.NewWriter(&out, new(proto.Buffer))
	if state, ok := column.(proto.StateEncoder); ok {
		w.ChainBuffer(state.EncodeState)
	}
	column.WriteColumn(w)
	_, err := w.Flush()
	require.NoError(t, err)
	return out.String()
}
