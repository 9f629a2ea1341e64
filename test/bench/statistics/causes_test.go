package statistics

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/causes"
	replayable "github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// planted are the kinds of causes, with the beginnings of the keys that are right.
var planted = []struct {
	name string
	keys []string
}{
	{"prompt", []string{"prompt_version:support=4", "instructions:"}},
	{"model", []string{"model:small-2"}},
	{"timeout", []string{"timeout:charge=cut off", "timeout:charge=1000"}},
	{"tool description", []string{"tool_definition:lookup="}},
	{"tool result", []string{"tool_result:lookup=empty"}},
	{"parameter", []string{"parameter:temperature=1.2"}},
	{"release", []string{"release:2.0"}},
	{"order", []string{"order:charge=verify"}},
	{"retry", []string{"retry:charge=0"}},
	{"none", nil},
}

// causeSeeds is how many agents of each kind are made: 20 with BENCH_STATISTICS, else 5. CAUSES_SEEDS changes it, and CAUSES_FIRST_SEED the
// first seed.
func causeSeeds(t *testing.T) (first, number int) {
	t.Helper()
	read := func(name string, value int) int {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			return n
		}
		return value
	}
	number = 5
	if full() {
		number = 20
	}
	return read("CAUSES_FIRST_SEED", 0), read("CAUSES_SEEDS", number)
}

// TestCauses plants causes into agents, of which twenty runs fail and twenty end well. It counts how often the cause is the first candidate,
// and how often anything is said to separate them where there is none. Noise is the share of failed runs without the cause, and of good ones
// with it.
func TestCauses(t *testing.T) {
	for _, noise := range []float64{.1, .2} {
		t.Run(fmt.Sprintf("noise %.0f%%", 100*noise), func(t *testing.T) { testCauses(t, noise) })
	}
}

func testCauses(t *testing.T, noise float64) {
	t.Helper()
	first, seeds := causeSeeds(t)
	table := newTable(fmt.Sprintf("planted causes in %%, noise %.0f%%", 100*noise), "agents", "first", "first and separates", "among the first three", "anything separates")
	allFirst, all := 0, 0
	for _, kind := range planted {
		counts := [4]int{}
		for seed := first; seed < first+seeds; seed++ {
			failed, good := agentRuns(rand.New(rand.NewPCG(uint64(seed), seedOf(kind.name))), kind.name, noise)
			ranking := causes.Rank(failed, good, causes.Place{Tool: "charge"})
			at := placeOfCause(ranking.Candidates, kind.keys)
			if os.Getenv("CAUSES_SHOW") != "" && at != 0 && kind.keys != nil {
				fmt.Println(kind.name, seed, at)
				for _, c := range ranking.Candidates[:min(3, len(ranking.Candidates))] {
					fmt.Println("   ", c.Key, c.Failed, c.Good, c.CI, c.PAdjusted)
				}
			}
			for i, holds := range []bool{
				at == 0, at == 0 && ranking.Candidates[0].Separates(), at >= 0 && at < 3, len(ranking.Candidates) > 0 && ranking.Candidates[0].Separates(),
			} {
				if holds {
					counts[i]++
				}
			}
		}
		shares := make([]float64, len(counts))
		for i, n := range counts {
			shares[i] = float64(n) / float64(seeds)
		}
		table.add(kind.name, seeds, shares...)
		if kind.keys == nil {
			const level = .05
			assert.LessOrEqual(t, shares[3], level+2*math.Sqrt(level*(1-level)/float64(seeds)), "nothing separates them")
			continue
		}
		allFirst, all = allFirst+counts[0], all+seeds
	}
	table.print()
	ci := stats.Wilson(float64(allFirst), float64(all), .05)
	require.NotNil(t, ci)
	fmt.Printf("first in %d of %d agents with a cause: %.1f%%, 95%% interval %.1f to %.1f%%\n", allFirst, all, 100*float64(allFirst)/float64(all), 100*ci[0], 100*ci[1])
	assert.GreaterOrEqual(t, float64(allFirst)/float64(all), .85)
}

// placeOfCause is the place of the first candidate with one of the keys, -1 for none.
func placeOfCause(candidates []causes.Candidate, keys []string) int {
	for i := range candidates {
		for _, key := range keys {
			if strings.HasPrefix(candidates[i].Key, key) {
				return i
			}
		}
	}
	return -1
}

// agentRuns are twenty failed and twenty good runs of an agent with a cause.
func agentRuns(random *rand.Rand, kind string, noise float64) (failed, good []causes.Run) {
	recordsTimeout := random.IntN(2) == 0
	for i := range 40 {
		a := agentRun{random: random, kind: kind, fails: i < 20, recordsTimeout: recordsTimeout}
		a.has = (random.Float64() >= noise) == a.fails
		run := causes.Describe(a.record(i), causes.Place{Tool: "charge"})
		if a.fails {
			failed = append(failed, run)
		} else {
			good = append(good, run)
		}
	}
	return failed, good
}

// agentRun is a run that is made. A support agent looks an order up, verifies it, charges it and tells the customer.
type agentRun struct {
	random         *rand.Rand
	kind           string
	has, fails     bool
	recordsTimeout bool

	start, now time.Time
	spans      []replayable.Span
	failing    uint64
}

// is reports whether the run has a cause of a kind.
func (a *agentRun) is(kind string) bool { return a.has && a.kind == kind }

// choose returns the first with a chance, else the second.
func (a *agentRun) choose(chance float64, first, second string) string {
	if a.random.Float64() < chance {
		return first
	}
	return second
}

func (a *agentRun) record(i int) *causes.Recorded {
	a.start = time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
	a.now = a.start
	a.spans = []replayable.Span{{Span: runmodel.Span{SpanID: 1, StartTime: a.start, Name: "support", Kind: "agent", AgentName: "support", Status: "ok"}}}
	r := &causes.Recorded{ID: uuid.New(), Start: a.start}
	// Where the cause is not the release, a new release came at about the same time.
	newer := .2
	if a.has && a.kind != "none" {
		newer = .8
	}
	if a.kind == "release" {
		newer = 0
		if a.has {
			newer = 1
		}
	}
	r.Names, r.Values = []string{"release", "environment"}, []string{a.choose(newer, "2.0", "1.9"), a.choose(.7, "production", "staging")}
	for n := range 30 {
		r.Names = append(r.Names, fmt.Sprintf("metadata.m%d", n))
		r.Values = append(r.Values, fmt.Sprint(a.random.IntN(2+n%4)))
	}
	a.calls()
	a.spans[0].EndTime = a.now
	if a.fails {
		a.spans[0].Status = "error"
	}
	r.FailingSpanID, r.Spans = a.failing, a.spans
	return r
}

// calls makes the steps. The run ends where it fails.
func (a *agentRun) calls() {
	a.model()
	if a.random.Float64() < .3 {
		a.tool("search", `[{"title": "Returns"}]`, false)
		a.model()
	}
	result := `{"order": {"id": 7, "total": 30}}`
	if a.is("tool result") {
		result = "[]"
	}
	a.tool("lookup", result, false)
	a.model()
	early := !a.is("order")
	if early {
		a.tool("verify", `{"valid": true}`, false)
		a.model()
	}
	if a.charge(); a.fails {
		return
	}
	a.model()
	if !early {
		a.tool("verify", `{"valid": true}`, false)
		a.model()
	}
	if a.random.Float64() < .8 {
		a.tool("notify", "sent", false)
		a.model()
	}
}

// charge is the step at which runs fail.
func (a *agentRun) charge() {
	const done = `{"charged": 30}`
	switch a.kind {
	case "timeout":
		limit := 5 * time.Second
		if a.has {
			limit = time.Second
		}
		took := time.Duration(300+a.random.IntN(3500)) * time.Millisecond
		if a.fails {
			took = limit
		} else if a.has {
			took = min(took, 900*time.Millisecond)
		}
		i := a.took("charge", done, a.fails, took)
		if a.recordsTimeout {
			a.spans[i].AttributesJSON = map[string]string{"looptrace.timeout_ms": strconv.FormatInt(limit.Milliseconds(), 10)}
		}
		if a.fails {
			a.spans[i].ErrorType, a.spans[i].ErrorMessage = "TimeoutError", "timed out"
		}
	case "retry":
		if !a.fails && (a.has || a.random.Float64() < .3) {
			a.tool("charge", done, false)
			return
		}
		a.tool("charge", "", true)
		if a.has {
			return
		}
		a.tool("charge", done, a.fails)
	default:
		a.tool("charge", done, a.fails)
	}
}

func (a *agentRun) tool(name, result string, fails bool) {
	a.took(name, result, fails, time.Duration(100+a.random.IntN(900))*time.Millisecond)
}

// took adds a call of a tool, and returns the index of its span.
func (a *agentRun) took(name, result string, fails bool, duration time.Duration) int {
	i := a.step("tool", name, duration)
	span := &a.spans[i]
	span.ToolName, span.ToolArguments, span.ToolResult = name, `{"id": 7}`, result
	if fails {
		span.Status, span.ErrorType, span.ErrorMessage, span.ToolResult = "error", "ToolError", "no answer", ""
		if a.fails {
			a.failing = span.SpanID
		}
	}
	return i
}

func (a *agentRun) step(kind, name string, duration time.Duration) int {
	end := a.now.Add(duration)
	a.spans = append(a.spans, replayable.Span{Span: runmodel.Span{
		SpanID: uint64(len(a.spans) + 1), ParentSpanID: 1, StartTime: a.now, EndTime: end, Name: name, Kind: kind, Status: "ok",
	}})
	a.now = end.Add(time.Millisecond)
	return len(a.spans) - 1
}

// model adds a call of the model.
func (a *agentRun) model() {
	span := &a.spans[a.step("llm", "chat", time.Duration(500+a.random.IntN(2000))*time.Millisecond)]
	span.RequestModel, span.Attributes = "large-1", map[string]string{}
	temperature, version, rule, description := "0.2", "3", "Verify an order before you charge it.", "Finds an order by its id."
	switch {
	case a.is("model"):
		span.RequestModel = "small-2"
	case a.is("parameter"):
		temperature = "1.2"
	case a.is("prompt"):
		version, rule = "4", "Charge orders at once."
	case a.is("tool description"):
		description = "Finds anything."
	}
	span.PromptName, span.PromptVersion = "support", version
	span.AttributesJSON = map[string]string{"gen_ai.request.temperature": temperature, "gen_ai.request.max_tokens": "800"}
	text := fmt.Sprintf("You are a support agent. %s Today is %s.", rule, a.start.Format(time.DateOnly))
	span.SystemInstructions = []json.RawMessage{encoded(map[string]string{"type": "text", "content": text})}
	span.InputMessages = []json.RawMessage{encoded(map[string]any{"role": "user", "parts": []any{map[string]string{"type": "text", "content": "Where is order 7?"}}})}
	for name, about := range map[string]string{"search": "Searches the help pages.", "lookup": description, "verify": "Verifies an order.", "charge": "Charges an order.", "notify": "Tells the customer."} {
		span.ToolDefinitions = append(span.ToolDefinitions, encoded(map[string]any{
			"type": "function", "name": name, "description": about, "parameters": map[string]any{"type": "object"},
		}))
	}
}

func encoded(value any) json.RawMessage {
	text, _ := json.Marshal(value) // these values always encode
	return text
}
