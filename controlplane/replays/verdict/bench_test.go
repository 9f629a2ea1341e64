package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPower prints how often effects of agents with a known mechanism are found, and how often the right step is named. docs/measurements
// has the figures. It fails if an effect is claimed where there is none, or if the clearest one is hardly found.
func TestPower(t *testing.T) {
	t.Parallel()
	trials := fewer(t, 8)
	edits := []struct {
		name string
		edit edit
	}{
		{"none", edit{step: 0}},
		{"one step .1", edit{step: 0, shift: .1}},
		{"one step .25", edit{step: 0, shift: .25}},
		{"one step .5", edit{step: 0, shift: .5}},
		{"one step 1", edit{step: 0, shift: 1}},
		{"all steps .1", edit{step: allSteps, shift: .1}},
		{"all steps .25", edit{step: allSteps, shift: .25}},
		{"all steps .5", edit{step: allSteps, shift: .5}},
		{"success -.4", edit{step: -1, outcome: -.4}},
		{"success -.7", edit{step: -1, outcome: -.7}},
	}
	table := fmt.Sprintf("%d trials each\n| temperature, edit | controls with the recorded calls | naive | ", trials)
	for _, d := range designs {
		table += fmt.Sprintf("%d+%d: effect | right step | drift flag | ", d.Controls, d.Treatments)
	}
	table += "\n| --- | ---: | ---: |" + strings.Repeat(" ---: |", 3*len(designs)) + "\n"
	for _, temperature := range []float64{.1, .3, 1} {
		for _, e := range edits {
			table += fmt.Sprintf("| %v, %s", temperature, e.name)
			for i, d := range designs {
				c := measure(d, temperature, e.edit, trials)
				if i == 0 {
					table += fmt.Sprintf(" | %.1f | %.1f", 100*float64(c.alike)/float64(trials*d.Controls), 100*c.share(c.naive))
				}
				table += fmt.Sprintf(" | %.1f | %d of %d | %.1f", 100*c.share(c.effects()), c.right, c.named, 100*c.share(c.drifted))
				if e.name == "none" {
					assert.LessOrEqual(t, c.share(c.effects()), .05+2*math.Sqrt(.05*.95/float64(trials)), "%v %+v", temperature, d)
				}
			}
			table += " |\n"
		}
	}
	t.Log("\n" + table)
}

// asserted is how many trials a rate of false effects is asserted of, at least.
const asserted = 200

// TestManyRuns prints how often effects are found by two controls and two treatments of each of several runs.
func TestManyRuns(t *testing.T) {
	t.Parallel()
	trials := fewer(t, 16)
	sizes := []int{5, 10, 20}
	table := fmt.Sprintf("%d trials each, temperature .3\n| edit | 5 runs | 10 runs | 20 runs |\n| --- | ---: | ---: | ---: |\n", trials)
	for _, e := range []struct {
		name string
		edit edit
	}{
		{"none", edit{step: -1}},
		{"one step .25", edit{step: 0, shift: .25}},
		{"one step .5", edit{step: 0, shift: .5}},
		{"one step 1", edit{step: 0, shift: 1}},
		{"all steps .25", edit{step: allSteps, shift: .25}},
		{"all steps .5", edit{step: allSteps, shift: .5}},
		{"success -.4", edit{step: -1, outcome: -.4}},
		{"success -.7", edit{step: -1, outcome: -.7}},
	} {
		table += "| " + e.name
		trials := trials
		if e.name == "none" { // what is asserted needs more of them
			trials = max(trials, asserted)
		}
		for _, n := range sizes {
			found := 0
			for i := range trials {
				if v := Stratified(many(uint64(i), n, Design{2, 2}, .3, e.edit)).Verdict; v == EffectAttributable || v == EffectLikely {
					found++
				}
			}
			table += fmt.Sprintf(" | %.1f", 100*float64(found)/float64(trials))
			if e.name == "none" {
				assert.LessOrEqual(t, float64(found)/float64(trials), .05+2*math.Sqrt(.05*.95/float64(trials)), "%d runs", n)
			}
		}
		table += " |\n"
	}
	t.Log("\n" + table)
}

// fewer is a part of the trials, unless their number is asked for.
func fewer(t *testing.T, part int) int {
	t.Helper()
	if os.Getenv("BENCH_VERDICT_TRIALS") != "" {
		return trialsOf(t)
	}
	return trialsOf(t) / part
}

// recordedRuns are the 50 tasks of tau-bench, each with four repeats of the same agent.
func recordedRuns(t *testing.T) [][]episode {
	t.Helper()
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	files, err := filepath.Glob(filepath.Join(folder, "tau-bench-airline", "otlp", "*.json"))
	require.NoError(t, err)
	tasks := map[string][]episode{}
	var order []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, r := range tauEpisodes(t, text) {
			if tasks[r.task] == nil {
				order = append(order, r.task)
			}
			tasks[r.task] = append(tasks[r.task], r.episode)
		}
	}
	var all [][]episode
	for _, task := range order {
		require.Len(t, tasks[task], 4)
		all = append(all, tasks[task])
	}
	require.Len(t, all, 50)
	return all
}

type tauEpisode struct {
	task string
	episode
}

// attribute is one of OTLP/JSON.
type attribute struct {
	Key   string
	Value struct {
		StringValue string
		IntValue    json.Number
		DoubleValue *float64
	}
}

func value(attributes []attribute, key string) attribute {
	for _, a := range attributes {
		if a.Key == key {
			return a
		}
	}
	return attribute{}
}

// tauEpisodes reads a file: a root with the reward, tool calls with arguments, and chats, the last of which has the answer.
func tauEpisodes(t *testing.T, text []byte) []tauEpisode {
	t.Helper()
	var file struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID    string
					Attributes []attribute
					Events     []struct{ Attributes []attribute }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	runs := map[string]*tauEpisode{}
	var order []string
	for _, rs := range file.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, span := range ss.Spans { // in the order of time
				r := runs[span.TraceID]
				if r == nil {
					r = &tauEpisode{}
					runs[span.TraceID] = r
					order = append(order, span.TraceID)
				}
				switch value(span.Attributes, "gen_ai.operation.name").Value.StringValue {
				case "invoke_agent":
					r.task = value(span.Attributes, "tau.task_id").Value.IntValue.String()
					require.NotEmpty(t, span.Events)
					reward := value(span.Events[0].Attributes, "gen_ai.evaluation.score.value").Value.DoubleValue
					require.NotNil(t, reward)
					r.run.Outcome = reward
				case "execute_tool":
					name := value(span.Attributes, "gen_ai.tool.name").Value.StringValue
					var arguments any // so that spaces and the order of members do not count
					require.NoError(t, json.Unmarshal([]byte(value(span.Attributes, "gen_ai.tool.call.arguments").Value.StringValue), &arguments))
					r.calls = append(r.calls, name+" "+fmt.Sprint(arguments))
				case "chat":
					var messages []struct{ Parts []struct{ Content string } }
					require.NoError(t, json.Unmarshal([]byte(value(span.Attributes, "gen_ai.output.messages").Value.StringValue), &messages))
					for _, m := range messages {
						for _, p := range m.Parts {
							if p.Content != "" {
								r.answer = strings.Fields(p.Content)
							}
						}
					}
				}
			}
		}
	}
	list := make([]tauEpisode, 0, len(order))
	for _, id := range order {
		r := runs[id]
		r.run.Decisions = strings.Join(r.calls, "\n")
		list = append(list, *r)
	}
	return list
}

// TestTau splits the four recorded repeats of each task into two controls and two treatments at random. Nothing was edited, so that every
// effect is a false one.
func TestTau(t *testing.T) {
	t.Parallel()
	tasks := recordedRuns(t)
	splits := fewer(t, 4)
	pairs, differ := 0, 0
	for _, repeats := range tasks {
		for i, a := range repeats {
			for _, b := range repeats[i+1:] {
				pairs++
				if !slices.Equal(a.calls, b.calls) {
					differ++
				}
			}
		}
	}
	table := fmt.Sprintf("The naive rule is wrong in %.1f%% of %d pairs.\n%d splits each\n| tasks | effect | no effect detected | within noise | underpowered | drift |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n", 100*float64(differ)/float64(pairs), pairs, splits)
	for _, n := range []int{5, 10, 25, 50} {
		kinds := map[Kind]int{}
		for split := range splits {
			random := rand.New(rand.NewPCG(uint64(split), uint64(n)))
			var runs []Input
			for _, task := range random.Perm(len(tasks))[:n] {
				runs = append(runs, tauSplit(random, tasks[task]))
			}
			kinds[Stratified(runs).Verdict]++
		}
		share := func(kind Kind) float64 { return 100 * float64(kinds[kind]) / float64(splits) }
		effects := share(EffectAttributable) + share(EffectLikely) + share(DeterministicEffect)
		table += fmt.Sprintf("| %d | %.1f | %.1f | %.1f | %.1f | %.1f |\n", n, effects, share(NoEffectDetected), share(WithinNoise), share(Underpowered), share(Drift))
		assert.LessOrEqual(t, effects/100, .05+2*math.Sqrt(.05*.95/float64(splits)), "%d tasks", n)
	}
	t.Log("\n" + table)
}

// tauSplit has no recording apart from the four repeats: nothing is known of it.
func tauSplit(random *rand.Rand, repeats []episode) Input {
	episodes := []episode{{}}
	for _, i := range random.Perm(len(repeats)) {
		episodes = append(episodes, repeats[i])
	}
	in := replayOf(episodes, 2, random.Uint64())
	in.Structure[0][0], in.Answer[0][0] = math.NaN(), math.NaN()
	return in
}
