package samples

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
)

// Evaluation is a dataset with what two versions of an agent answered, and the graders of the answers.
type Evaluation struct {
	Name, Description string
	// EvalRun is the name of both eval-runs.
	EvalRun string `json:"eval_run"`
	Graders []json.RawMessage
	A, B    Version
	Items   []EvaluatedItem
}

// Version is what is typical of a version of the agent.
type Version struct {
	Release, Commit string
	Seconds         float64
	// Tokens are input and output.
	Tokens  [2]float64
	CostUSD float64 `json:"cost_usd"`
}

// EvaluatedItem is an item with the answers of both versions.
type EvaluatedItem struct {
	// Run is the case that it was taken from; empty for one that was written by hand. Version B made the run.
	Run                    string
	Key                    string
	Input, ReferenceOutput json.RawMessage
	Tags                   []string
	A, B                   Answer
	// SourceRunID is the run of the case.
	SourceRunID *uuid.UUID
}

// Answer is an output, or why there is none.
type Answer struct {
	Output json.RawMessage
	Error  *struct{ Code, Detail string }
	// RunID is the run that made it, if there is one.
	RunID *uuid.UUID `json:"-"`
}

// UnmarshalJSON reads an item.
func (i *EvaluatedItem) UnmarshalJSON(text []byte) error {
	var item struct {
		Run, Key        string
		Input           json.RawMessage
		ReferenceOutput json.RawMessage `json:"reference_output"`
		Tags            []string
		A, B            Answer
	}
	if err := strict(text, &item); err != nil {
		return err
	}
	*i = EvaluatedItem{Run: item.Run, Key: item.Key, Input: item.Input, ReferenceOutput: item.ReferenceOutput, Tags: item.Tags, A: item.A, B: item.B}
	return nil
}

// link gives the items that name a case the inputs of its run, and version B its outputs.
func (e *Evaluation) link(cases map[string]recorded) error {
	for i := range e.Items {
		item := &e.Items[i]
		if item.Run == "" {
			continue
		}
		run, ok := cases[item.Run]
		if !ok {
			return fmt.Errorf("the evaluation has the case %q, which no run has", item.Run)
		}
		item.Key, item.Input, item.SourceRunID = item.Run, run.inputs, &run.id
		item.B = Answer{Output: run.outputs, RunID: &run.id}
	}
	return nil
}

// Usage is what an answer took.
type Usage struct {
	DurationMS, CostUSD       float64
	InputTokens, OutputTokens int64
}

// Usages returns what each answer of a version took. They are the same each time.
func (v *Version) Usages(answers int) []Usage {
	const seed = 31
	random := rand.New(rand.NewPCG(seed, uint64(v.Tokens[0]))) //nolint:gosec // no secret
	usages := make([]Usage, answers)
	for i := range usages {
		factor := func() float64 { return 0.75 + 0.3*random.Float64() + 0.2*random.ExpFloat64()*random.Float64() }
		size := factor()
		usages[i] = Usage{
			DurationMS: float64(int(1000 * v.Seconds * factor())), CostUSD: v.CostUSD * size,
			InputTokens: int64(v.Tokens[0] * size), OutputTokens: int64(v.Tokens[1] * factor()),
		}
	}
	return usages
}
