package findings

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Gate says how a dataset keeps a failure repaired: an eval-run of each change, and a gate between it and the one before.
type Gate struct {
	// Name is that of the eval-runs, Metric the score of the grader.
	Name, Metric string
	Grader       json.RawMessage
	// EvalRun is the body of POST /v1/eval-runs. GateCheck is that of POST /v1/gates/_actions/check without the eval-runs.
	EvalRun, GateCheck json.RawMessage
	// Python and Command do the same with the SDK and the program looptrace.
	Python, Command string
}

// gateOf returns nil if nothing says which answers are good, and for a dataset that does not exist yet.
func gateOf(f *Finding, dataset *PromotedDataset) (*Gate, error) {
	if len(f.Outcome) == 0 || dataset.ID == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	var grader struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(f.Outcome, &grader); err != nil {
		return nil, fmt.Errorf("read the grader of finding %s: %w", f.ID, err)
	}
	g := &Gate{Name: dataset.Name, Metric: grader.Name, Grader: f.Outcome}
	var err error
	if g.EvalRun, err = json.Marshal(map[string]any{
		"project_id": f.ProjectID, "name": g.Name, "dataset_id": *dataset.ID, "target": map[string]bool{"external": true}, "graders": []json.RawMessage{f.Outcome},
	}); err != nil {
		return nil, fmt.Errorf("encode an eval-run: %w", err)
	}
	if g.GateCheck, err = json.Marshal(map[string]string{"metric": g.Metric}); err != nil {
		return nil, fmt.Errorf("encode a gate: %w", err)
	}
	g.Python = fmt.Sprintf("import json, looptrace\n\nlooptrace.evaluate(%s, task, graders=[json.loads(%s)], name=%s)\n",
		literal(g.Name), literal(string(f.Outcome)), literal(g.Name))
	g.Command = fmt.Sprintf("looptrace gate --name %s --metric %s", quoted(g.Name), quoted(g.Metric))
	return g, nil
}

// literal writes a text as JSON does, which Python reads, too.
func literal(text string) string {
	written, _ := json.Marshal(text) // texts always encode
	return string(written)
}

// quoted writes a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
