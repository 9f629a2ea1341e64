package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClusterMoments compares intervals of sums with those of the values.
func TestClusterMoments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for i := range 400 {
		binary := i%2 == 0
		clusters := make([][]float64, 2+random.IntN(30))
		var m ClusterMoments
		for c := range clusters {
			own, s := random.Float64(), 0.
			clusters[c] = make([]float64, 1+random.IntN(1+i%7))
			for j := range clusters[c] {
				x := (own + random.Float64()) / 2
				if binary {
					x = float64(int(x + .5))
				}
				clusters[c][j] = x
				s += x
			}
			n := float64(len(clusters[c]))
			m = ClusterMoments{
				m.Clusters + 1, m.N + n, m.Sum + s, m.SS + s*s, m.SN + s*n, m.NN + n*n, m.SSS + s*s*s, m.SSN + s*s*n, m.SNN + s*n*n, m.NNN + n*n*n,
			}
		}
		want := ClusteredInterval(clusters, .05)
		got := m.Interval(binary, .05)
		if want.CI == nil {
			require.Nil(t, got)
			continue
		}
		require.NotNil(t, got)
		require.InDeltaSlice(t, want.CI[:], got[:], 1e-9, "%v", clusters)
	}
	require.Nil(t, (&ClusterMoments{Clusters: 1, N: 5, Sum: 2}).Interval(true, .05))
}
