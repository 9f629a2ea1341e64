package upgrade

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/agent"
)

// writePrompts writes a prompt with versions and aliases, and imports others.
func (w *writer) writePrompts() {
	version := func(text string) object {
		return object{
			"messages":     []object{{"role": "system", "content": text}, {"role": "user", "content": "{{question}}"}},
			"model_config": object{"model": goodModel, "temperature": 0.2, "max_output_tokens": 50},
			"note":         "says " + text,
		}
	}
	w.prompt = w.key.create("/v1/prompts", object{"project_id": w.project, "name": "support/answer", "description": "Answers", "tags": []string{"support"}, "version": version("Be brief.")})
	path := "/v1/prompts/" + w.prompt
	w.owner.do(http.MethodPatch, path, object{"description": "Answers customers", "tags": []string{"support", "live"}})
	w.owner.do(http.MethodPost, path+"/versions", version("Be brief and kind."))
	w.owner.do(http.MethodPost, path+"/versions", version("Be kind. Antworte auf Deutsch, 日本語も."))
	move := func(alias string, version int) {
		w.owner.do(http.MethodPost, path+"/aliases", object{"alias": alias, "version": version})
	}
	move("production", 1)
	move("production", 2)
	move("staging", 3)
	move("old", 1)
	w.owner.do(http.MethodDelete, path+"/aliases/old", nil)
	w.owner.do(http.MethodPatch, path+"/aliases/production", object{"protected": true})
	w.owner.do(http.MethodPost, path+"/versions/2/render", object{"variables": object{"question": "Why?"}})
	w.owner.do(http.MethodPost, "/v1/prompts/_actions/render", object{"project_id": w.project, "version": version("Draft"), "variables": object{"question": "Why?"}})
	w.owner.do(http.MethodPost, "/v1/prompts/_actions/import", object{"project_id": w.project, "content": `[
		{"name": "triage", "type": "chat", "version": 1, "prompt": [{"role": "system", "content": "Old {{a}}"}], "labels": [], "tags": ["imported"], "config": {"model": "gpt-4o"}},
		{"name": "triage", "type": "chat", "version": 2, "prompt": [{"role": "system", "content": "New {{a}}"}], "labels": ["production"], "tags": ["imported"], "config": {}}
	]`})
	old := w.owner.create("/v1/prompts", object{"project_id": w.project, "name": "old", "version": version("Old")})
	w.owner.do(http.MethodDelete, "/v1/prompts/"+old, nil)
	w.reads("/v1/prompts?project_id="+w.project, path, path+"/versions", path+"/versions/1", path+"/versions/3", path+"/aliases", path+"/aliases/production",
		path+"/aliases/production/history", path+"/aliases/old/history", path+"/usage?start_after=2020-01-01T00:00:00Z&start_before="+moment(24*time.Hour))
	for _, name := range []string{"support/answer&alias=production", "support/answer&alias=staging", "support/answer", "triage&alias=production"} {
		w.reads("/v1/prompts/resolve?project_id=" + w.project + "&name=" + name)
	}
}

// writeProviders connects the provider of models, and calls it by hand.
func (w *writer) writeProviders() {
	p := w.record.Provider
	connect := func(name, url string) string {
		return w.owner.create("/v1/providers", object{
			"project_id": w.project, "name": name, "kind": "openai", "base_url": url, "api_key": p.Key, "headers": object{p.Header: p.Value},
			"monthly_budget_usd": 1000, "allow_unpriced": true,
		})
	}
	w.connection = connect("Scripted", w.models.URL+"/v1")
	w.record.Provider.ConnectionID = w.connection
	w.owner.do(http.MethodPatch, "/v1/providers/"+w.connection, object{"max_concurrency": 8, "name": "Scripted models"})
	w.owner.do(http.MethodPost, "/v1/providers/"+w.connection+"/_actions/test", object{"model": goodModel})
	w.owner.do(http.MethodDelete, "/v1/providers/"+connect("Old", w.models.URL+"/v1"), nil)
	for _, model := range []string{goodModel, badModel, slowModel, judgeA, judgeB, agent.Model} {
		w.owner.do(http.MethodPost, "/v1/projects/"+w.project+"/prices", object{"model": model, "input": 100, "output": 1000})
	}
	w.reads("/v1/providers?project_id="+w.project, "/v1/providers/"+w.connection)

	ask := object{
		"project_id": w.project, "provider_id": w.connection, "prompt": object{"name": "support/answer", "alias": "production"},
		"variables": object{"question": "Say number 7."}, "thread_id": "playground 1",
	}
	w.owner.do(http.MethodPost, "/v1/playground/completions/_actions/preview", ask)
	run, _ := w.owner.post("/v1/playground/completions", ask)["run_id"].(string)
	w.awaitRun(run)
	w.reads("/v1/runs/"+run, "/v1/runs/"+run+"/spans?full=true")
	w.owner.do(http.MethodPost, "/v1/playground/_actions/open", object{"run_id": run})
	content := object{"messages": []object{{"role": "user", "content": "Say {{what}}."}}, "variables": object{"what": "hello"}, "tool_answers": object{"look_up": object{"content": "42"}}}
	scenario := w.owner.create("/v1/playground/scenarios", object{"project_id": w.project, "name": "greeting", "content": content})
	w.owner.do(http.MethodPatch, "/v1/playground/scenarios/"+scenario, object{"name": "greetings"})
	w.owner.do(http.MethodDelete, "/v1/playground/scenarios/"+w.owner.create("/v1/playground/scenarios", object{"project_id": w.project, "name": "old", "content": content}), nil)
	w.reads("/v1/playground/scenarios?project_id="+w.project, "/v1/playground/scenarios/"+scenario)
}

// items is how many items of the dataset are evaluated.
const items = 8

// writeDatasets writes a dataset by hand, from files and from runs.
func (w *writer) writeDatasets() {
	w.dataset = w.key.also("Idempotency-Key", "numbers").create("/v1/datasets", object{"project_id": w.project, "name": "numbers", "schema": object{"input": object{"type": "object", "required": []string{"question"}}}})
	path := "/v1/datasets/" + w.dataset
	w.owner.do(http.MethodPatch, path, object{"description": "Questions for a number"})
	list := make([]object, items)
	for i := range list {
		list[i] = object{
			"key": fmt.Sprintf("q%d", i), "input": object{"question": fmt.Sprintf("Say number %d.", i)}, "reference_output": strconv.Itoa(i), "metadata": object{"even": i%2 == 0},
			"split": []string{"train", "test"}[i%2], "tags": []string{"hand"},
		}
	}
	w.owner.do(http.MethodPost, path+"/items", object{"items": list, "mode": "append", "note": "first"})
	first := at(w.t, w.owner.get(path+"/items"), "data", 0, "id").(string)
	w.owner.do(http.MethodPatch, path+"/items/"+first, object{"metadata": object{"even": true, "zero": true}})
	extra := w.owner.create(path+"/items", object{"key": "extra", "input": object{"question": "Say nothing."}})
	w.owner.do(http.MethodDelete, path+"/items/"+extra, nil)
	w.reads("/v1/datasets?project_id="+w.project, path, path+"/items?limit=500", path+"/items?revision=1", path+"/items/"+first, path+"/revisions", path+"/export?format=jsonl")
	w.importFiles()
	w.fromRuns()
	w.owner.do(http.MethodDelete, "/v1/datasets/"+w.owner.create("/v1/datasets", object{"project_id": w.project, "name": "old"}), nil)
}

// importFiles imports files into a dataset, and checks it for near-duplicates.
func (w *writer) importFiles() {
	dataset := w.owner.create("/v1/datasets", object{"project_id": w.project, "name": "faq"})
	path := "/v1/datasets/" + dataset
	upload := func(name, content string) {
		const binary = "application/octet-stream"
		preview := w.owner.send(http.MethodPost, path+"/imports/_actions/preview?file_name="+name, binary, []byte(content))
		require.Equal(w.t, http.StatusOK, preview.Status, "%s", preview.Body)
		started := w.owner.send(http.MethodPost, path+"/imports?on_error=skip&file_name="+name, binary, []byte(content))
		require.Equal(w.t, http.StatusCreated, started.Status, "%s", started.Body)
		id, _ := decode(w.t, started.Body)["id"].(string)
		w.awaitStatus("/v1/imports/"+id, "succeeded", "")
		w.reads("/v1/imports/"+id, "/v1/imports/"+id+"/errors")
	}
	upload("faq.csv", "question,answer,split\nHow do I reset the password of my account in the shop?,By mail,train\nHow do I reset the password of my account in the web shop?,By mail,test\nWhat is RAG?,An architecture,test\n")
	upload("more.jsonl", `{"input": {"question": "Who are you?"}, "reference_output": "An agent"}`+"\nno JSON\n")
	w.owner.do(http.MethodPost, path+"/near-duplicates/_actions/check", object{"threshold": 0.6})
	w.await("near-duplicates are found", func() bool {
		found := w.owner.get(path + "/near-duplicates")
		return at(w.t, found, "check", "status") == "succeeded" && len(at(w.t, found, "data").([]any)) == 1
	})
	w.reads(path, path+"/items", path+"/imports", path+"/near-duplicates", path+"/revisions", path+"/export?format=csv")
}

// fromRuns makes items of runs.
func (w *writer) fromRuns() {
	dataset := w.owner.create("/v1/datasets", object{"project_id": w.project, "name": "from runs"})
	w.owner.do(http.MethodPost, "/v1/runs/_actions/add-to-dataset", object{"dataset_id": dataset, "run_ids": []string{w.runs["native"], w.runs["agent"]}, "split": "seen", "tags": []string{"runs"}})
	w.reads("/v1/datasets/"+dataset, "/v1/datasets/"+dataset+"/items", "/v1/datasets?project_id="+w.project+"&source_run_id="+w.runs["native"])
}

// judge returns a judge with a model.
func (w *writer) judge(model string, more object) object {
	judge := object{"name": model, "provider_id": w.connection, "model_config": object{"model": model, "max_output_tokens": 100}}
	for member, value := range more {
		judge[member] = value
	}
	return judge
}

// panel returns a panel of two judges.
func (w *writer) panel() object {
	rubric := object{"rubric": "Is it right?", "scale": object{"type": "binary"}}
	return object{"name": "right", "judges": []object{w.judge(judgeA, rubric), w.judge(judgeB, rubric)}, "aggregate": "majority"}
}

func grader() object {
	return object{"name": "same", "type": "string_check", "operation": "eq", "input": "{{sample.output_text}}", "reference": "{{item.reference_output}}"}
}

// side is a configuration that answers.
func (w *writer) side(model string) object {
	return object{"provider_id": w.connection, "messages": []object{{"role": "user", "content": "{{question}}"}}, "model_config": object{"model": model, "max_output_tokens": 20}}
}

// writeComparisons compares two configurations.
func (w *writer) writeComparisons() {
	preference := object{"name": "better", "kind": "preference", "judges": []object{w.judge(judgeA, object{"rubric": "Which one is right?"})}}
	body := object{
		"project_id": w.project, "name": "good and bad", "dataset_id": w.dataset, "a": w.side(badModel), "b": w.side(goodModel), "repeats": 2,
		"graders": []object{grader()}, "panels": []object{preference}, "primary_metric": "same", "max_cost_usd": 100, "seed": 7,
	}
	w.owner.do(http.MethodPost, "/v1/comparisons/_actions/estimate", body)
	path := w.evaluate("/v1/comparisons", body)
	w.owner.do(http.MethodPatch, path, object{"name": "bad and good"})
	w.owner.do(http.MethodPost, "/v1/graders/_actions/grade", object{"project_id": w.project, "graders": []object{grader()}, "sample": object{"output": "1", "reference_output": "1"}})
	again := w.owner.create(path+"/_actions/rerun", nil)
	w.awaitStatus("/v1/comparisons/"+again, "succeeded", "summary")
	w.owner.do(http.MethodDelete, "/v1/comparisons/"+again, nil)

	slow := "/v1/comparisons/" + w.owner.create("/v1/comparisons", object{
		"project_id": w.project, "name": "slow", "dataset_id": w.dataset, "split": "test", "a": w.side(slowModel), "b": w.side(goodModel), "graders": []object{grader()},
	})
	w.cancelAndResume(slow)
	w.readEvaluation(path)
	w.readEvaluation(slow)
	w.reads("/v1/comparisons?project_id=" + w.project)
}

// evaluate starts a comparison or eval-run, and returns its path once it has succeeded.
func (w *writer) evaluate(path string, body object) string {
	path += "/" + w.owner.create(path, body)
	w.awaitStatus(path, "succeeded", "summary")
	return path
}

// cancelAndResume cancels what waits for the slow model, and lets it go on.
func (w *writer) cancelAndResume(path string) {
	w.awaitSlow()
	w.owner.do(http.MethodPost, path+"/_actions/cancel", nil)
	w.awaitStatus(path, "cancelled", "summary")
	w.slow.open()
	w.owner.do(http.MethodPost, path+"/_actions/resume", object{"retry_failed": true})
	w.awaitStatus(path, "succeeded", "summary")
	w.slow.shut()
}

// awaitSlow waits until the slow model is asked.
func (w *writer) awaitSlow() {
	w.await("the slow model is asked", func() bool {
		for _, q := range w.models.Requests() {
			if q.Model == slowModel && q.Ended.IsZero() && !q.Gone {
				return true
			}
		}
		return false
	})
}

// readEvaluation notes to read a comparison or eval-run with its items.
func (w *writer) readEvaluation(path string) {
	item, _ := at(w.t, w.owner.get(path+"/items"), "data", 0, "item_id").(string)
	w.owner.do(http.MethodGet, path+"/export", nil) // what items have
	w.reads(path, path+"/items", path+"/items/"+item, path+"/report")
}

// writeEvalRuns judges outputs with a panel, labels one, takes results from outside, and checks a gate.
func (w *writer) writeEvalRuns() {
	body := func(name string, target object) object {
		return object{"project_id": w.project, "name": name, "dataset_id": w.dataset, "target": target, "graders": []object{grader()}, "panels": []object{w.panel()}, "max_cost_usd": 100, "seed": 7}
	}
	judged := body("judged", object{"config": w.side(badModel)})
	w.owner.do(http.MethodPost, "/v1/eval-runs/_actions/estimate", judged)
	path := w.evaluate("/v1/eval-runs", judged)
	w.owner.do(http.MethodPatch, path, object{"name": "judged by two"})
	w.label(path)
	baseline := w.evaluate("/v1/eval-runs", body("reference outputs", object{"outputs": "reference"}))
	external := w.external()
	w.owner.do(http.MethodPost, "/v1/gates/_actions/check", object{"candidate": idOf(external), "baseline": idOf(baseline), "metric": "same", "margin": 0.1})
	again := w.owner.create(path+"/_actions/rerun", nil)
	w.awaitStatus("/v1/eval-runs/"+again, "succeeded", "summary")
	w.owner.do(http.MethodDelete, "/v1/eval-runs/"+again, nil)
	slow := body("slow", object{"config": w.side(slowModel)})
	slow["split"] = "test"
	slowPath := "/v1/eval-runs/" + w.owner.create("/v1/eval-runs", slow)
	w.cancelAndResume(slowPath)
	w.owner.do(http.MethodPost, "/v1/judges/_actions/test", object{
		"project_id": w.project, "judge": w.judge(judgeB, object{"ready_made": "helpfulness"}), "samples": []object{{"input": "Say number 5.", "output": "5"}},
	})
	for _, one := range []string{path, baseline, external, slowPath, w.stopJudge()} {
		w.readEvaluation(one)
	}
	w.reads("/v1/eval-runs?project_id=" + w.project)
}

// stopJudge judges with a model that the provider does not have, until the judge is stopped.
func (w *writer) stopJudge() (path string) {
	scale := object{"rubric": "Is it right?", "scale": object{"type": "binary"}, "repeats": 2}
	return w.evaluate("/v1/eval-runs", object{
		"project_id": w.project, "name": "a judge is stopped", "dataset_id": w.dataset, "target": object{"outputs": "reference"},
		"panels": []object{{"name": "right", "judges": []object{w.judge(judgeA, scale), w.judge("error-404", scale)}}},
	})
}

func idOf(path string) string { return path[len("/v1/eval-runs/"):] }

// label labels outputs as a person.
func (w *writer) label(path string) {
	list := at(w.t, w.owner.get(path+"/items"), "data").([]any)
	label := func(i int) string { return path + "/items/" + at(w.t, list[i], "item_id").(string) + "/label" }
	for i := range 3 {
		w.owner.do(http.MethodPut, label(i), object{"panel": "right", "repeat": 1, "value": i > 0, "note": "looked it up"})
	}
	w.owner.do(http.MethodDelete, label(2)+"?panel=right&repeat=1", nil)
	w.await("the summary has the labels", func() bool {
		labels, _ := at(w.t, w.key.get(path), "summary", "panels", 0, "labels").(object)
		return labels["outputs"] == 2.0
	})
}

// external sends results from outside, and cancels another eval-run of this kind.
func (w *writer) external() (path string) {
	body := object{"project_id": w.project, "name": "from outside", "dataset_id": w.dataset, "target": object{"external": true}, "graders": []object{grader()}}
	path = "/v1/eval-runs/" + w.owner.create("/v1/eval-runs", body)
	var results []object
	for i, item := range at(w.t, w.owner.get("/v1/datasets/"+w.dataset+"/items"), "data").([]any) {
		results = append(results, object{"item_id": at(w.t, item, "id"), "repeat": 1, "output": strconv.Itoa(i), "cost_usd": 0.01, "duration_ms": 120, "model": "elsewhere"})
	}
	results[0] = object{"item_id": results[0]["item_id"], "repeat": 1, "error": object{"code": "timeout", "detail": "no answer"}}
	w.key.do(http.MethodPost, path+"/results", object{"items": results})
	w.key.do(http.MethodPost, path+"/_actions/finish", nil)
	w.awaitStatus(path, "succeeded", "summary")
	body["name"] = "given up"
	cancelled := "/v1/eval-runs/" + w.owner.create("/v1/eval-runs", body)
	w.owner.do(http.MethodPost, cancelled+"/_actions/cancel", nil)
	w.awaitStatus(cancelled, "cancelled", "summary")
	w.reads(cancelled)
	return path
}

// writeRule makes a rule and a run for it, which it takes half a minute later.
func (w *writer) writeRule() {
	body := object{
		"project_id": w.project, "name": "Number", "run_filter": "environment=rules", "sample_rate": 1, "max_cost_usd_per_day": 100,
		"graders": []object{{"name": "short", "type": "string_check", "operation": "like", "reference": "number"}}, "panels": []object{w.panel()},
	}
	w.owner.do(http.MethodPost, "/v1/eval-rules/_actions/preview", body)
	w.rule = "/v1/eval-rules/" + w.owner.create("/v1/eval-rules", body)
	w.owner.do(http.MethodPatch, w.rule, object{"name": "Numbers"})
	w.owner.do(http.MethodPost, w.rule+"/_actions/pause", nil)
	w.owner.do(http.MethodPost, w.rule+"/_actions/resume", object{"catch_up": true})
	body["name"] = "Old"
	w.owner.do(http.MethodDelete, "/v1/eval-rules/"+w.owner.create("/v1/eval-rules", body), nil)
	for i := 1; i <= 3; i++ {
		w.sendNative(fmt.Sprintf("rule %d", i), object{"name": "ruled", "environment": "rules", "start_time": moment(0), "end_time": moment(50 * time.Millisecond), "inputs": "?", "outputs": fmt.Sprintf("It is number %d.", i)})
	}
}

// awaitRule waits until the rule has scored its runs, and pauses it: a folder that is opened later has nothing to do.
func (w *writer) awaitRule() {
	w.await("the rule has scored its runs", func() bool {
		counts := at(w.t, w.key.get(w.rule), "today")
		return at(w.t, counts, "scored") == 2.0 && at(w.t, counts, "partly_scored") == 1.0 // of the third, the judges are tied
	})
	w.owner.do(http.MethodPost, w.rule+"/_actions/pause", nil)
	w.reads("/v1/eval-rules?project_id="+w.project, w.rule, w.rule+"/runs", "/v1/runs/"+w.runs["rule 1"], "/v1/runs/"+w.runs["rule 3"]+"/scores")
	// Until now: what is called later is not in it.
	times := "&start=" + moment(-24*time.Hour) + "&end=" + moment(0)
	for _, group := range []string{"provider", "feature", "caller", "model"} {
		w.reads("/v1/spending?project_id=" + w.project + "&group_by=" + group + times)
	}
}

// writeReplays replays the agent with another prompt.
func (w *writer) writeReplays() {
	body := object{
		"run_id": w.runs["agent"], "project_id": w.project, "name": "asks first", "provider_id": w.connection, "max_cost_usd": 100,
		"edits": []object{{"target": "all", "set": object{"system_prompt": "Ask before you look up anything."}}},
	}
	plan := object{"plan": true}
	for member, value := range body {
		plan[member] = value
	}
	w.owner.do(http.MethodPost, "/v1/replays", plan)
	path := "/v1/replays/" + w.owner.create("/v1/replays", body)
	verdict := w.awaitStatus(path, "succeeded", "verdict")
	w.owner.do(http.MethodPatch, path, object{"name": "asks before"})
	attempt, _ := at(w.t, verdict, "attempts", 0, "run_id").(string)
	w.awaitRun(attempt)
	w.reads("/v1/replays?project_id="+w.project, path, "/v1/runs/"+attempt, "/v1/runs/"+attempt+"/spans?full=true")

	body["name"] = "old"
	body["controls"], body["treatments"], body["executor"] = 1, 1, "cassette"
	old := "/v1/replays/" + w.owner.create("/v1/replays", body)
	w.await("the replay has ended", func() bool { return w.owner.get(old)["verdict"] != nil })
	w.owner.do(http.MethodDelete, old, nil)
	w.extendReplay()
	w.writeBatches()
	w.writeDiagnoses()
}

// writeDiagnoses asks a model about a group of failed runs.
func (w *writer) writeDiagnoses() {
	failed, _ := at(w.t, w.owner.get("/v1/runs?outcome=failed&limit=1&project_id="+w.project), "data", 0, "failure", "fingerprint").(string)
	body := object{"project_id": w.project, "fingerprint": failed, "provider_id": w.connection, "model": "text", "max_cost_usd": 100, "allow_unpriced": true}
	plan := object{"plan": true}
	for member, value := range body {
		plan[member] = value
	}
	w.owner.do(http.MethodPost, "/v1/diagnoses", plan)
	path := "/v1/diagnoses/" + w.owner.create("/v1/diagnoses", body)
	w.awaitStatus(path, "succeeded", "result")
	w.reads("/v1/diagnoses?project_id="+w.project, path)
	old := "/v1/diagnoses/" + w.owner.create("/v1/diagnoses", body)
	w.owner.do(http.MethodPost, old+"/_actions/cancel", nil)
	w.await("the diagnosis has ended", func() bool { return w.owner.get(old)["finished_at"] != nil })
	w.owner.do(http.MethodDelete, old, nil)
}

// writeBatches replays runs with the same edit.
func (w *writer) writeBatches() {
	body := object{
		"project_id": w.project, "name": "asks first", "provider_id": w.connection, "max_cost_usd": 100, "run_ids": []any{w.runs["agent"]},
		"edits": []object{{"target": "all", "set": object{"system_prompt": "Ask before you look up anything."}}},
	}
	plan := object{"plan": true}
	for member, value := range body {
		plan[member] = value
	}
	w.owner.do(http.MethodPost, "/v1/replay-batches", plan)
	path := "/v1/replay-batches/" + w.owner.create("/v1/replay-batches", body)
	w.awaitStatus(path, "succeeded", "result")
	w.owner.do(http.MethodPatch, path, object{"name": "asks before"})
	w.owner.do(http.MethodPost, path+"/_actions/extend", object{"treatments": 3})
	w.awaitStatus(path, "succeeded", "result")
	w.reads("/v1/replay-batches?project_id="+w.project, path, path+"/runs")
	old := "/v1/replay-batches/" + w.owner.create("/v1/replay-batches", body)
	w.owner.do(http.MethodPost, old+"/_actions/cancel", nil)
	w.await("the batch has a result", func() bool { return w.owner.get(old)["result"] != nil })
	w.owner.do(http.MethodDelete, old, nil)
}

// extendReplay cancels a replay with a slow model, and extends it.
func (w *writer) extendReplay() {
	path := "/v1/replays/" + w.owner.create("/v1/replays", object{
		"run_id": w.runs["protobuf"], "project_id": w.project, "name": "slow", "provider_id": w.connection, "controls": 2, "treatments": 2, "allow_unpriced": true,
		"edits": []object{{"target": "all", "set": object{"model": slowModel}}},
	})
	w.awaitSlow()
	w.owner.do(http.MethodPost, path+"/_actions/cancel", nil)
	w.awaitStatus(path, "cancelled", "")
	w.slow.open()
	w.owner.do(http.MethodPost, path+"/_actions/extend", object{"treatments": 3})
	w.awaitStatus(path, "succeeded", "verdict")
	w.reads(path)
}
