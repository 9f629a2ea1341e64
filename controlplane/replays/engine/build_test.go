package engine

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
)

// script answers model calls in order, and notes them.
type script struct {
	tb      testing.TB
	answers []json.RawMessage
	calls   []Call
}

func (s *script) model(_ context.Context, c Call) (Answer, error) {
	s.calls = append(s.calls, c)
	if !assertCall(s.tb, len(s.calls) <= len(s.answers), c) {
		return Answer{}, &CallError{Type: "script", Message: "ends"}
	}
	return Answer{
		Response: recorded.Response{Message: s.answers[len(s.calls)-1], Usage: &recorded.Usage{Input: new(int64(50)), Output: new(int64(5))}}, Duration: 200 * time.Millisecond,
		CostUSD: new(0.01), Attempts: 1,
	}, nil
}

func assertCall(tb testing.TB, ok bool, c Call) bool {
	tb.Helper()
	if !ok {
		tb.Errorf("an unexpected call: %s", c.Request.Messages[len(c.Request.Messages)-1])
	}
	return ok
}

// run replays with edits in JSON.
func run(tb testing.TB, r *recorded.Recording, edits string, options Options, s *script) *Attempt {
	tb.Helper()
	var model ModelFunc
	if s != nil {
		s.tb, model = tb, s.model
		options.Executor = ExecutorServer
	}
	attempt, err := Replay(context.Background(), r, recordedtest.Checked(tb, r, edits), options, model)
	require.NoError(tb, err)
	if s != nil {
		require.Len(tb, s.calls, len(s.answers), "calls of the model")
	}
	return attempt
}

// sources lists the model calls and tool calls of an attempt as "source name".
func sources(a *Attempt) (list []string) {
	for _, s := range a.Steps {
		if s.Kind != recorded.KindFrame {
			list = append(list, string(s.Source)+" "+s.Name)
		}
	}
	return list
}
