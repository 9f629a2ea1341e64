package panel

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenFile has published tables of ratings, and what their sources compute from them.
type goldenFile struct {
	Cases []struct {
		ID    string `json:"id"`
		Scale struct {
			Type     ScaleType `json:"type"`
			Min, Max float64
			Labels   []string `json:"labels"`
		} `json:"scale"`
		Votes     [][]*float64       `json:"votes"`
		Expected  map[string]float64 `json:"expected"`
		Tolerance float64            `json:"tolerance"`
	} `json:"cases"`
}

func readGolden(t *testing.T) goldenFile {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var file goldenFile
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	return file
}

// votesOf are votes[output][judge], nil for one that is malformed.
func votesOf(scale Scale, aggregate Aggregate, votes [][]*float64) Input {
	in := Input{Name: "golden", Kind: Score, Scale: scale, Aggregate: aggregate}
	for j := range votes[0] {
		in.Judges = append(in.Judges, Judge{Name: string(rune('a' + j))})
	}
	for o, row := range votes {
		in.Outputs = append(in.Outputs, Output{Item: o, Length: math.NaN()})
		for j, value := range row {
			v := Vote{Output: int32(o), Judge: int32(j), Status: ParseError, Cost: math.NaN(), Duration: math.NaN()}
			if value != nil {
				v.Status, v.Value = OK, *value
			}
			in.Votes = append(in.Votes, v)
		}
	}
	return in
}

// TestGolden: the votes of published tables, with gaps, have the published agreement.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, c := range readGolden(t).Cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			aggregate := Majority
			if c.Scale.Type == Numeric {
				aggregate = Mean
			}
			s, _, err := Measure(votesOf(Scale{Type: c.Scale.Type, Min: c.Scale.Min, Max: c.Scale.Max, Labels: c.Scale.Labels}, aggregate, c.Votes))
			require.NoError(t, err)
			data, err := json.Marshal(s.Reliability)
			require.NoError(t, err)
			var figures map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(data, &figures))
			require.NotEmpty(t, c.Expected)
			for name, want := range c.Expected {
				var f Figure
				require.NoError(t, json.Unmarshal(figures[name], &f), name)
				require.NotNil(t, f.Value, name)
				require.InDelta(t, want, *f.Value, c.Tolerance, name)
			}
		})
	}
}
