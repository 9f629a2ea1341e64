// Package samples has runs, a prompt, datasets and a comparison that show a newcomer what Looptrace does. Their texts are recorded in the folder data;
// ids and times are new each time.
package samples

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

//go:embed data/*.json
var data embed.FS

// Samples are ready to be stored in a project.
type Samples struct {
	// Envelope is the body of POST /v1/runs with all runs.
	Envelope   []byte
	Prompt     Prompt
	Dataset    Dataset
	Evaluation Evaluation
}

// Prompt is a prompt with its versions, oldest first.
type Prompt struct {
	Name, Description string
	Tags              []string
	Versions          []PromptVersion
	// Aliases are numbers of versions by name.
	Aliases map[string]int
}

// PromptVersion is a version of a prompt. Messages have the shape of OpenAI's chat completions.
type PromptVersion struct {
	Note        string
	Messages    []json.RawMessage
	ModelConfig json.RawMessage `json:"model_config"`
}

// Dataset is a dataset with its revisions, oldest first. Each updates the items of the one before by their keys.
type Dataset struct {
	Name, Description string
	Revisions         []Revision
}

// Revision is a revision of a dataset.
type Revision struct {
	Note  string
	Items []Item
}

// Item is an item of a dataset.
type Item struct {
	// Run is the case that it was taken from; empty for one that was written by hand.
	Run                    string
	Key                    string
	Input, ReferenceOutput json.RawMessage
	Split                  string
	Tags                   []string
	// SourceRunID is the run of the case.
	SourceRunID *uuid.UUID `json:"-"`
}

// UnmarshalJSON reads an item.
func (i *Item) UnmarshalJSON(text []byte) error {
	var item struct {
		Run, Key, Split string
		Input           json.RawMessage
		ReferenceOutput json.RawMessage `json:"reference_output"`
		Tags            []string
	}
	if err := strict(text, &item); err != nil {
		return err
	}
	*i = Item{Run: item.Run, Key: item.Key, Input: item.Input, ReferenceOutput: item.ReferenceOutput, Split: item.Split, Tags: item.Tags}
	return nil
}

// New returns the samples with runs of the week before now.
func New(now time.Time) (*Samples, error) {
	s := &Samples{}
	for name, into := range map[string]any{"prompt": &s.Prompt, "dataset": &s.Dataset, "evaluation": &s.Evaluation} {
		if err := read(name, into); err != nil {
			return nil, err
		}
	}
	var all []scenario
	for _, name := range []string{"support", "docs", "agents"} {
		var some []json.RawMessage
		if err := read(name, &some); err != nil {
			return nil, err
		}
		for _, text := range some {
			expanded, err := expand(text)
			if err != nil {
				return nil, fmt.Errorf("read a scenario of %s.json: %w", name, err)
			}
			all = append(all, expanded...)
		}
	}
	r := newRecorder(now, &s.Prompt)
	for i := range all {
		if err := r.record(&all[i]); err != nil {
			return nil, fmt.Errorf("record %s: %w", all[i].Name, err)
		}
	}
	var err error
	s.Envelope, err = json.Marshal(map[string]any{"sdk": "looptrace-samples", "runs": r.runs, "spans": r.spans})
	if err != nil {
		return nil, fmt.Errorf("write the envelope: %w", err)
	}
	if err := s.Evaluation.link(r.cases); err != nil {
		return nil, err
	}
	return s, s.Dataset.link(r.cases)
}

// link gives the items that name a case the id and the inputs of its run.
func (d *Dataset) link(cases map[string]recorded) error {
	for _, revision := range d.Revisions {
		for i := range revision.Items {
			item := &revision.Items[i]
			if item.Run == "" {
				continue
			}
			run, ok := cases[item.Run]
			if !ok {
				return fmt.Errorf("the dataset has the case %q, which no run has", item.Run)
			}
			item.Key, item.Input, item.SourceRunID = item.Run, run.inputs, &run.id
		}
	}
	return nil
}

func read(name string, into any) error {
	text, err := data.ReadFile("data/" + name + ".json")
	if err != nil {
		return fmt.Errorf("read the samples: %w", err)
	}
	if err := strict(text, into); err != nil {
		return fmt.Errorf("read %s.json: %w", name, err)
	}
	return nil
}

// strict refuses names that the samples do not have, so that a mistyped one is found.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into) //nolint:wrapcheck // the caller names the file
}
