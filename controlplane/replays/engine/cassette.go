package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Tier is how well a tool call fits a recorded one.
type Tier string

// The tiers, from the best to the worst.
const (
	// TierHit: the same tool, arguments and occurrence.
	TierHit Tier = "hit"
	// TierReordered: another occurrence of the same call of a reading tool, all of which had the same result.
	TierReordered Tier = "hit_reordered"
	// TierAmbiguous: another occurrence, and the results differ or the tool writes.
	TierAmbiguous Tier = "stateful_ambiguous"
	// TierNormalised: the same call after normalisation: without the arguments to drop and those that are null, texts in
	// Unicode's composed form with white space collapsed.
	TierNormalised Tier = "hit_normalised"
	// TierMiss: no recorded call.
	TierMiss Tier = "miss"
)

// OnMiss is what happens to a tool call that the recording does not have.
type OnMiss string

// The policies.
const (
	// MissStop ends the attempt. It is the default.
	MissStop OnMiss = "stop"
	// MissNearest serves the recorded call of the tool with the most similar arguments, if they are similar enough. Else it stops.
	MissNearest OnMiss = "nearest"
	// MissFixed serves ToolPolicy.Result.
	MissFixed OnMiss = "fixed"
)

// ToolPolicy is what the caller says of a tool.
type ToolPolicy struct {
	OnMiss OnMiss `json:"on_miss,omitempty"`
	// SideEffects overrides what was recorded.
	SideEffects recorded.SideEffects `json:"side_effects,omitempty"`
	// Drop names top-level arguments that do not count, such as request_id.
	Drop []string `json:"drop,omitempty"`
	// Result is for MissFixed.
	Result *string `json:"result,omitempty"`
}

// AnyTool is the name of the policy of tools without one.
const AnyTool = "*"

// nearEnough is the least similarity of a call that MissNearest serves.
const nearEnough = 0.9

// CheckTools validates policies. Its error is a problem.Error of kind Invalid that names each wrong value below path, such as
// body.tools.search.on_miss, with what to do.
func CheckTools(tools map[string]ToolPolicy, path string) error {
	var wrong []problem.Field
	add := func(location, message string) {
		wrong = append(wrong, problem.Field{Location: path + "." + location, Message: message})
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		p := tools[name]
		switch p.OnMiss {
		case "", MissStop, MissNearest, MissFixed:
		default:
			add(name+".on_miss", "must be stop, nearest or fixed.")
		}
		if p.SideEffects != "" && p.SideEffects != recorded.SideEffectsRead && p.SideEffects != recorded.SideEffectsWrite {
			add(name+".side_effects", "must be read or write.")
		}
		switch {
		case p.OnMiss == MissFixed && p.Result == nil:
			add(name+".result", "is missing: it is the fixed result of calls that were not recorded.")
		case p.OnMiss != MissFixed && p.Result != nil:
			add(name+".result", "is only for calls that get a fixed result: leave it out, or let calls that were not recorded get it.")
		}
		if slices.Contains(p.Drop, "") {
			add(name+".drop", "has an empty name: leave it out.")
		}
	}
	if len(wrong) > 0 {
		return problem.InvalidFields(wrong...)
	}
	return nil
}

// cassette answers tool calls from a recording.
type cassette struct {
	*recorded.Recording
	policies map[string]ToolPolicy

	byKey    map[recorded.CallKey][]int // indexes of Recording.recorded
	byLoop   map[loopKey][]int          // the same, of each loop
	byNormal map[recorded.CallKey][]int // by what is the same after normalisation
	byName   map[string][]int
	used     map[loopKey]int // how many calls of a key a loop has made
	done     []bool          // of Recording.recorded
	writes   []int           // calls of writing tools by time
	// barrier is set after a write that the recording does not have, or not in this order.
	barrier bool
}

// loopKey is a call of a loop; the program's own calls have the loop -1. Each loop has its own occurrences: agents that make the
// same call do not take each other's results.
type loopKey struct {
	loop int
	recorded.CallKey
}

// loopOf is the loop that made a recorded call.
func (c *cassette) loopOf(n int) int {
	if asker := c.Calls[n].Asker; asker >= 0 {
		return c.Steps[asker].Loop
	}
	return -1
}

func newCassette(r *recorded.Recording, policies map[string]ToolPolicy) *cassette {
	c := &cassette{
		Recording: r, policies: policies, byKey: map[recorded.CallKey][]int{}, byNormal: map[recorded.CallKey][]int{}, byName: map[string][]int{},
		byLoop: map[loopKey][]int{}, used: map[loopKey]int{}, done: make([]bool, len(r.Calls)),
	}
	for n := range r.Calls {
		call := &r.Calls[n]
		c.byKey[call.Key] = append(c.byKey[call.Key], n)
		key := loopKey{c.loopOf(n), call.Key}
		c.byLoop[key] = append(c.byLoop[key], n)
		normal := c.normal(call.Name, call.Arguments)
		c.byNormal[normal] = append(c.byNormal[normal], n)
		c.byName[call.Name] = append(c.byName[call.Name], n)
		if c.class(call.Name) == recorded.SideEffectsWrite {
			c.writes = append(c.writes, n)
		}
	}
	slices.SortStableFunc(c.writes, func(a, b int) int { return int(c.at(a) - c.at(b)) })
	return c
}

// at is when a recorded call was made.
func (c *cassette) at(n int) time.Duration {
	call := &c.Calls[n]
	if call.Step >= 0 {
		return c.Steps[call.Step].Offset
	}
	end, ok := c.Steps[call.Asker].End()
	if !ok {
		return c.Steps[call.Asker].Offset
	}
	return end
}

func (c *cassette) policy(name string) ToolPolicy {
	if p, ok := c.policies[name]; ok {
		return p
	}
	return c.policies[AnyTool]
}

// class returns the side effects that count for a tool: those of its policy, else the recorded ones, else the worst.
func (c *cassette) class(name string) recorded.SideEffects {
	if p := c.policy(name); p.SideEffects != "" {
		return p.SideEffects
	}
	if effects := c.Effects[name]; effects != "" {
		return effects
	}
	return recorded.SideEffectsWrite
}

// normal is the key of a call after normalisation.
func (c *cassette) normal(name, arguments string) recorded.CallKey {
	var value map[string]any
	if json.Unmarshal([]byte(arguments), &value) != nil || recorded.HasLongNumber(arguments) {
		return recorded.CallKey{Name: name, Arguments: recorded.Collapsed(arguments)}
	}
	for _, drop := range c.policy(name).Drop {
		delete(value, drop)
	}
	text, err := jsontext.Encode(normalArguments(value))
	if err != nil {
		return recorded.CallKey{Name: name, Arguments: recorded.Collapsed(arguments)}
	}
	return recorded.CallKey{Name: name, Arguments: recorded.CanonicalArguments(string(text))}
}

func normalArguments(value any) any {
	switch v := value.(type) {
	case string:
		return recorded.Collapsed(v)
	case []any:
		for i := range v {
			v[i] = normalArguments(v[i])
		}
	case map[string]any:
		for name, one := range v {
			if one == nil {
				delete(v, name)
			} else {
				v[name] = normalArguments(one)
			}
		}
	}
	return value
}

// lookup is what the recording has for a call.
type lookup struct {
	// call is the index of the recorded call, -1 for none.
	call   int
	tier   Tier
	source Source
	// content is what the model is told. It is nil if nothing is served.
	content json.RawMessage
	stale   bool
	note    string
	writes  bool
	// unanswered reports that the recording has the call without its result.
	unanswered bool
	// stands reports that the call stands for the recorded one.
	stands bool
}

// take marks a recorded call as made.
func (c *cassette) take(n int) {
	if !c.done[n] {
		c.done[n] = true
		c.used[loopKey{c.loopOf(n), c.Calls[n].Key}]++
	}
}

// find looks a call of a loop up, and marks what it finds as made. A call of another loop is only another occurrence.
func (c *cassette) find(loop int, name, arguments string) lookup {
	key := loopKey{loop, recorded.KeyOf(name, arguments)}
	out := lookup{call: -1, tier: TierMiss, source: SourceServed, writes: c.class(name) == recorded.SideEffectsWrite}
	own, all, n := c.byLoop[key], c.byKey[key.CallKey], c.used[key]
	c.used[key]++
	switch {
	case n < len(own):
		out.call, out.tier, out.stands = own[n], TierHit, true
	case len(all) > 0:
		if out.call, out.tier = all[len(all)-1], TierAmbiguous; len(own) > 0 {
			out.call = own[len(own)-1]
		}
		if !out.writes && c.allEqual(all) {
			out.tier = TierReordered
		}
		out.note = "The agent has made this call less often in the recording."
	default:
		if similar := c.byNormal[c.normal(name, arguments)]; len(similar) > 0 {
			out.tier, out.call = TierNormalised, similar[len(similar)-1]
			if at := slices.IndexFunc(similar, func(n int) bool { return !c.done[n] && c.loopOf(n) == loop }); at >= 0 {
				out.call, out.stands = similar[at], true
			}
		}
	}
	if out.call >= 0 {
		out.content = c.Calls[out.call].Content
	}
	if out.content == nil {
		if out.call >= 0 {
			out.unanswered = true
		}
		c.miss(&out, name, arguments)
	}
	c.checkWorld(&out)
	return out
}

// miss answers a call that the recording does not have by the policy of the tool.
func (c *cassette) miss(out *lookup, name, arguments string) {
	out.tier, out.stands = TierMiss, false
	switch p := c.policy(name); p.OnMiss {
	case MissFixed:
		out.call, out.source, out.content = -1, SourceFixed, jsontext.MustEncode(*p.Result)
	case MissNearest:
		best, at := nearEnough, -1
		for _, n := range c.byName[name] {
			if c.Calls[n].Content == nil {
				continue
			}
			if s := similarity(c.Calls[n].Arguments, arguments); s >= best && (at < 0 || s > best) {
				best, at = s, n
			}
		}
		if out.call = at; at >= 0 {
			out.source, out.content = SourceNearest, c.Calls[at].Content
			out.note = "The result is that of a similar call: " + utf8text.Cut(c.Calls[at].Arguments, 120)
		}
	default:
		out.call = -1
	}
}

// checkWorld says whether the recorded world still holds, and sets the barrier.
func (c *cassette) checkWorld(out *lookup) {
	skipped := c.skippedWrite(out.call)
	served := out.call >= 0
	if served {
		out.stale = c.barrier || skipped && !out.writes
		if out.stands {
			c.done[out.call] = true
		}
	}
	if out.writes && (!served || out.tier == TierAmbiguous || out.tier == TierMiss || skipped) {
		c.barrier = true
	}
}

// skippedWrite reports whether a write that was recorded before a call was not made. Parallel calls have no order.
func (c *cassette) skippedWrite(call int) bool {
	for len(c.writes) > 0 && c.done[c.writes[0]] {
		c.writes = c.writes[1:]
	}
	if call < 0 {
		return false
	}
	for _, n := range c.writes {
		switch {
		case c.at(n) >= c.at(call):
			return false
		case n != call && !c.done[n] && (c.Calls[n].Asker < 0 || c.Calls[n].Asker != c.Calls[call].Asker):
			return true
		}
	}
	return false
}

func (c *cassette) allEqual(calls []int) bool {
	for _, n := range calls {
		if string(c.Calls[n].Content) != string(c.Calls[calls[0]].Content) {
			return false
		}
	}
	return true
}
