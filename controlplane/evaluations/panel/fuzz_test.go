package panel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// FuzzMeasure takes any votes of any small panel: there is an error, or an answer that adds up and has no NaN.
func FuzzMeasure(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, uint8(i), uint8(i), uint8(3+i), uint8(1+i%4), []byte("\x00\x01\x02\x03\x20\x41\x62\x83"))
	}
	f.Fuzz(func(t *testing.T, seed uint64, scale, aggregate, outputs, judges uint8, votes []byte) {
		random := rand.New(rand.NewPCG(seed, 2))
		chosen := scales()[int(scale)%len(scales())]
		kinds := aggregates(chosen)
		in := Input{Name: "any", Kind: Score, Scale: chosen, Aggregate: kinds[int(aggregate)%len(kinds)], Seed: seed}
		if scale > 200 {
			in.Kind, in.Aggregate = Preference, Majority
		}
		odd := []float64{0, 1, 2, .5, 1e300, -1, math.NaN(), math.Inf(1)}
		for j := range judges % 5 {
			in.Judges = append(in.Judges, Judge{Name: "j", Escalation: j == 3})
		}
		for o := range outputs % 12 {
			in.Outputs = append(in.Outputs, Output{Item: int(o) / 2, Length: odd[random.IntN(len(odd))]})
		}
		if len(in.Judges) == 0 || len(in.Outputs) == 0 {
			return
		}
		for _, b := range votes {
			in.Votes = append(in.Votes, Vote{
				Output: int32(random.IntN(len(in.Outputs))), Judge: int32(random.IntN(len(in.Judges))), Repeat: int16(b & 3), Order: Order(random.IntN(3)),
				Status: Status(max(0, int(b>>4)-8)), Value: odd[int(b)%len(odd)], Cost: odd[random.IntN(3)], Duration: odd[random.IntN(len(odd))],
			})
			if b&8 > 0 {
				label := Label{Output: random.IntN(len(in.Outputs)), Person: int(b & 1), Value: odd[int(b>>1)%4]}
				if in.onScale(label.Value) {
					in.Labels = append(in.Labels, label)
				}
				in.Before = append(in.Before, Earlier{label.Output, odd[int(b)%4]})
			}
		}
		measure(t, in)
	})
}
