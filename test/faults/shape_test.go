package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product/load"
)

// TestShapes sends unusual but valid data: very large traces and spans, parts in any order, and spans of other times.
func TestShapes(t *testing.T) {
	s := newSite(t)
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for _, c := range []struct {
		name  string
		runs  int
		shape func(n int) load.Shape
		// large requests exceed the 8 MiB that gRPC accepts.
		large bool
	}{
		{"10,000 spans in 20 parts, shuffled", scaled(1, 8), func(int) load.Shape { return load.Shape{Spans: 10_000, Parts: 20, Shuffled: true} }, false},
		{"10,000 spans in one part", scaled(1, 8), func(int) load.Shape { return load.Shape{Spans: 10_000, Shuffled: true} }, true},
		{"spans of 2 MiB", scaled(2, 40), func(int) load.Shape { return load.Shape{Spans: 6, TextBytes: 1 << 20} }, true},
		{"a year ago to a year ahead, a run a day", scaled(100, 730), func(n int) load.Shape {
			return load.Shape{Spans: 10, Parts: 2, Shuffled: true, Age: year - time.Duration(n)*2*year/time.Duration(scaled(100, 730))}
		}, false},
		{"days late, in parts out of order", scaled(20, 400), func(n int) load.Shape {
			return load.Shape{Spans: 50, Parts: 10, Shuffled: true, Age: time.Duration(n%14) * day}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			endpoints := load.Endpoints()
			if c.large {
				endpoints = slices.DeleteFunc(endpoints, func(d load.Endpoint) bool { return d == load.GRPC })
			}
			r := s.newRow(t, c.name, fmt.Sprintf("%d runs by each of %d endpoints", c.runs, len(endpoints)))
			pids := s.pids(t)
			begin := time.Now()
			for n := range c.runs {
				for _, endpoint := range endpoints {
					s.client.Shape = c.shape(n)
					require.NoError(t, s.client.One(t.Context(), endpoint))
				}
			}
			s.awaitVisible(t, patience)
			r.Visible = append(r.Visible, time.Since(begin))
			require.Equal(t, pids, s.pids(t), "a process ended")
			r.verify(t, visibleWithin)
		})
	}
}
