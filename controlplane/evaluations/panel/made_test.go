package panel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// made is a panel whose judges see the quality of outputs, each with its own noise. Two outputs belong to an item.
func made(random *rand.Rand, outputs, judges, repeats int, scale Scale) Input {
	in := Input{Name: "quality", Kind: Score, Scale: scale, Aggregate: Mean, Seed: 7}
	if scale.Type == Binary || scale.Type == Categorical {
		in.Aggregate = Majority
	}
	for j := range judges {
		in.Judges = append(in.Judges, Judge{Name: fmt.Sprintf("judge-%d", j)})
	}
	for o := range outputs {
		quality := random.Float64()
		in.Outputs = append(in.Outputs, Output{Item: o / 2, Length: float64(100 + random.IntN(900))})
		for j := range judges {
			for r := range repeats {
				seen := max(0, min(1, quality+.15*random.NormFloat64()))
				in.Votes = append(in.Votes, Vote{
					Output: int32(o), Judge: int32(j), Repeat: int16(r), Value: in.nearest(seen), Cost: .001, Duration: 500,
				})
			}
		}
	}
	return in
}

// nearest is the value that a judge gives for a quality from 0 to 1.
func (in *Input) nearest(quality float64) float64 {
	if in.Scale.Type == Numeric {
		return in.Scale.Number(quality)
	}
	return math.Round(in.Scale.Number(quality))
}
