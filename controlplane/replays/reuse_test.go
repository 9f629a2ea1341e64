package replays_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// reusedOf counts the controls that another replay made.
func reusedOf(r *contract.Replay) (n int) {
	for _, a := range r.Attempts {
		if a.Reused {
			n++
		}
	}
	return n
}

// TestReusedControls are those of the model that answers treatments: those of another version, and of a time when its cache was off, are made
// anew. What depends on the time is not compared with them.
func TestReusedControls(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	var version, cached atomic.Int32
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		reply := apitest.AnswerOrders(q)
		if v := version.Load(); v >= 0 {
			reply.Fingerprint = fmt.Sprintf("fp_%d", v)
		} else {
			reply.NoFingerprint = true
		}
		reply.Usage = &provider.Usage{Input: 100, Output: 10, CacheRead: int(cached.Load())}
		return reply
	}})
	apitest.Must[contract.Price](t, l.Do(t, http.MethodPost, "/v1/projects/"+l.project.String()+"/prices", contract.PriceWrite{Model: apitest.AgentModel, Input: 1, Output: 2}, l.as), http.StatusCreated)
	connection := l.Connect(t, l.as, l.project, "openai", server, "").Id
	replay := func(set string) (contract.Replay, readVerdict) {
		t.Helper()
		ended := replayed(t, l.Env, l.as, l.start(t, fmt.Sprintf(`"provider_id":%q,"edits":[{"target":"all","set":%s}]`, connection, set)).Id)
		require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
		for _, a := range ended.Attempts {
			require.EqualValues(t, "completed", *a.StopReason, "%v", a.Detail)
		}
		return ended, verdictOf(t, &ended)
	}
	const calls = 3 // of an attempt that does what was recorded

	first, verdict := replay(`{"system_prompt":"Be kind."}`)
	assert.Zero(t, reusedOf(&first))
	assert.NotContains(t, verdict.Channels["cost"].Flags, "made_apart")
	assert.NotContains(t, reasonsOf(verdict), "made_apart")
	made := len(server.Requests())
	require.Equal(t, 9*calls, made)

	again, verdict := replay(`{"system_prompt":"Be short."}`)
	assert.Equal(t, 5, reusedOf(&again))
	assert.Len(t, server.Requests(), made+4*calls)
	for _, channel := range []string{"cost", "latency"} {
		assert.Equal(t, []string{"made_apart"}, verdict.Channels[channel].Flags)
		assert.Nil(t, verdict.Channels[channel].P)
	}
	assert.Contains(t, verdict.Sentence, "so that cost and duration are not compared.")
	assert.NotContains(t, reasonsOf(verdict), "version_unknown")
	made += 4 * calls

	for name, change := range map[string]*atomic.Int32{"version": &version, "cache": &cached} {
		change.Store(50)
		anew, verdict := replay(`{"system_prompt":"Be exact, now that the ` + name + ` is another one."}`)
		assert.Zero(t, reusedOf(&anew), name)
		assert.Len(t, server.Requests(), made+9*calls, name)
		assert.NotContains(t, reasonsOf(verdict), "other_model", name)
		assert.NotContains(t, reasonsOf(verdict), "made_apart", name)
		made += 9 * calls
	}

	// Nothing tells whether the model is still the same, if its provider tells no versions.
	version.Store(-1)
	replay(`{"system_prompt":"Be plain."}`)
	silent, verdict := replay(`{"system_prompt":"Be polite."}`)
	assert.Zero(t, reusedOf(&silent))
	assert.NotContains(t, reasonsOf(verdict), "version_unknown")
	version.Store(50)

	// Nothing tells whether another model is still the same, if the edit asks for a third.
	other, _ := replay(`{"model":"gpt-5"}`)
	assert.Zero(t, reusedOf(&other))
}

// TestLooksAtReplays: each verdict that could have found an effect lowers the level of the next.
func TestLooksAtReplays(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	ended := l.replay(t, apitest.AnswerOrders, asking+`,"controls":2,"treatments":2`)
	path := "/v1/replays/" + ended.Id.String()
	for _, want := range []struct {
		controls, looks int
		alpha           float64
	}{{2, 0, .04}, {6, 1, .04}, {8, 2, .005}, {9, 3, .0025}} {
		if want.controls > 2 {
			apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, path+"/_actions/extend", fmt.Sprintf(`{"controls":%d,"treatments":%d}`, want.controls, want.controls), l.as), http.StatusOK)
			ended = replayed(t, l.Env, l.as, ended.Id)
		}
		verdict := verdictOf(t, &ended)
		assert.Equal(t, want.looks, verdict.Looks, "%d: %s", want.controls, verdict.Sentence)
		assert.InDelta(t, want.alpha, verdict.Alpha, 1e-9, "%d", want.controls)
	}
	assert.Contains(t, verdictOf(t, &ended).Sentence, "After 2 earlier looks at this replay")
}
