package runs

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
)

// digest is a t-digest: a distribution of values as centroids, each the mean of as many values as its weight (Dunning, T., and Ertl, O.:
// Computing extremely accurate quantiles using t-digests, 2019).
type digest []centroid

type centroid struct{ mean, weight float32 }

// maxCentroidShare is the share of all values that a centroid in the middle of a compressed digest may represent.
const maxCentroidShare = 0.02

// centroidBytes is the size of a centroid in ClickHouse's state.
const centroidBytes = 8

// parseDigest parses the state of ClickHouse's quantileTDigest in hexadecimal: the number of centroids as a varint, and the mean and
// weight of each as little-endian float32 (QuantileTDigest::serialize).
func parseDigest(text string) (digest, error) {
	state, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("read a t-digest: %w", err)
	}
	n, read := binary.Uvarint(state)
	if read <= 0 || uint64(len(state)-read) != n*centroidBytes {
		return nil, fmt.Errorf("read a t-digest: %d bytes do not hold %d centroids", len(state), n)
	}
	state = state[read:]
	d := make(digest, n)
	for i := range d {
		at := state[i*centroidBytes:]
		d[i] = centroid{math.Float32frombits(binary.LittleEndian.Uint32(at)), math.Float32frombits(binary.LittleEndian.Uint32(at[4:]))}
	}
	return d.compress(), nil
}

// compress sorts d and merges neighbors that represent less than they may. That share falls towards both ends, so that outer percentiles
// are as exact as middle ones (the scale of the paper's k₂, q·(1-q)). d must not be used afterwards.
func (d digest) compress() digest {
	slices.SortFunc(d, func(a, b centroid) int { return cmp.Compare(a.mean, b.mean) })
	if len(d) == 0 {
		return d
	}
	count, before := d.count(), 0.0
	compressed := d[:1]
	for _, c := range d[1:] {
		last := &compressed[len(compressed)-1]
		weight := last.weight + c.weight
		q := (before + float64(weight)/2) / count
		if float64(weight) > 4*maxCentroidShare*count*q*(1-q) {
			before += float64(last.weight)
			compressed = append(compressed, c)
			continue
		}
		last.mean += (c.mean - last.mean) * c.weight / weight
		last.weight = weight
	}
	return compressed
}

func (d digest) count() (count float64) {
	for _, c := range d {
		count += float64(c.weight)
	}
	return count
}

// percentiles returns the 50th, 95th and 99th, nil if d is empty.
func (d digest) percentiles() []float64 {
	if len(d) == 0 {
		return nil
	}
	return d.quantiles(0.5, 0.95, 0.99) //nolint:mnd // see the comment above
}

// quantiles returns the values at levels, in rising order, of a sorted digest that is not empty. Like ClickHouse, it interpolates
// linearly between the middles of centroids, and takes a centroid of one value as that value.
func (d digest) quantiles(levels ...float64) []float64 {
	count := d.count()
	values := make([]float64, len(levels))
	at, before := 0, 0.0 // the index of the centroid, and the weight of those before it
	for i, level := range levels {
		rank := level * count
		for at < len(d)-1 && before+float64(d[at].weight)/2 < rank {
			before += float64(d[at].weight)
			at++
		}
		values[i] = d.between(at, before, rank)
	}
	return values
}

// between returns the value at a rank between the middles of the centroid before and the one at an index.
func (d digest) between(at int, before, rank float64) float64 {
	mean, half := float64(d[at].mean), float64(d[at].weight)/2
	if at == 0 {
		return mean
	}
	last, lastHalf := float64(d[at-1].mean), float64(d[at-1].weight)/2
	left, right := before-lastHalf, before+half
	if d[at-1].weight == 1 {
		left += lastHalf
	}
	if d[at].weight == 1 {
		right -= half
	}
	switch {
	case rank <= left:
		return last
	case rank >= right:
		return mean
	}
	return last + (mean-last)*(rank-left)/(right-left)
}
