package verdict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// sound requires what holds for every verdict.
func sound(t *testing.T, v Verdict) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NotEmpty(t, v.Verdict)
	require.NotEmpty(t, v.Sentence)
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		require.NotContains(t, v.Sentence, bad)
	}
	for _, r := range v.Reasons {
		require.NotEmpty(t, r.Code)
	}
	tested := 0
	for _, c := range v.Channels.all() {
		if c.P == nil {
			require.NotEmpty(t, c.Flags, "%s has neither p nor a reason", c.code)
			require.Nil(t, c.PAdjusted)
		}
		if c.PAdjusted != nil {
			tested++
			require.GreaterOrEqual(t, *c.PAdjusted, *c.P)
		}
		if c.has(Unknown) || c.has(NotTested) {
			require.Nil(t, c.Effect)
			require.Nil(t, c.Controls.Mean)
			require.Nil(t, c.CI)
		}
	}
	if tested > 0 {
		require.Equal(t, v.AttainableP.channels, tested)
	}
	if v.Verdict == EffectAttributable {
		require.NotEmpty(t, v.significant())
		require.False(t, v.Drift.Flag)
		require.GreaterOrEqual(t, v.K, fewestControls)
	}
	if v.Verdict == NoEffectDetected {
		require.True(t, v.equivalent())
	}
	require.Nil(t, v.Channels.Outcome.detect)
	return data
}

// shuffled changes the order of attempts, and of their numbers if told so.
func shuffled(random *rand.Rand, in Input, numbers bool) Input {
	order := random.Perm(len(in.Attempts))
	out := in
	out.Attempts = make([]Attempt, len(order))
	places := []int{0}
	for to, from := range order {
		out.Attempts[to] = in.Attempts[from]
		if numbers {
			out.Attempts[to].Index = to
		}
		places = append(places, from+1)
	}
	move := func(m [][]float64) [][]float64 {
		if m == nil {
			return nil
		}
		moved := make([][]float64, len(places))
		for i, p := range places {
			for _, q := range places {
				moved[i] = append(moved[i], m[p][q])
			}
		}
		return moved
	}
	out.Structure, out.Answer = move(in.Structure), move(in.Answer)
	out.Steps = make([]Step, len(in.Steps))
	for i, step := range in.Steps {
		out.Steps[i] = Step{ID: step.ID, Name: step.Name}
		for _, p := range places {
			out.Steps[i].Signatures = append(out.Steps[i].Signatures, step.Signatures[p])
		}
	}
	return out
}

// forget makes some figures of some attempts unknown.
func forget(random *rand.Rand, in Input) Input {
	for i := range in.Attempts {
		a := &in.Attempts[i]
		for _, figure := range []**float64{&a.Outcome, &a.CostUSD, &a.DurationMS, &a.Tokens} {
			if random.IntN(4) == 0 {
				*figure = nil
			}
		}
		if random.IntN(4) == 0 {
			a.Bytes, a.Decisions = "", ""
		}
		if random.IntN(6) == 0 {
			a.Unfinished = "miss"
		}
		if random.IntN(4) == 0 {
			in.Answer[i+1][i+1] = math.NaN()
		}
		if random.IntN(4) == 0 {
			in.Steps[random.IntN(len(in.Steps))].Signatures[i+1] = ""
		}
	}
	return in
}

// TestOrder: the order of attempts within a role changes no byte, and the same input gives the same bytes.
func TestOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 2))
		d := designs[seed%3]
		if seed%10 == 9 {
			d = Design{11, 11} // random relabelings
		}
		in := newAgent(random, 1).replay(random, d.Controls, d.Treatments, edit{step: 1, shift: float64(seed%3) / 2})
		if seed%2 == 1 {
			in = forget(random, in)
		}
		want := sound(t, Of(in))
		require.Equal(t, string(want), string(sound(t, Of(in))), "again")
		require.Equal(t, string(want), string(sound(t, Of(shuffled(random, in, false)))), "another order")
		require.Equal(t, string(want), string(sound(t, Of(shuffled(random, in, true)))), "other numbers")
	}
}

// TestUnknown: what is unknown is nil everywhere, with a flag, whatever is unknown.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 3))
		sound(t, Of(forget(random, newAgent(random, 1).replay(random, 5, 4, edit{step: 1, shift: 1}))))
	}
	random := rand.New(rand.NewPCG(1, 4))
	in := newAgent(random, 1).replay(random, 5, 4, edit{step: -1})
	in.Structure, in.Answer, in.Recorded = nil, nil, Run{}
	for i := range in.Attempts {
		in.Attempts[i].Run = Run{}
	}
	for _, step := range in.Steps {
		clear(step.Signatures)
	}
	v := Of(in)
	sound(t, v)
	require.Equal(t, Invalid, v.Verdict)
	for _, c := range v.Channels.all() {
		require.Equal(t, []stats.Flag{Unknown}, c.Flags, c.code)
	}
	require.Nil(t, v.Reproducibility.Class)
	require.Nil(t, v.Drift.Measured)
	data, err := json.Marshal(v.Channels.Outcome)
	require.NoError(t, err)
	require.NotContains(t, string(data), ":0,", "only n is 0")
}

// TestMembers: the members of the JSON and their order are a contract.
func TestMembers(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(Of(replays(5, 4, usual, changed)))
	require.NoError(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	var names []string
	depth := 0
	isName := false
	for decoder.More() || depth > 0 {
		token, err := decoder.Token()
		require.NoError(t, err)
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			isName = true
			if depth == 0 {
				require.Equal(t, []string{
					"verdict", "sentence", "reasons", "k", "m", "attainable_p", "channels", "reproducibility", "drift", "exposure",
					"first_attributable_step", "more_replays_needed", "alpha", "looks",
				}, names)
				return
			}
		case string:
			if depth == 1 && isName {
				names = append(names, token)
				isName = false
				continue
			}
			isName = true
		default:
			isName = true
		}
	}
}

// TestSeed: parts do not run into each other.
func TestSeed(t *testing.T) {
	t.Parallel()
	require.Equal(t, uint64(0xad9b75c1587e3794), Seed("run", "edit"))
	require.NotEqual(t, Seed("run", "edit"), Seed("rune", "dit"))
	require.NotEqual(t, Seed("run"), Seed("run", ""))
}

// FuzzOf tries any input.
func FuzzOf(f *testing.F) {
	f.Add([]byte{5, 4, 1, 1, 0, 9, 1, 1, 7, 7, 7, 1, 1, 0, 3, 200, 30, 4, 1, 0, 1})
	f.Add([]byte{0, 0, 2, 255, 255, 255, 255, 255, 255, 239, 127})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := fuzzed(&data)
		first := sound(t, Of(in))
		require.Equal(t, string(first), string(sound(t, Of(in))))
		sound(t, Stratified([]Input{in, fuzzed(&data), in}))
		sound(t, Stratified(nil))
	})
}

func fuzzed(data *[]byte) (in Input) {
	next := func() int {
		if len(*data) == 0 {
			return 1
		}
		b := (*data)[0]
		*data = (*data)[1:]
		return int(b)
	}
	float := func() float64 {
		switch b := next(); b % 9 {
		case 0:
			return math.NaN()
		case 1:
			return math.Inf(b%2*2 - 1)
		case 2:
			return -float64(b)
		case 3:
			return 1e300
		default:
			return float64(b%5) / 2
		}
	}
	optional := func() *float64 {
		if next()%5 == 0 {
			return nil
		}
		x := float()
		return &x
	}
	run := func() Run {
		return Run{
			Outcome: optional(), CostUSD: optional(), DurationMS: optional(), Tokens: optional(),
			Bytes: strings.Repeat("x", next()%3), Decisions: strings.Repeat("y", next()%3),
		}
	}
	in.Mode = []Mode{Server, Cassette, "x"}[max(0, next()%16-13)]
	in.Recorded = run()
	for i := range next() % 8 {
		a := Attempt{Run: run(), Role: Control, Index: i, ReachedEdit: next()%8 > 0, DownstreamCalls: next() % 5, Exposure: Exposure{Stale: next() % 4 / 3}}
		if next()%2 == 0 {
			a.Role = Treatment
		}
		a.DownstreamLive = min(a.DownstreamCalls, next()%4)
		if next()%9 == 0 {
			a.Unfinished, a.OutsideDifferences = "%s\x00", next()%3-1
		}
		in.Attempts = append(in.Attempts, a)
	}
	square := func() [][]float64 {
		rows := make([][]float64, len(in.Attempts)+1-next()%20/19)
		for i := range rows {
			for range rows {
				rows[i] = append(rows[i], float())
			}
		}
		return rows
	}
	if next()%3 > 0 {
		in.Structure = square()
	}
	if next()%3 > 0 {
		in.Answer = square()
	}
	for range next() % 4 {
		step := Step{Name: strings.Repeat("%d", next()%3)}
		for range len(in.Attempts) + 1 {
			step.Signatures = append(step.Signatures, strings.Repeat("s", next()%3))
		}
		in.Steps = append(in.Steps, step)
	}
	in.Proven, in.DiffEmpty = next()%9 == 0, next()%3 == 0
	if next()%7 == 0 {
		in.Alpha, in.Delta = float(), float()
	}
	if next()%5 == 0 {
		in.Changes = []Change{{"model", "%v", "\xff"}}
	}
	return in
}
