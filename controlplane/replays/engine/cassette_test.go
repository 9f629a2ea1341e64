package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// tape records calls of an agent, one after the other.
func tape(tb testing.TB, effects map[string]string, policies map[string]ToolPolicy, calls ...[]recordedtest.Call) *cassette {
	tb.Helper()
	b := recordedtest.New(tb)
	b.Effect = effects
	d := b.Dialogue(b.Frame("agent", "a", -1), "", "Go.", "get", "put")
	for _, together := range calls {
		d.Ask(together...)
	}
	d.Say("Done.")
	return newCassette(b.Read(), policies)
}

func one(name, arguments, result string) []recordedtest.Call {
	return []recordedtest.Call{{Name: name, Arguments: arguments, Result: result}}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	effects := map[string]string{"get": "read", "put": "write"}
	c := tape(t, effects, nil, one("get", `{"k":1.0}`, "a"), one("get", `{"k":1}`, "b"), one("get", `{"k":"x y","n":null}`, "c"), one("get", `{"k":3}`, "d"), one("get", `{"k":3}`, "d"))
	find := func(arguments string) (Tier, string) {
		found := c.find(0, "get", arguments)
		return found.tier, jsontext.String(found.content)
	}
	for _, test := range []struct {
		arguments string
		tier      Tier
		result    string
	}{
		{`{"k": 1}`, TierHit, "a"},
		{`{"k":1e0}`, TierHit, "b"},
		{`{"k":1}`, TierAmbiguous, "b"},
		{`{"k":"x  y"}`, TierNormalised, "c"},
		{`{"k":3}`, TierHit, "d"},
		{`{"k":3}`, TierHit, "d"},
		{`{"k":3}`, TierReordered, "d"},
		{`{"k":4}`, TierMiss, ""},
		{`not JSON`, TierMiss, ""},
	} {
		tier, result := find(test.arguments)
		assert.Equal(t, test.tier, tier, test.arguments)
		assert.Equal(t, test.result, result, test.arguments)
	}
	assert.Equal(t, TierMiss, c.find(0, "other", `{}`).tier)
	assert.True(t, c.barrier, "a tool of which nothing is known writes")
}

func TestLongNumbers(t *testing.T) {
	t.Parallel()
	c := tape(t, nil, nil, one("get", `{"id":12345678901234567890}`, "a"))
	assert.Equal(t, TierMiss, c.find(0, "get", `{"id":12345678901234567891}`).tier, "they are one double, and two ids")
	assert.Equal(t, TierHit, c.find(0, "get", `{"id": 12345678901234567890}`).tier)
}

func TestParallelCalls(t *testing.T) {
	t.Parallel()
	effects := map[string]string{"get": "read", "put": "write"}
	c := tape(t, effects, nil, []recordedtest.Call{{Name: "put", Arguments: `{"k":1}`, Result: "ok"}, {Name: "get", Arguments: `{"k":1}`, Result: "a"}, {Name: "put", Arguments: `{"k":2}`, Result: "ok"}})
	for _, found := range []lookup{c.find(0, "get", `{"k":1}`), c.find(0, "put", `{"k":2}`), c.find(0, "put", `{"k":1}`)} {
		assert.Equal(t, TierHit, found.tier)
		assert.False(t, found.stale, "parallel calls have no order")
	}
	assert.False(t, c.barrier)
}

func TestWriteBarrier(t *testing.T) {
	t.Parallel()
	effects := map[string]string{"get": "read", "put": "write"}
	calls := [][]recordedtest.Call{one("get", `{"k":1}`, "a"), one("put", `{"k":1}`, "ok"), one("get", `{"k":1}`, "b"), one("put", `{"k":2}`, "ok"), one("get", `{"k":2}`, "c")}
	c := tape(t, effects, nil, calls...)
	assert.False(t, c.find(0, "get", `{"k":1}`).stale)
	assert.True(t, c.find(0, "get", `{"k":1}`).stale, "the write between was left out")
	assert.False(t, c.barrier)
	assert.False(t, c.find(0, "put", `{"k":1}`).stale)
	assert.True(t, c.find(0, "get", `{"k":2}`).stale, "the second write was left out")

	c = tape(t, effects, nil, calls...)
	c.find(0, "get", `{"k":1}`)
	c.find(0, "put", `{"k":2}`)
	assert.True(t, c.barrier, "the writes have another order")
	assert.True(t, c.find(0, "get", `{"k":1}`).stale)

	// A write that the recording does not have.
	policies := map[string]ToolPolicy{"put": {OnMiss: MissFixed, Result: new("ok")}}
	c = tape(t, effects, policies, calls...)
	c.find(0, "get", `{"k":1}`)
	c.find(0, "put", `{"k":1}`)
	assert.False(t, c.find(0, "get", `{"k":1}`).stale)
	found := c.find(0, "put", `{"k":9}`)
	assert.Equal(t, SourceFixed, found.source)
	assert.True(t, c.find(0, "put", `{"k":2}`).stale)
	assert.True(t, c.find(0, "get", `{"k":2}`).stale)

	// The same tools, declared to read: no write, no barrier.
	c = tape(t, effects, map[string]ToolPolicy{"put": {SideEffects: recorded.SideEffectsRead}}, calls...)
	assert.False(t, c.find(0, "get", `{"k":2}`).stale)
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	policies := map[string]ToolPolicy{
		"get": {Drop: []string{"request_id"}, SideEffects: recorded.SideEffectsRead}, "near": {OnMiss: MissNearest, SideEffects: recorded.SideEffectsRead}, AnyTool: {OnMiss: MissFixed, Result: new("?")},
	}
	c := tape(t, nil, policies, one("get", `{"k":1,"request_id":"r1"}`, "a"), one("near", `{"query":"flights from Paris to Rome on Monday"}`, "b"), one("near", `{"query":"hotels"}`, "c"))
	found := c.find(0, "get", `{"k":1,"request_id":"r2"}`)
	assert.Equal(t, TierNormalised, found.tier)
	found = c.find(0, "near", `{"query":"flights from Paris to Rome on Monday!"}`)
	assert.Equal(t, SourceNearest, found.source)
	assert.Equal(t, "b", jsontext.String(found.content))
	assert.Contains(t, found.note, "Monday")
	assert.Nil(t, c.find(0, "near", `{"query":"trains"}`).content)
	assert.Equal(t, "?", jsontext.String(c.find(0, "other", `{}`).content))
}

func TestCheckTools(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckTools(map[string]ToolPolicy{"a": {}, "b": {OnMiss: MissNearest, SideEffects: "read", Drop: []string{"x"}}, "*": {OnMiss: MissFixed, Result: new("")}}, "body.tools"))
	err := CheckTools(map[string]ToolPolicy{
		"c": {OnMiss: "ask"}, "d": {SideEffects: "none"}, "e": {OnMiss: MissFixed}, "f": {Result: new("x")}, "g": {Drop: []string{""}},
	}, "body.tools")
	var got []string
	for _, field := range problem.Of(err).Fields {
		got = append(got, field.Location)
	}
	assert.Equal(t, []string{
		"body.tools.c.on_miss", "body.tools.d.side_effects", "body.tools.e.result", "body.tools.f.result", "body.tools.g.drop",
	}, got)
	assert.Contains(t, problem.Of(err).Fields[0].Message, "stop, nearest or fixed")
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 1, similarity(`{"a":1,"b":[1,"x"]}`, `{"b":[1,"x"],"a":1.0}`), 0)
	assert.InDelta(t, 0.5, similarity(`{"a":1,"b":2}`, `{"a":1,"b":3}`), 1e-9)
	assert.InDelta(t, 0.5, similarity(`{"a":1}`, `{"a":1,"b":3}`), 1e-9)
	assert.InDelta(t, 0.75, similarity("abcd", "abce"), 1e-9)
	assert.InDelta(t, 0, similarity(`{"a":{}}`, `{"a":"x"}`), 1e-9)
	assert.InDelta(t, 0, similarity(`{"a":[1]}`, `{"a":[]}`), 1e-9)
}

func TestSideEffectsOfTools(t *testing.T) {
	t.Parallel()
	b, _, _ := recordedtest.Weather(t)
	r := b.Read()
	assert.Equal(t, recorded.SideEffectsRead, newCassette(r, nil).class("weather"))
	assert.Equal(t, recorded.SideEffectsWrite, newCassette(r, map[string]ToolPolicy{"weather": {SideEffects: recorded.SideEffectsWrite}}).class("weather"))
	assert.Equal(t, recorded.SideEffectsWrite, newCassette(r, nil).class("unknown"))
}
