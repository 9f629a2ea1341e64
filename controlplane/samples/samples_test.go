package samples

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNew checks that all samples can be read, and that runs are of the week before, in the order in which they are told.
func TestNew(t *testing.T) {
	t.Parallel()
	type timed struct {
		RunID     string    `json:"run_id"`
		Name      string    `json:"name"`
		SessionID string    `json:"session_id"`
		Start     time.Time `json:"start_time"`
		End       time.Time `json:"end_time"`
	}
	// The hour and the weekday change which times are likely.
	for hours := range 12 {
		now := time.Date(2026, 11, 20, 13*hours, 11, 0, 0, time.UTC)
		s, err := New(now)
		require.NoError(t, err)
		var envelope struct{ Runs, Spans []timed }
		require.NoError(t, json.Unmarshal(s.Envelope, &envelope))
		assert.InDelta(t, 150, len(envelope.Runs), 20)
		runs, recent := map[string]timed{}, 0
		var before timed
		for _, run := range envelope.Runs {
			require.True(t, run.Start.After(now.AddDate(0, 0, -7)), "%s starts at %s", run.Name, run.Start)
			require.True(t, run.End.After(run.Start) && run.End.Before(now), "%s ends at %s", run.Name, run.End)
			if run.SessionID != "" && run.SessionID == before.SessionID {
				require.True(t, run.Start.After(before.End), "a turn starts after the one before")
			}
			if now.Sub(run.Start) < 24*time.Hour {
				recent++
			}
			before, runs[run.RunID] = run, run
		}
		assert.Greater(t, recent, len(runs)/4, "the last day has a quarter")
		for _, span := range envelope.Spans {
			run := runs[span.RunID]
			require.True(t, !span.Start.Before(run.Start) && !span.End.After(run.End), "%s of %s", span.Name, run.Name)
		}
	}
}

func TestExpandRefusesMissingValues(t *testing.T) {
	t.Parallel()
	_, err := expand(json.RawMessage(`{"name":"a","inputs":"${question}","cases":[{"answer":"x"}]}`))
	assert.ErrorContains(t, err, "${question}")
}
