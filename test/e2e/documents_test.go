package e2e

import (
	"os"
	"os/exec"
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

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/provider"
)

// TestPromptsDocument runs the commands of docs/prompts.md.
func TestPromptsDocument(t *testing.T) {
	t.Parallel()
	output := newProject(t).runDocument(t, "docs/prompts.md", nil, "prompts:read", "prompts:write", "runs:read")
	for _, want := range []string{
		"changed messages[0].content", "added variables.tone", "in a calm tone", "moved to 2 by document", "created to 1 by document",
	} {
		assert.Contains(t, output, want)
	}
}

// TestDatasetsDocument runs the commands of docs/datasets.md.
func TestDatasetsDocument(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.sendChat(t, "What is the capital of Spain?", "Madrid")
	output := p.runDocument(t, "docs/datasets.md", nil, "datasets:read", "datasets:write", "runs:read")
	for _, want := range []string{
		`{"added":2,"removed":0,"revision":1,"unchanged":0,"updated":0}`, "capital-fr\ncapital-it\nrevision 2: append, 3 items", `{"added":1,"removed":0,"changed":0}`,
		`{"selected":1,"added":1,"unchanged":0,"skipped":[]}` + "\n" + `{"revision":3,"added":1,"unchanged":0,"skipped":[]}`,
		`{"input":{"messages":[{"role":"system","content":"You know capitals."},{"role":"user","content":"What is the capital of Spain?"}],"tools":[{"type":"function",`,
		`"reference_output":{"role":"assistant","content":"Madrid"}}`,
		"created the dataset capitals\ncapitals: revision 1, 3 added,", `item      line 2: {"input":{"question":"What is the capital of Germany?"},`,
		"rejected  line 4, column population: ", "capitals: revision 2, 0 added, 2 updated, 0 removed, 0 unchanged, 1 rejected\nline,column,reason,value\n4,population,",
		`{"status":"succeeded","added":0,"updated":3,"unchanged":0,"rejected":0}`,
		`{"status":"succeeded","items_checked":5,"pairs_across_splits":1,"pairs_not_listed":0}`,
		`{"similarity":1,"a":"capital-fr","b":"france","splits":["test","train"]}`,
	} {
		assert.Contains(t, output, want)
	}
}

// TestPlaygroundDocument runs the commands of docs/playground.md.
func TestPlaygroundDocument(t *testing.T) {
	t.Parallel()
	server := provider.Start(t, provider.Options{})
	output := newProject(t).runDocument(t, "docs/playground.md", []string{"PROVIDER_URL=" + server.URL + "/v1", "PROVIDER_KEY=" + server.Key, "MODEL=text"}, "admin")
	for _, want := range []string{
		`{"reachable":true,"authenticated":true,"features":{"chat":true,"json_schema":true,"streaming":true,"tools":true}}`,
		"The capital of France is Paris.", "curl '" + server.URL + "/v1/chat/completions'",
	} {
		assert.Contains(t, output, want)
	}
}

// TestComparisonsDocument runs the commands of docs/comparisons.md.
func TestComparisonsDocument(t *testing.T) {
	t.Parallel()
	server := provider.Start(t, provider.Options{})
	environment := []string{"PROVIDER_URL=" + server.URL + "/v1", "PROVIDER_KEY=" + server.Key, "MODEL_A=echo", "MODEL_B=text"}
	output := newProject(t).runDocument(t, "docs/comparisons.md", environment, "admin", "datasets:read", "datasets:write", "evals:read", "evals:write")
	for _, want := range []string{
		`{"revision":1,"added":2}`, `{"items":2,"calls":12,"cost_low_usd":null,"cost_high_usd":null,"incompatible_items":0}`,
		"Whether B differs from A on names it cannot be told: +50.0 points", "2 items: 2 scored, 0 without an output",
	} {
		assert.Contains(t, output, want)
	}
}

// TestCausesDocument runs the commands of docs/causes.md over an agent that refuses what it is asked at a high temperature.
func TestCausesDocument(t *testing.T) {
	t.Parallel()
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if strings.Contains(string(q.Body), `"temperature":1.2`) {
			return &provider.Reply{Text: refusal}
		}
		return &provider.Reply{Text: cancelled}
	}})
	p := newProject(t)
	p.create(t, "/v1/providers", map[string]any{"name": "Models", "kind": "openai", "base_url": server.URL + "/v1", "api_key": server.Key})
	p.sendOrders(t, 12)
	output := p.runDocument(t, "docs/causes.md", nil, "runs:read", "runs:write", "replays:read", "replays:write", "datasets:read", "datasets:write", "prompts:read", "prompts:write")
	for _, want := range []string{
		"The parameter temperature is 1.2 instead of 0.2: 12 of 12 failed runs, 0 of 12 good ones\n",
		`{"matched_runs":12,"calls":88,"cost_high_usd":null,`,
		"The edit repairs failed runs: with the edit 24 of 24 attempts end well, unedited 0 of 24",
		"Of good runs with the edit 20 of 20 attempts end well, unedited 20 of 20",
		`{"items":12,"command":"looptrace `,
	} {
		assert.Contains(t, output, want)
	}
}

const refusal, cancelled = "I cannot do that.", "Your order A17 is cancelled."

// sendOrders sends as many failed runs of an agent as good ones. The failed ones have another temperature. It waits until all are stored.
func (p *project) sendOrders(t *testing.T, count int) {
	t.Helper()
	said := func(role, text string) []any {
		return []any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}}
	}
	var runs, spans []any
	var ids []string
	for i := range 2 * count {
		fails, id, start := i%2 == 0, uuid.NewString(), time.Now().UTC().Add(-time.Hour+time.Duration(i)*time.Minute)
		question, answer, temperature := "Please cancel order A"+strconv.Itoa(i)+".", cancelled, .2
		run := map[string]any{
			"run_id": id, "name": "orders", "kind": "agent", "start_time": start, "end_time": start.Add(time.Second), "inputs": question,
			"attributes": map[string]any{"gen_ai.agent.name": "orders"},
		}
		if fails {
			answer, temperature = refusal, 1.2
			run["error"] = map[string]any{"type": "Refused", "message": "the order is not cancelled"}
		}
		run["outputs"] = answer
		ids, runs = append(ids, id), append(runs, run)
		spans = append(spans, map[string]any{
			"run_id": id, "span_id": "00000000000000c1", "name": "chat model-a", "kind": "llm", "provider": "openai", "model": "model-a",
			"start_time": start, "end_time": start.Add(time.Second),
			"attributes": map[string]any{
				"gen_ai.system_instructions": []any{map[string]any{"type": "text", "content": "You help customers with their orders."}},
				"gen_ai.request.temperature": temperature, "gen_ai.input.messages": said("user", question), "gen_ai.output.messages": said("assistant", answer),
			},
		})
	}
	p.post(t, "", len(runs), len(spans), map[string]any{"runs": runs, "spans": spans})
	for _, id := range ids {
		p.awaitRun(t, id, ofSpans(2))
	}
}

// TestEvaluationDocument runs the commands of docs/evaluation.md with the SDK.
func TestEvaluationDocument(t *testing.T) {
	t.Parallel()
	root, err := checkout.Root()
	require.NoError(t, err)
	bin := filepath.Join(root, "_build", "sdk-venv", "bin")
	require.FileExists(t, filepath.Join(bin, "python"), "run make _build/sdk-venv/.installed")
	output := newProject(t).runDocument(t, "docs/evaluation.md", []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "COMMIT=abc", "BRANCH=topic", "GITHUB_SHA=abc", "GITHUB_REF_NAME=topic",
	}, "ingest:write", "runs:read", "datasets:read", "datasets:write", "evals:read", "evals:write")
	for _, want := range []string{
		"capitals: capitals revision 1, 2 repeats, branch topic, commit abc\nscore    mean   95 % interval   pass rate  items\ncorrect  0.667  0.208 to 0.939  67 %       3\n" +
			"3 items: 3 scored, 0 target failed, 0 judge failed, 0 skipped, 0 pending\nes, repeat 1, did not pass: correct",
		"\ninconclusive -0.33", "support-agent: support-agent revision 1, 2 repeats, branch topic, commit abc", "offline: 3 items ran as plain tests",
		"candidate  support-agent topic abc  ", "\nstatus 3\n",
		`{"added":1,"replaced":0,"unchanged":0}`, `{"missing_total":0}`, `{"status":"succeeded","scored":1}`,
	} {
		assert.Contains(t, output, want)
	}
}

// sendChat sends a run with a model call that has tools, and waits until it is stored.
func (p *project) sendChat(t *testing.T, question, answer string) (runID string) {
	t.Helper()
	id, start := uuid.NewString(), time.Now().UTC().Add(-time.Minute)
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
	said := func(role, text string) []any {
		return []any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}}
	}
	call := map[string]any{
		"run_id": id, "span_id": "00000000000000c1", "name": "chat gpt-4o-mini", "kind": "llm", "provider": "openai", "model": "gpt-4o-mini",
		"start_time": at(0), "end_time": at(2 * time.Second),
		"attributes": map[string]any{
			"gen_ai.system_instructions": []any{map[string]any{"type": "text", "content": "You know capitals."}},
			"gen_ai.input.messages":      said("user", question), "gen_ai.output.messages": said("assistant", answer),
			"gen_ai.output.type":      "json",
			"gen_ai.tool.definitions": []any{map[string]any{"type": "function", "name": "look_up", "description": "Looks up.", "parameters": map[string]any{"type": "object"}}},
		},
	}
	one := map[string]any{
		"run_id": id, "name": "answer a question", "kind": "agent", "start_time": at(0), "end_time": at(2 * time.Second),
		"inputs": map[string]any{"question": question}, "outputs": answer, "metadata": map[string]any{"tier": "free"},
	}
	p.post(t, "", 1, 1, map[string]any{"runs": []any{one}, "spans": []any{call}})
	p.awaitRun(t, id, ofSpans(2))
	return id
}

// runDocument runs the commands of a document in their order, as its reader does, and returns what they print. environment has what the
// document leaves to the reader.
func (p *project) runDocument(t *testing.T, document string, environment []string, scopes ...string) string {
	t.Helper()
	root, err := checkout.Root()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, document))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(blocks), 2)
	dir := t.TempDir()
	export, err := os.ReadFile(filepath.Join(root, "controlplane/prompts/importing/testdata/langfuse-prompts.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.json"), export, 0o600))
	key, err := p.Key(t.Context(), "document", scopes...)
	require.NoError(t, err)
	script := []string{"set -euo pipefail", "looptrace() { " + filepath.Join(root, "_build/looptrace") + ` "$@" || { local s=$?; [ $s -eq 1 ] || return $s; }; }`} // 1: something was rejected
	for _, block := range blocks {
		if strings.Contains(block[1], "export LOOPTRACE_ENDPOINT") {
			continue
		}
		script = append(script, block[1])
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(script, "\n"))
	command.Dir = dir
	command.Env = append(slices.Concat(os.Environ(), environment), "LOOPTRACE_ENDPOINT="+p.web(), "LOOPTRACE_API_KEY="+key, "LOOPTRACE_PROJECT="+p.ProjectID)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
