package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomMetrics has continuous scores, the slowest case, and binary ones in every second metric.
func randomMetrics(metrics, items, repeats int) []Metric {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]Metric, metrics)
	for i := range all {
		all[i] = Metric{Name: fmt.Sprint("metric", i), Better: HigherBetter, Items: make([]Paired, items)}
		for j := range all[i].Items {
			one := Paired{A: make([]float64, repeats), B: make([]float64, repeats)}
			for r := range repeats {
				one.A[r], one.B[r] = random.Float64(), random.Float64()
				if i%2 == 1 {
					one.A[r], one.B[r] = float64(random.IntN(2)), float64(random.IntN(2))
				}
			}
			all[i].Items[j] = one
		}
	}
	return all
}

// BenchmarkCompare compares by ten metrics.
func BenchmarkCompare(b *testing.B) {
	for _, items := range []int{100, 1000, 2000, 10_000} {
		for _, repeats := range []int{1, 3} {
			b.Run(fmt.Sprintf("%d/%d", items, repeats), func(b *testing.B) {
				metrics := randomMetrics(10, items, repeats)
				b.ResetTimer()
				for b.Loop() {
					Compare(metrics, Options{})
				}
			})
		}
	}
}
