// Package operations compares docs/operations with the running product: its counters, its readiness, and its probe.
package operations

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// patience is how long a test waits for an expected event.
const patience = 3 * time.Minute

// until waits for a condition.
func until(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}

// series is one line of /metrics.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	line  = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	label = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads the metrics at an address.
func scrape(ctx context.Context, t *testing.T, base string) []series {
	t.Helper()
	answer, err := product.Do(ctx, http.MethodGet, base+"/metrics", nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	var all []series
	for _, match := range line.FindAllStringSubmatch(string(answer.Body), -1) {
		value, err := strconv.ParseFloat(match[3], 64)
		require.NoError(t, err, match[0])
		one := series{name: match[1], labels: map[string]string{}, value: value}
		for _, pair := range label.FindAllStringSubmatch(match[2], -1) {
			one.labels[pair[1]] = pair[2]
		}
		all = append(all, one)
	}
	require.NotEmpty(t, all, base)
	return all
}

// sum adds up the series of a name whose label has one of the values, or all of them without a label.
func sum(all []series, name, label string, values ...string) (total float64) {
	for _, one := range all {
		if one.name != name {
			continue
		}
		for _, value := range values {
			if one.labels[label] == value {
				total += one.value
			}
		}
		if label == "" {
			total += one.value
		}
	}
	return total
}

// by groups the series of a name by labels, joined with a space, without those that are 0.
func by(all []series, name string, labels ...string) map[string]float64 {
	groups := map[string]float64{}
	for _, one := range all {
		if one.name != name || one.value == 0 {
			continue
		}
		values := make([]string, 0, len(labels))
		for _, label := range labels {
			values = append(values, one.labels[label])
		}
		groups[strings.Join(values, " ")] += one.value
	}
	return groups
}
