package compare

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func table() *Table {
	t := &Table{Title: "STORE", Base: "stock"}
	for _, v := range []float64{30, 10, 20} {
		t.Add("stock", Figure{"spans/s", v}, Figure{"MB", 0})
	}
	for _, v := range []float64{50, 30} {
		t.Add("ours", Figure{"spans/s", v}, Figure{"MB", 7}, Figure{"own", 250})
	}
	return t
}

func TestSummary(t *testing.T) {
	t.Parallel()
	odd, ok := table().Summary("stock", "spans/s")
	require.True(t, ok)
	assert.Equal(t, Summary{Median: 20, Low: 10, High: 30, Rounds: []float64{30, 10, 20}}, odd)
	even, ok := table().Summary("ours", "spans/s")
	require.True(t, ok)
	assert.Equal(t, Summary{Median: 40, Low: 30, High: 50, Rounds: []float64{50, 30}}, even)
	_, ok = table().Summary("stock", "own")
	assert.False(t, ok)
	_, ok = new(Table).Summary("stock", "spans/s")
	assert.False(t, ok)
}

func TestRatio(t *testing.T) {
	t.Parallel()
	ratio, ok := table().Ratio("ours", "spans/s")
	require.True(t, ok)
	assert.InDelta(t, 2, ratio, 1e-9)
	_, ok = table().Ratio("ours", "MB")
	assert.False(t, ok, "the base's is 0")
	_, ok = table().Ratio("ours", "own")
	assert.False(t, ok, "the base has none")
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, table().Print(&out))
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	assert.Equal(t, []string{
		"STORE",
		"           stock             ours              ×",
		"  spans/s  20.0 (10.0-30.0)  40.0 (30.0-50.0)  2.00",
		"  MB       0.0 (0.0-0.0)     7.0 (7.0-7.0)     -",
		"  own      -                 250 (250-250)     -",
	}, lines)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(table())
	require.NoError(t, err)
	assert.JSONEq(t, `{"title": "STORE", "base": "stock", "systems": {
		"stock": {
			"spans/s": {"median": 20, "low": 10, "high": 30, "rounds": [30, 10, 20]},
			"MB": {"median": 0, "low": 0, "high": 0, "rounds": [0, 0, 0]}
		},
		"ours": {
			"spans/s": {"median": 40, "low": 30, "high": 50, "rounds": [50, 30], "ratio": 2},
			"MB": {"median": 7, "low": 7, "high": 7, "rounds": [7, 7]},
			"own": {"median": 250, "low": 250, "high": 250, "rounds": [250, 250]}
		}
	}}`, string(text))
}
