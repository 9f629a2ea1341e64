package agentview

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// annotated is a run with its messages in order, each with its text and the span that recorded it, and those that are faulty.
type annotated struct {
	run    *recorded
	steps  []transcriptStep
	faults []int // into steps
}

type transcriptStep struct {
	role, text string
	span       uint64 // 0 where no span is the message's own
}

type tauMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func annotatedRuns(t *testing.T) []annotated {
	t.Helper()
	folder := filepath.Join(realData(t), "agentrx-tau-retail")
	decode := func(name string, into any) {
		text, err := os.ReadFile(filepath.Join(folder, "annotations", name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	type episode struct {
		TaskID int          `json:"task_id"`
		Trial  int          `json:"trial"`
		Traj   []tauMessage `json:"traj"`
	}
	var episodes []episode
	decode("tau_dataset_full.json", &episodes)
	var truth []struct {
		TrajectoryID int `json:"trajectory_id"`
		Failures     []struct {
			Step int `json:"step_number"`
		} `json:"failures"`
	}
	decode("tau_ground_truth.json", &truth)
	bySession := map[string]*recorded{}
	files, err := filepath.Glob(filepath.Join(folder, "otlp", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		for _, r := range realRuns(t, file) {
			bySession[r.outline.Run.SessionID] = r
		}
	}
	var list []annotated
	for _, failed := range truth {
		at := slices.IndexFunc(episodes, func(e episode) bool { return e.TaskID == failed.TrajectoryID })
		if at < 0 {
			continue // two are annotated whose messages were not published
		}
		run := bySession[fmt.Sprintf("retail-task%d-trial%d", failed.TrajectoryID, episodes[at].Trial)]
		require.NotNil(t, run, failed.TrajectoryID)
		a := annotated{run: run}
		var models, tools []uint64
		for _, span := range run.outline.Spans {
			switch span.EffectiveKind() {
			case runmodel.KindLLM:
				models = append(models, span.SpanID)
			case runmodel.KindTool:
				tools = append(tools, span.SpanID)
			}
		}
		for _, m := range episodes[at].Traj {
			step := transcriptStep{role: m.Role, text: m.Content}
			for _, call := range m.ToolCalls {
				step.text = strings.TrimSpace(step.text + "\n" + call.Function.Name + "(" + call.Function.Arguments + ")")
			}
			switch {
			case m.Role == "assistant" && len(models) > 0:
				step.span, models = models[0], models[1:]
			case m.Role == "user" && len(models) > 0:
				step.span = models[0] // the call that the message was new to
			case m.Role == "tool" && len(tools) > 0:
				step.span, tools = tools[0], tools[1:]
			}
			a.steps = append(a.steps, step)
		}
		require.Empty(t, models)
		require.Empty(t, tools)
		for _, failure := range failed.Failures {
			// Two are a user's last message, which no model was called with, so that it was not recorded.
			if failure.Step < len(a.steps) {
				a.faults = append(a.faults, failure.Step-1)
			}
		}
		list = append(list, a)
	}
	return list
}

// enough is how many tokens of a step must be visible for it to count as shown.
const enough = 64

// header is how many tokens a transcript takes for the number and role of each step.
const header = 8

// strategy returns how many tokens of the text of each step fit a budget.
type strategy func(lengths []int, steps []transcriptStep, budget int) []int

func takeInOrder(order []int) strategy {
	return func(lengths []int, _ []transcriptStep, budget int) []int {
		shown := make([]int, len(lengths))
		for _, i := range order {
			budget -= header
			if budget <= 0 {
				break
			}
			shown[i] = min(lengths[i], budget)
			budget -= shown[i]
		}
		return shown
	}
}

func head(lengths []int, steps []transcriptStep, budget int) []int {
	order := make([]int, len(lengths))
	for i := range order {
		order[i] = i
	}
	return takeInOrder(order)(lengths, steps, budget)
}

func tail(lengths []int, steps []transcriptStep, budget int) []int {
	order := make([]int, len(lengths))
	for i := range order {
		order[i] = len(lengths) - 1 - i
	}
	return takeInOrder(order)(lengths, steps, budget)
}

func headAndTail(lengths []int, steps []transcriptStep, budget int) []int {
	shown := head(lengths, steps, budget/2)
	for i, n := range tail(lengths, steps, budget/2) {
		shown[i] = max(shown[i], n)
	}
	return shown
}

// evenSplit gives every step the same number of tokens, and divides what short ones leave among the others.
func evenSplit(lengths []int, _ []transcriptStep, budget int) []int {
	left := budget - header*len(lengths)
	shown := make([]int, len(lengths))
	if left <= 0 {
		return shown
	}
	order := make([]int, len(lengths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return lengths[a] - lengths[b] })
	for at, i := range order {
		shown[i] = min(lengths[i], left/(len(order)-at))
		left -= shown[i]
	}
	return shown
}

var errorWords = regexp.MustCompile(`(?i)\b(error|exception|failed|failure|invalid|not found|timeout|denied)\b`)

func errorsOnly(lengths []int, steps []transcriptStep, budget int) []int {
	var order []int
	for i, step := range steps {
		if errorWords.MatchString(step.text) && step.role != "system" {
			order = append(order, i)
		}
	}
	return takeInOrder(order)(lengths, steps, budget)
}

// survives counts the faulty steps of which enough is visible, and those of which anything is.
func survives(t *testing.T, a *annotated, tokens *counter, shown []int) (n int) {
	t.Helper()
	for _, fault := range a.faults {
		if shown[fault] >= min(enough, tokens.count(a.steps[fault].text)) {
			n++
		}
	}
	return n
}

// partsOfRole are the parts in which a view shows a message.
var partsOfRole = map[string][]string{"assistant": {"output"}, "user": {"user"}, "tool": {"result"}}

// inView returns how many tokens of the text of each step are visible in the body of a view.
func inView(t *testing.T, a *annotated, tokens *counter, body []byte) []int {
	t.Helper()
	shown := make([]int, len(a.steps))
	for id, parts := range partsOf(t, body) {
		for i, step := range a.steps {
			if runmodel.FormatSpanID(step.span) != id {
				continue
			}
			for _, name := range partsOfRole[step.role] {
				for _, fragment := range parts[name] {
					assert.Contains(t, strings.TrimSpace(step.text), strings.TrimSpace(fragment))
					shown[i] += tokens.count(fragment)
				}
			}
		}
	}
	return shown
}

var opening = regexp.MustCompile(`^<(\d{6}) (\w+)>`)

// partsOf parses a view in JSON. For each span id it returns the parts by name, each as its fragments.
func partsOf(tb testing.TB, body []byte) map[string]map[string][]string {
	tb.Helper()
	var decoded struct {
		Steps []Step `json:"steps"`
	}
	require.NoError(tb, json.Unmarshal(body, &decoded), string(body))
	spans := map[string]map[string][]string{}
	for _, step := range decoded.Steps {
		spans[step.SpanID] = fragmentsOf(tb, step.Recorded)
	}
	return spans
}

func fragmentsOf(tb testing.TB, text string) map[string][]string {
	tb.Helper()
	parts := map[string][]string{}
	if text == "" {
		return parts
	}
	found := opening.FindStringSubmatch(text)
	require.NotNil(tb, found, text)
	mark := found[1]
	require.True(tb, strings.HasSuffix(text, "</"+mark+">"), text)
	text = strings.TrimSuffix(text, "</"+mark+">")
	name := ""
	for _, section := range strings.Split(text, "<"+mark+" ")[1:] {
		label, said, ok := strings.Cut(section, ">")
		require.True(tb, ok)
		if !strings.HasSuffix(label, "bytes left out") {
			name = label
		}
		require.NotContains(tb, said, mark)
		parts[name] = append(parts[name], said)
	}
	return parts
}

// TestSurvival prints the share of faulty steps that are visible, and checks it against the threshold in docs/agent-view.md.
func TestSurvival(t *testing.T) {
	t.Parallel()
	all := annotatedRuns(t)
	tokens, err := newCounter(EncodingO200k)
	require.NoError(t, err)
	faults := 0
	for i := range all {
		faults += len(all[i].faults)
	}
	require.Equal(t, 35, faults)
	simple := []struct {
		name string
		take strategy
	}{{"errors only", errorsOnly}, {"head", head}, {"tail", tail}, {"head and tail", headAndTail}, {"even split", evenSplit}}
	budgets := []int{1000, 2000, 4000, 8000}
	table := "| faulty steps seen of 35, in % | 1k | 2k | 4k | 8k |\n| --- | --- | --- | --- | --- |\n"
	best := make([]int, len(budgets))
	row := func(name string, counts []int) {
		table += "| " + name
		for _, n := range counts {
			table += " | " + strconv.Itoa((n*100+faults/2)/faults)
		}
		table += " |\n"
	}
	for _, s := range simple {
		counts := make([]int, len(budgets))
		for at, budget := range budgets {
			for i := range all {
				lengths := make([]int, len(all[i].steps))
				for j := range lengths {
					lengths[j] = tokens.count(all[i].steps[j].text)
				}
				counts[at] += survives(t, &all[i], tokens, s.take(lengths, all[i].steps, budget))
			}
			best[at] = max(best[at], counts[at])
		}
		row(s.name, counts)
	}
	ours := make([]int, len(budgets))
	for at, budget := range budgets {
		for i := range all {
			view, err := Build(all[i].run.outline, all[i].run.read, Options{Budget: budget, Encoding: EncodingO200k, Format: FormatJSON, Calls: calls{}})
			require.NoError(t, err)
			require.LessOrEqual(t, tokens.count(string(view.Body)), budget)
			ours[at] += survives(t, &all[i], tokens, inView(t, &all[i], tokens, view.Body))
		}
	}
	row("agent view", ours)
	t.Log("\n" + table)
	for at := range budgets {
		assert.GreaterOrEqual(t, ours[at], best[at], "%d tokens: a simple strategy shows more", budgets[at])
	}
	assert.GreaterOrEqual(t, float64(ours[1])/float64(faults), .87)
	assert.Equal(t, faults, ours[2])
}
