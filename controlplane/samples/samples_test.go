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

// TestEvaluation checks that the items of the comparison are complete, and that it shows what it should: a difference and failed outputs.
func TestEvaluation(t *testing.T) {
	t.Parallel()
	s, err := New(time.Now())
	require.NoError(t, err)
	keys, linked, failed := map[string]bool{}, 0, map[string]int{}
	for _, item := range s.Evaluation.Items {
		require.NotEmpty(t, item.Key)
		require.False(t, keys[item.Key], item.Key)
		keys[item.Key] = true
		require.True(t, json.Valid(item.Input) && json.Valid(item.ReferenceOutput), item.Key)
		for side, answer := range map[string]Answer{"a": item.A, "b": item.B} {
			require.NotEqual(t, answer.Error == nil, len(answer.Output) == 0, "%s of %s has an output or an error", side, item.Key)
			if answer.Error != nil {
				failed[side]++
			}
			if answer.RunID != nil {
				linked++
			}
		}
	}
	assert.Len(t, keys, 80)
	assert.Equal(t, 6, linked)
	assert.Equal(t, map[string]int{"a": 3, "b": 1}, failed)
	first := s.Evaluation.A.Usages(80)
	assert.Equal(t, first, s.Evaluation.A.Usages(80), "the same each time")
}

func TestExpandRefusesMissingValues(t *testing.T) {
	t.Parallel()
	_, err := expand(json.RawMessage(`{"name":"a","inputs":"${question}","cases":[{"answer":"x"}]}`))
	assert.ErrorContains(t, err, "${question}")
}
