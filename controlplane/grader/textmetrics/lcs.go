package textmetrics

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
)

// Limits of methods that compare every pair of elements.
const (
	MaxCells = 60_000_000
	// The bit vectors of lcs compare 64 pairs at a time. They need memory for each distinct element.
	maxLCSCells = 64 * MaxCells
	maxLCSWords = 8 << 20
)

// errTooLongToCompare says that a quadratic method would take too long.
var errTooLongToCompare = errors.New("the texts are too long to compare every pair")

// TooLong says it for people.
func TooLong(method, unit string, a, b int) error {
	return fmt.Errorf("%s compares every pair of %s, and %d with %d are too many; extract the answer with pattern, or use a linear metric such as rouge_1 or chrf",
		method, unit, a, b)
}

// LCS is the length of the longest common subsequence, by the bit vectors of Hyyrö 2004.
func LCS(ctx context.Context, a, b []uint32) (int, error) {
	if len(a) > len(b) {
		a, b = b, a
	}
	same := 0
	for same < len(a) && a[same] == b[same] {
		same++
	}
	a, b = a[same:], b[same:]
	if len(a) == 0 {
		return same, nil
	}
	if len(a)*len(b) > maxLCSCells {
		return 0, errTooLongToCompare
	}
	vectors := map[uint32][]uint64{}
	size := (len(a) + 63) / 64
	for i, x := range a {
		if vectors[x] == nil {
			if (len(vectors)+1)*size > maxLCSWords {
				return 0, errTooLongToCompare
			}
			vectors[x] = make([]uint64, size)
		}
		vectors[x][i/64] |= 1 << (i % 64)
	}
	state := make([]uint64, size)
	for i := range state {
		state[i] = ^uint64(0)
	}
	for i, y := range b {
		if i%256 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		matches := vectors[y]
		if matches == nil {
			continue
		}
		var carry uint64
		for k, v := range state {
			u := v & matches[k]
			var sum uint64
			sum, carry = bits.Add64(v, u, carry)
			state[k] = sum | (v - u)
		}
	}
	for k, v := range state {
		if k == size-1 && len(a)%64 != 0 {
			v |= ^uint64(0) << (len(a) % 64)
		}
		same += bits.OnesCount64(^v)
	}
	return same, nil
}
