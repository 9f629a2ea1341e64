package agentview

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/runs"
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
	return split(lengths, budget, header)
}

// What a view in Markdown takes for its frame, and for each step besides its text.
const (
	viewFrame  = 180
	viewHeader = 25
)

// evenSplitOfView is evenSplit at the costs of a view.
func evenSplitOfView(lengths []int, _ []transcriptStep, budget int) []int {
	return split(lengths, budget-viewFrame, viewHeader)
}

func split(lengths []int, budget, header int) []int {
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
var partsOfRole = map[string][]string{"assistant": {"output"}, "user": {"user"}, "tool": {"result"}, "agent": {"output"}}

// inView returns how many tokens of the text of each step are visible in a view, given its parts.
func inView(t *testing.T, a *annotated, tokens *counter, parts map[string]map[string][]string) []int {
	t.Helper()
	shown := make([]int, len(a.steps))
	for i, step := range a.steps {
		for _, name := range partsOfRole[step.role] {
			for _, fragment := range parts[runmodel.FormatSpanID(step.span)][name] {
				for _, text := range notes.Split(fragment, -1) {
					assert.Contains(t, normalized(step.text), normalized(text))
					shown[i] += tokens.count(text)
				}
			}
		}
	}
	return shown
}

// normalized returns a text without what a view changes in it.
func normalized(text string) string {
	return strings.Join(strings.Fields(quoted(visible(text))), " ")
}

// failureRuns reads annotated runs of several agents: one JSON object a line. Each becomes a run with a span for every step, of which the decisive one is
// the fault.
func failureRuns(t *testing.T, name string) []annotated {
	t.Helper()
	file, err := os.Open(filepath.Join(realData(t), "failure-runs", name))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	var list []annotated
	for decoder := json.NewDecoder(file); decoder.More(); {
		var line struct {
			ID, Task string
			Steps    []struct{ Agent, Text string }
			Decisive int
		}
		require.NoError(t, decoder.Decode(&line))
		id := uuid.NewSHA1(uuid.Nil, []byte(line.ID))
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		spans := []runmodel.Span{{
			RunID: id, SpanID: 1, Version: 1, Name: "team", Kind: runmodel.KindWorkflow, Inputs: line.Task,
			StartTime: start, EndTime: start.Add(time.Duration(len(line.Steps)+1) * time.Second),
		}}
		a := annotated{run: &recorded{spans: map[uint64]runs.Span{}}, faults: []int{line.Decisive}}
		for i, step := range line.Steps {
			begin := start.Add(time.Duration(i) * time.Second)
			hash := uuid.NewSHA1(id, []byte{byte(i >> 8), byte(i)})
			spanID := binary.BigEndian.Uint64(hash[8:])
			spans = append(spans, runmodel.Span{
				RunID: id, SpanID: spanID, ParentSpanID: 1, Version: uint64(i + 2), Name: step.Agent, Kind: runmodel.KindAgent, AgentName: step.Agent,
				Outputs: step.Text, StartTime: begin, EndTime: begin.Add(time.Second),
			})
			a.steps = append(a.steps, transcriptStep{role: "agent", text: step.Text, span: spanID})
		}
		a.run.outline = runs.Outline{Run: runmodel.Totals(spans), Spans: runmodel.Fold(spans)}
		for i := range spans {
			span := runs.Span{Span: spans[i]}
			if spans[i].Inputs != "" {
				span.Inputs = &spans[i].Inputs
			}
			if spans[i].Outputs != "" {
				span.Outputs = &spans[i].Outputs
			}
			a.run.spans[spans[i].SpanID] = span
		}
		list = append(list, a)
	}
	return list
}

var opening = regexp.MustCompile(`^<(\d{6}) (\w+)(?: = [^>]*)?>`)

// notes are those within a fragment.
var notes = regexp.MustCompile(`<(?:= [^>]*|\d+ frames? left out)>`)

// textLine matches the line of a step in Markdown, up to its recorded text.
var textLine = regexp.MustCompile(`^(\d+)\. [^<]*(<.*)?$`)

// partsOfText parses a view of a run in Markdown as partsOf does.
func partsOfText(tb testing.TB, r *recorded, body []byte) map[string]map[string][]string {
	tb.Helper()
	spans := map[string]map[string][]string{}
	text := strings.ReplaceAll(string(body), "\n| ", "\r")
	for line := range strings.Lines(text) {
		if found := textLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); found != nil && found[2] != "" {
			n, err := strconv.Atoi(found[1])
			require.NoError(tb, err)
			spans[runmodel.FormatSpanID(r.outline.Spans[n-1].SpanID)] = fragmentsOf(tb, strings.ReplaceAll(found[2], "\r", "\n"))
		}
	}
	return spans
}

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
		require.NotContains(tb, said, mark)
		switch repeated, where, _ := strings.Cut(label, " = "); {
		case strings.HasSuffix(label, "bytes left out"):
			parts[name] = append(parts[name], said)
		case strings.HasPrefix(label, "= "), strings.HasSuffix(label, "left out"): // a note in a text
			parts[name][len(parts[name])-1] += "<" + label + ">" + said
		case where != "":
			require.Empty(tb, said)
			parts[repeated] = append(parts[repeated], "<= "+where+">")
		default:
			name = label
			parts[name] = append(parts[name], said)
		}
	}
	return parts
}

// TestSurvival prints the share of faulty steps that are visible, and checks it against the thresholds in docs/agent-view.md.
func TestSurvival(t *testing.T) {
	t.Parallel()
	tokens := newCounter()
	for _, set := range []struct {
		name string
		runs []annotated
		// atLeast is the share of faults that Markdown shows with 2,000 and 4,000 tokens.
		atLeast [2]float64
	}{
		{"tau-bench retail", annotatedRuns(t), [2]float64{.97, 1}},
		{"AG2", failureRuns(t, "ag2.jsonl"), [2]float64{.97, .97}},
		{"Magentic-One", failureRuns(t, "magentic-one.jsonl"), [2]float64{14. / 19, 18. / 19}}, //nolint:misspell // its name
	} {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			survival(t, set.runs, &counter{codec: tokens.codec, counts: map[string]int{}}, set.atLeast)
		})
	}
}

func survival(t *testing.T, all []annotated, tokens *counter, atLeast [2]float64) {
	t.Helper()
	faults := 0
	for i := range all {
		faults += len(all[i].faults)
	}
	budgets := []int{1000, 2000, 4000, 8000}
	table := fmt.Sprintf("| of %d faulty steps in %d runs, %% seen | 1k | 2k | 4k | 8k |\n| --- | --- | --- | --- | --- |\n", faults, len(all))
	measure := func(name string, show func(a *annotated, lengths []int, budget int) []int) []int {
		counts := make([]int, len(budgets))
		table += "| " + name
		for at, budget := range budgets {
			for i := range all {
				lengths := make([]int, len(all[i].steps))
				for j := range lengths {
					lengths[j] = tokens.count(all[i].steps[j].text)
				}
				counts[at] += survives(t, &all[i], tokens, show(&all[i], lengths, budget))
			}
			table += " | " + strconv.Itoa((counts[at]*100+faults/2)/faults)
		}
		table += " |\n"
		return counts
	}
	for _, s := range []struct {
		name string
		take strategy
	}{{"errors only", errorsOnly}, {"head", head}, {"tail", tail}, {"head and tail", headAndTail}, {"even split", evenSplit}} {
		measure(s.name, func(a *annotated, lengths []int, budget int) []int { return s.take(lengths, a.steps, budget) })
	}
	even := measure("even split at equal costs", func(a *annotated, lengths []int, budget int) []int {
		return evenSplitOfView(lengths, a.steps, budget)
	})
	view := func(a *annotated, budget int, format string) []byte {
		view, err := Build(a.run.outline, a.run.read, Options{Budget: budget, Format: format, Calls: calls{}})
		require.NoError(t, err)
		require.LessOrEqual(t, tokens.count(string(view.Body)), budget)
		return view.Body
	}
	measure("agent view, JSON", func(a *annotated, _ []int, budget int) []int {
		return inView(t, a, tokens, partsOf(t, view(a, budget, FormatJSON)))
	})
	ours := measure("agent view, Markdown", func(a *annotated, _ []int, budget int) []int {
		return inView(t, a, tokens, partsOfText(t, a.run, view(a, budget, FormatText)))
	})
	t.Log("\n" + table)
	for at, want := range atLeast {
		assert.GreaterOrEqual(t, float64(ours[at+1])/float64(faults), want, "%d tokens", budgets[at+1])
	}
	for at := range budgets {
		assert.GreaterOrEqual(t, ours[at], even[at], "%d tokens: an even split shows more", budgets[at])
	}
}
