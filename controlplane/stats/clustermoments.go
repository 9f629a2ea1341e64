package stats

import (
	"math"
)

// ClusterMoments are sums over clusters of values from 0 to 1, such as the runs of a session: of the size n and the sum s of each. They can be
// summed by a database.
type ClusterMoments struct {
	Clusters, N, Sum   float64
	SS, SN, NN         float64
	SSS, SSN, SNN, NNN float64
}

// Interval is that of [ClusteredInterval] for the same values. binary is whether all of them are 0 or 1. Nil for fewer than two clusters.
func (m *ClusterMoments) Interval(binary bool, alpha float64) *Interval {
	if m.Clusters < 2 || !Finite(m.N, m.Sum, m.SSS, m.NNN) || !Level(alpha) {
		return nil
	}
	mean := max(0, min(1, m.Sum/m.N))
	if binary {
		worth := m.N
		if m.Clusters < m.N {
			p, se, _ := m.withEnds(1)
			worth = max(m.Clusters, min(m.N, p*(1-p)/(se*se)*m.Clusters/(m.Clusters+1)))
		}
		return ShareInterval(mean*worth, worth, alpha)
	}
	center, se, skew := m.withEnds(EndWeight)
	ci := SkewedInterval(center, se, skew, m.Clusters-1, alpha)
	if ci == nil {
		return nil
	}
	return NewInterval(max(0, min(mean, ci[0])), min(1, max(mean, ci[1])))
}

// withEnds is [WithEnds] of clusters, with one of average size at each end.
func (m *ClusterMoments) withEnds(weight float64) (center, se, skew float64) {
	size := m.N / m.Clusters
	n, clusters := m.N+2*weight*size, m.Clusters+2*weight
	center = (m.Sum + weight*size) / n
	low, high := -center*size, (1-center)*size
	squares := m.SS - 2*center*m.SN + center*center*m.NN + weight*(low*low+high*high)
	cubes := m.SSS - 3*center*m.SSN + 3*center*center*m.SNN - center*center*center*m.NNN + weight*(low*low*low+high*high*high)
	se = math.Sqrt(clusters/(clusters-1)*squares) / n
	return center, se, cubes / (n * n * n) / (se * se * se)
}
