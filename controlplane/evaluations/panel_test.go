package evaluations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/judge"
	"github.com/looptrace/looptrace/internal/panel"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/stats"
)

// TestDawidSkeneOfTwo: a panel that could not be told apart from others is refused when it is made, with its place and what to do.
func TestDawidSkeneOfTwo(t *testing.T) {
	t.Parallel()
	scale := &judge.Scale{Type: judge.Binary}
	p := Panel{Kind: judge.TypeScore, Aggregate: panel.DawidSkene, Judges: make([]Judge, 2), Escalation: &Judge{}}
	refused := problem.Of(p.checkAggregate("body.panels[1]", scale))
	require.NotNil(t, refused)
	require.Equal(t, "body.panels[1].aggregate", refused.Fields[0].Location)
	require.Contains(t, refused.Error(), "needs three judges or more, since the votes of two say nothing about each other: add a judge, or choose majority")
	p.Judges = make([]Judge, 3)
	require.NoError(t, p.checkAggregate("body.panels[1]", scale))
}

// TestWithEstimate: the mean of an eval-run is known no better than the reliability of its judges.
func TestWithEstimate(t *testing.T) {
	t.Parallel()
	side := stats.Side{CI: &stats.Interval{.6, .85}}
	r := &results{panels: []PanelSummary{
		{Name: "other", Aggregate: panel.DawidSkene, Score: stats.Side{CI: &stats.Interval{0, 1}}},
		{Name: "right", Aggregate: panel.DawidSkene, Score: side},
		{Name: "votes", Aggregate: panel.Majority, Score: side},
	}}
	require.Equal(t, &stats.Interval{.6, .9}, r.withEstimate("right", &stats.Interval{.7, .9}))
	require.Equal(t, &stats.Interval{.7, .9}, r.withEstimate("votes", &stats.Interval{.7, .9}))
	require.Equal(t, &stats.Interval{.7, .9}, r.withEstimate("graded", &stats.Interval{.7, .9}))
	require.Nil(t, r.withEstimate("right", nil))
}
