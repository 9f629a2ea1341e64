package ratelimit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOverrides(t *testing.T) {
	t.Parallel()
	configured := Limits{
		Requests: {Rate: 10, Burst: 100},
		Bytes:    {Rate: 1000, Burst: 10_000},
	}
	tests := map[string]struct {
		given map[string]float64
		want  Limits
	}{
		"nothing of this kind": {given: map[string]float64{"key_requests_per_second": 1}, want: configured},
		"rate and burst": {
			given: map[string]float64{"project_requests_per_second": 50, "project_requests_burst": 500},
			want:  Limits{Requests: {Rate: 50, Burst: 500}, Bytes: configured[Bytes]},
		},
		"rate alone": {
			given: map[string]float64{"project_spans_per_second": 0.5},
			want: Limits{
				Requests: configured[Requests], Bytes: configured[Bytes],
				Spans: {Rate: 0.5, Burst: 1},
			},
		},
		"burst alone": {
			given: map[string]float64{"project_requests_burst": 7, "project_spans_burst": 7},
			want:  Limits{Requests: {Rate: 10, Burst: 7}, Bytes: configured[Bytes]},
		},
		"no limit": {
			given: map[string]float64{"project_requests_per_second": 0},
			want:  Limits{Bytes: configured[Bytes]},
		},
		"values that cannot be": {
			given: map[string]float64{"project_requests_per_second": -1, "project_bytes_burst": 0},
			want:  configured,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := configured
			got.Override(Project, tt.given)
			assert.Equal(t, tt.want, got)
		})
	}
}
