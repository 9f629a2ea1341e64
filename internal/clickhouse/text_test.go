package clickhouse

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestColumnsOfStrings compares the output of our columns with that of ch-go's: compressed or not, first used or
// reused.
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
	words, plain, pairs := newStringTable(), new(text), newTextMaps()
	lists, wordy := &lists[*text]{strings: new(text)}, &lists[*stringTable]{strings: newStringTable()}
	for name, list := range values {
		t.Run(name, func(t *testing.T) {
			wantWords, wantPlain, wantLists, wantWordy := new(proto.ColStr).LowCardinality(), new(proto.ColStr), new(proto.ColStr).Array(), new(proto.ColStr).LowCardinality().Array()
			wantPairs := proto.NewMap(new(proto.ColStr).LowCardinality(), new(proto.ColStr))
			for i, value := range list {
				words.append(value)
				wantWords.Append(value)
				plain.append(value)
				wantPlain.Append(value)
				lists.append(list[:i%3])
				wantLists.Append(list[:i%3])
				wordy.append(list[:i%3])
				wantWordy.Append(list[:i%3])
				pair := map[string]string{value: list[i/2]} // with two, the order would differ
				if i%3 == 0 {
					pair = nil
				}
				pairs.append(pair)
				wantPairs.Append(pair)
			}
			for _, pair := range []struct {
				want, got proto.ColInput
				reset     func()
			}{
				{wantWords, words, words.reset},
				{wantPlain, plain, plain.reset},
				{wantLists, lists, lists.reset},
				{wantWordy, wordy, wordy.reset},
				{wantPairs, pairs, pairs.reset},
			} {
				assert.Equal(t, pair.want.Type(), pair.got.Type())
				require.Equal(t, len(list), pair.got.Rows())
				for _, column := range []proto.ColInput{pair.want, pair.got} {
					if prepared, ok := column.(proto.Preparable); ok {
						require.NoError(t, prepared.Prepare())
					}
				}
				assert.Equal(t, encoded(pair.want), encoded(pair.got))
				assert.Equal(t, written(t, pair.want), written(t, pair.got))
				pair.reset()
				assert.Zero(t, pair.got.Rows())
			}
		})
	}
}

// TestColumnsLetGo checks that a column does not refer to rows that were sent.
func TestColumnsLetGo(t *testing.T) {
	t.Parallel()
	var blocks []func()
	freed := make(chan struct{}, 1)
	fill := func() { // on a separate stack
		record := strings.Repeat("text", 100)
		data := unsafe.StringData(record)
		runtime.SetFinalizer(data, func(*byte) { freed <- struct{}{} })
		span := runmodel.Span{
			Name: record[1:3], Kind: record[2:4], Inputs: record[:9], Tags: []string{record[3:6]},
			Metadata: map[string]string{record[1:2]: record[2:7]}, Attributes: map[string]string{record[4:9]: record[5:9]},
		}
		for _, c := range spanColumns() {
			c.append(&span)
			if prepared, ok := c.data.(proto.Preparable); ok {
				require.NoError(t, prepared.Prepare())
			}
			c.reset()
			blocks = append(blocks, c.reset)
		}
	}
	fill()
	require.Eventually(t, func() bool {
		runtime.GC()
		return len(freed) == 1
	}, 10*time.Second, 10*time.Millisecond, "a column still holds a text")
	runtime.KeepAlive(blocks)
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
