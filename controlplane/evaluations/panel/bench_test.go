package panel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkMeasure measures large panels, with two outputs for each item.
func BenchmarkMeasure(b *testing.B) {
	five := Scale{Type: Ordinal, Min: 1, Max: 5}
	for _, c := range []struct {
		outputs, judges, repeats int
		scale                    Scale
		aggregate                Aggregate
	}{
		{10_000, 5, 1, five, Mean},
		{100_000, 3, 1, five, Mean},
		{100_000, 3, 1, Scale{Type: Binary}, Majority},
		{100_000, 10, 2, five, Mean},
		{100_000, 10, 1, five, Majority},
		{100_000, 3, 2, Scale{Type: Numeric, Max: 1}, Minimum},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d/%s/%s", c.outputs, c.judges, c.repeats, c.scale.Type, c.aggregate), func(b *testing.B) {
			in := made(rand.New(rand.NewPCG(1, 1)), c.outputs, c.judges, c.repeats, c.scale)
			in.Aggregate = c.aggregate
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := Measure(in)
				require.NoError(b, err)
			}
		})
	}
}
