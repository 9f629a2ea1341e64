package evaluations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/judge"
	"github.com/looptrace/looptrace/internal/panel"
	"github.com/looptrace/looptrace/internal/problem"
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
