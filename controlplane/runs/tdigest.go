package runs

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
)

// digest is a t-digest: values of a distribution, each the mean of as many as its weight says. (Dunning, T., and Ertl, O.:
// Computing extremely accurate quantiles using t-digests, 2019.)
type digest []centroid

type centroid struct{ mean, weight float32 }

// maxCentroidShare is the share of all values that a centroid in the middle of a digest may stand for, once it is compressed.
const maxCentroidShare = 0.02

// centroidBytes is the length of a centroid in ClickHouse's state.
const centroidBytes = 8

// parseDigest reads the state of ClickHouse's quantileTDigest, as its hex writes it: how many centroids there are, as a varint,
// and mean and weight of each, as little-endian float32 (QuantileTDigest::serialize).
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

// compress sorts d, and puts neighbors together that stand for less than they may: a share that falls towards both ends, so
// that the outer percentiles remain as exact as the middle ones (the scale of the paper's k₂, q·(1-q)). d is used up.
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

// percentiles are the 50th, 95th and 99th, nil where d is empty.
func (d digest) percentiles() []float64 {
	if len(d) == 0 {
		return nil
	}
	return d.quantiles(0.5, 0.95, 0.99) //nolint:mnd // as it says
}

// quantiles are the values at levels, in rising order, of a sorted digest that is not empty. Like ClickHouse, it goes from the
// middle of a centroid to the middle of the next in a straight line, and takes a centroid of one value as that value.
func (d digest) quantiles(levels ...float64) []float64 {
	count := d.count()
	values := make([]float64, len(levels))
	at, before := 0, 0.0 // the centroid, and the weight of those before it
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

// between is the value at a rank that is not above the middle of a centroid, and above that of the one before it.
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
