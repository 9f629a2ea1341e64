package neardup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// made writes the input of an item: 30 to 110 words of which the common ones are frequent. One in twenty is an edit of another item.
func made(i int, input []byte) []byte {
	of, edits := i, 0
	if i%20 == 19 {
		of, edits = i-10, 1+i/20%8
	}
	var (
		source rand.PCG
		all    [110]int
	)
	source.Seed(uint64(of), 1)
	random := rand.New(&source)
	words := all[:30+random.IntN(81)]
	for w := range words {
		f := random.Float64()
		words[w] = int(20_000 * f * f * f)
	}
	for e := range edits {
		words[(e*7+i)%len(words)] = i % 20_000
	}
	input = append(input[:0], `{"question":"`...)
	for _, w := range words {
		input = fmt.Appendf(input, "w%x ", w*7919)
	}
	return append(input, `"}`...)
}

func readMade(ctx context.Context, items []int, each func(int, []byte) error) error {
	var input []byte
	for _, i := range items {
		input = made(i, input)
		if err := each(i, input); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// peak measures the heap until stop is called, which returns the most there was.
func peak() (stop func() uint64) {
	var most atomic.Uint64
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			most.Store(max(most.Load(), sample[0].Value.Uint64()))
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(end)
		<-done
		return most.Load()
	}
}

// BenchmarkFind finds the near-duplicates of items. "words" is the floor: the same items are only split into words.
//
//	NEARDUP_BENCH_LARGE=1 go test ./controlplane/datasets/neardup -run '^$' -bench . -benchtime 1x -timeout 1h
func BenchmarkFind(b *testing.B) {
	sizes := []int{10_000, 100_000}
	if os.Getenv("NEARDUP_BENCH_LARGE") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("find/%d", n), func(b *testing.B) {
			for b.Loop() {
				stop := peak()
				f, err := New(0.8, n)
				require.NoError(b, err)
				began := time.Now()
				var input []byte
				for i := range n {
					input = made(i, input)
					require.NoError(b, f.Add(input, ""))
				}
				b.ReportMetric(time.Since(began).Seconds(), "s-to-add")
				found, err := f.Find(b.Context(), readMade)
				require.NoError(b, err)
				b.ReportMetric(float64(stop())/1e6, "peak-MB")
				b.ReportMetric(float64(found.Pairs), "pairs")
			}
		})
		b.Run(fmt.Sprintf("words/%d", n), func(b *testing.B) {
			var (
				d     document
				input []byte
			)
			for b.Loop() {
				for i := range n {
					input = made(i, input)
					require.NoError(b, d.read(input))
					d.digest()
				}
			}
		})
	}
	const few = 3000
	b.Run(fmt.Sprintf("all pairs/%d", few), func(b *testing.B) {
		for b.Loop() {
			sets, pairs := make([][]uint64, few), 0
			for i := range sets {
				var d document
				require.NoError(b, d.read(made(i, nil)))
				sets[i] = d.wordShingles()
				for _, earlier := range sets[:i] {
					if similarity(earlier, sets[i]) >= 0.8 {
						pairs++
					}
				}
			}
			b.ReportMetric(float64(pairs), "pairs")
		}
	})
}
