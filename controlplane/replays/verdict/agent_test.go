package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// agent is a made-up program of eight steps whose mechanism is known. At each step it calls one of five tools: with which probability
// depends on the step and on the tool before. It is steadier at a lower temperature. Answer, outcome, cost and duration follow from the
// tools that it called, and from noise.
type agent struct {
	logits      [steps][tools + 1][tools]float64
	temperature float64
	prices      [tools]float64
}

const (
	steps = 8
	tools = 5
)

// allSteps is for an edit of the policy of each step.
const allSteps = -2

// edit changes the policy of one step or of all, or the chance of success.
type edit struct {
	step int
	// shift is the part of the step's policy that goes to its least probable tool.
	shift float64
	// outcome is added to the chance of success.
	outcome float64
}

func newAgent(random *rand.Rand, temperature float64) *agent {
	a := &agent{temperature: temperature}
	for s := range a.logits {
		for p := range a.logits[s] {
			for t := range a.logits[s][p] {
				a.logits[s][p][t] = random.NormFloat64()
			}
		}
	}
	for t := range a.prices {
		a.prices[t] = math.Exp(.5 * random.NormFloat64())
	}
	return a
}

// policy is that of a step after a tool.
func (a *agent) policy(step, before int, e edit) (p [tools]float64) {
	total, least := 0., 0
	for t, logit := range a.logits[step][before] {
		p[t] = math.Exp(logit / a.temperature)
		total += p[t]
		if p[t] < p[least] {
			least = t
		}
	}
	for t := range p {
		p[t] /= total
		if step == e.step || e.step == allSteps {
			p[t] *= 1 - e.shift
		}
	}
	if step == e.step || e.step == allSteps {
		p[least] += e.shift
	}
	return p
}

// episode is a run of the agent.
type episode struct {
	calls  []string
	answer []string
	run    Run
}

func (a *agent) episode(random *rand.Rand, e edit) (r episode) {
	before, price, success := tools, 0., .7
	for s := range steps {
		x, policy := random.Float64(), a.policy(s, before, e)
		t := 0
		for t < tools-1 && x >= policy[t] {
			x -= policy[t]
			t++
		}
		before = t
		price += a.prices[t]
		success += .2 * math.Tanh(a.prices[t]-1) / steps
		r.calls = append(r.calls, "tool"+strconv.Itoa(t))
	}
	for i := range 12 {
		word := strconv.Itoa(i) + r.calls[steps-1] + r.calls[steps-1-i%3]
		if random.Float64() < .1 {
			word = "other"
		}
		r.answer = append(r.answer, word)
	}
	success = max(0, min(1, success+e.outcome))
	outcome := 0.
	if random.Float64() < success {
		outcome = 1
	}
	cost := price * math.Exp(.1*random.NormFloat64())
	duration := 1000 * price * math.Exp(.3*random.NormFloat64())
	tokens := math.Round(1000 * cost)
	r.run = Run{
		Outcome: &outcome, CostUSD: &cost, DurationMS: &duration, Tokens: &tokens,
		Decisions: strings.Join(r.calls, " ") + strconv.FormatFloat(outcome, 'g', -1, 64),
	}
	r.run.Bytes = r.run.Decisions + strings.Join(r.answer, " ")
	return r
}

// replay runs the agent once as recorded, and then with and without the edit.
func (a *agent) replay(random *rand.Rand, controls, treatments int, e edit) Input {
	none := edit{step: -1}
	episodes := []episode{a.episode(random, none)}
	for range controls {
		episodes = append(episodes, a.episode(random, none))
	}
	for range treatments {
		episodes = append(episodes, a.episode(random, e))
	}
	return replayOf(episodes, controls, random.Uint64())
}

// replayOf is the input of the first episode and its replays.
func replayOf(episodes []episode, controls int, seed uint64) Input {
	in := Input{
		Mode: Server, Recorded: episodes[0].run, Seed: seed,
		Structure: matrix(episodes, func(x, y episode) float64 { return editDistance(x.calls, y.calls) }),
		Answer:    matrix(episodes, func(x, y episode) float64 { return wordDistance(x.answer, y.answer) }),
	}
	for i, e := range episodes[1:] {
		attempt := Attempt{Run: e.run, Role: Control, Index: i, ReachedEdit: true, DownstreamCalls: 8, DownstreamLive: 4, Exposure: Exposure{Reissued: 4}}
		if i >= controls {
			attempt.Role = Treatment
		}
		in.Attempts = append(in.Attempts, attempt)
	}
	for s := range steps {
		step := Step{ID: strconv.Itoa(s), Name: "step " + strconv.Itoa(s)}
		for _, e := range episodes {
			signature := Absent
			if s < len(e.calls) {
				signature = e.calls[s]
			}
			step.Signatures = append(step.Signatures, signature)
		}
		in.Steps = append(in.Steps, step)
	}
	return in
}

func matrix(episodes []episode, distance func(x, y episode) float64) [][]float64 {
	rows := make([][]float64, len(episodes))
	for i, x := range episodes {
		rows[i] = make([]float64, len(episodes))
		for j, y := range episodes {
			if i != j {
				rows[i][j] = distance(x, y)
			}
		}
	}
	return rows
}

// editDistance is Levenshtein's, in parts of the longer sequence.
func editDistance(a, b []string) float64 {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		corner := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := corner
			if x != y {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return float64(row[len(b)]) / float64(max(1, len(a), len(b)))
}

// wordDistance is the share of words that only one of both has.
func wordDistance(a, b []string) float64 {
	all, common := map[string]bool{}, 0
	for _, w := range slices.Concat(a, b) {
		if !all[w] && slices.Contains(a, w) && slices.Contains(b, w) {
			common++
		}
		all[w] = true
	}
	return 1 - float64(common)/float64(max(1, len(all)))
}
