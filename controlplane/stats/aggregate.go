package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Tied is the flag of a majority that is none: two values have equally many votes.
const Tied Flag = "tie"

// present are the votes without missing ones (NaN), ascending. The flag says why there are none.
func present(votes []float64) ([]float64, Flag) {
	all := slices.DeleteFunc(slices.Clone(votes), math.IsNaN)
	switch {
	case !Finite(all...):
		return nil, OutOfDomain
	case len(all) == 0:
		return nil, TooFew
	}
	slices.Sort(all)
	return all, ""
}

// Majority is the most frequent vote. Tied if two are: a tie is no coin flip. In all aggregates NaN is a missing vote, and TooFew says
// that all are missing.
func Majority(votes []float64) Value {
	all, flag := present(votes)
	if flag != "" {
		return None(flag)
	}
	best, most, tied := 0., 0, false
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to] == all[from] {
			to++
		}
		if to-from == most {
			tied = true
		} else if to-from > most {
			best, most, tied = all[from], to-from, false
		}
		from = to
	}
	if tied {
		return None(Tied)
	}
	return Some(best)
}

// Mean is the mean of the votes.
func Mean(votes []float64) Value {
	all, flag := present(votes)
	if flag != "" {
		return None(flag)
	}
	return Some(stat.Mean(all, nil))
}

// Median is the middle vote, of an even number the mean of the two in the middle.
func Median(votes []float64) Value {
	all, flag := present(votes)
	if flag != "" {
		return None(flag)
	}
	n := len(all)
	return Some(all[(n-1)/2]/2 + all[n/2]/2)
}

// Minimum is the lowest vote, for gates of safety.
func Minimum(votes []float64) Value {
	all, flag := present(votes)
	if flag != "" {
		return None(flag)
	}
	return Some(all[0])
}
