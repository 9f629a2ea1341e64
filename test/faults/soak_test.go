package faults

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// TestSoak keeps the product under a steady load and looks for slow growth.
func TestSoak(t *testing.T) {
	length := scaled(0, 10*time.Minute)
	if length == 0 {
		t.Skip("only with FAULTS=full: it takes 10 minutes")
	}
	s := newSite(t)
	r := s.newRow(t, "soak", fmt.Sprintf("%s at %d spans/s", length, s.client.SpansPerSecond))
	stop := s.send(t)
	pause(t.Context(), length/5) // caches and pools fill
	samples := map[string][]point{}
	for begin := time.Now(); time.Since(begin) < length; pause(t.Context(), 5*time.Second) {
		for name, value := range s.sample(t) {
			samples[name] = append(samples[name], point{time.Since(begin).Hours(), value})
		}
	}
	stop()
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		points := samples[name]
		r.Note("%s %.0f, then %.0f, slope %+.1f/h", name, points[0].value, points[len(points)-1].value, slope(points))
	}
	s.awaitVisible(t, drainedWithin)
	r.verify(t, drainedWithin)
}

// sample reads what should stay constant: resident megabytes and open files of each service, and goroutines if it
// reports them.
func (s *site) sample(t *testing.T) map[string]float64 {
	t.Helper()
	sample := map[string]float64{}
	processes, err := s.product.Processes()
	require.NoError(t, err)
	for _, process := range processes {
		if !slices.Contains(services, process.Name) {
			continue
		}
		usage, err := process.Usage()
		require.NoError(t, err)
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", process.PID))
		require.NoError(t, err)
		sample[process.Name+" RSS MB"] = float64(usage.RSS) / 1e6
		sample[process.Name+" files"] = float64(len(files))
	}
	for name, port := range map[string]int{product.ControlPlaneProcess: product.API, product.WebProcess: product.Web} {
		answer, err := product.Do(t.Context(), http.MethodGet, s.product.Ports.URL(port)+"/metrics", nil, nil)
		require.NoError(t, err)
		if match := goroutines.FindSubmatch(answer.Body); match != nil {
			sample[name+" goroutines"], err = strconv.ParseFloat(string(match[1]), 64)
			require.NoError(t, err)
		}
	}
	return sample
}

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)

// point is a value at a time, in hours.
type point struct{ hour, value float64 }

// slope returns the slope of the least-squares line through the points.
func slope(points []point) float64 {
	var hour, value float64
	for _, p := range points {
		hour += p.hour / float64(len(points))
		value += p.value / float64(len(points))
	}
	var covariance, variance float64
	for _, p := range points {
		covariance += (p.hour - hour) * (p.value - value)
		variance += (p.hour - hour) * (p.hour - hour)
	}
	if variance == 0 {
		return 0
	}
	return covariance / variance
}
