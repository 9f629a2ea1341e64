package httpapi

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/findings"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// PeersOfFindings are the subjects that findings are tested by and promoted to.
type PeersOfFindings struct {
	Replays  *batches.Service
	Registry *prompts.Service
	Sets     *datasets.Service
	Runs     *runs.Service
}

var (
	_ findings.Batches  = PeersOfFindings{}
	_ findings.Prompts  = PeersOfFindings{}
	_ findings.Datasets = PeersOfFindings{}
)

// Batches returns those of the batches that exist.
func (p PeersOfFindings) Batches(ctx context.Context, in access.Projects, ids []uuid.UUID) ([]findings.Batch, error) {
	found, err := p.Replays.ByID(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	batches := make([]findings.Batch, len(found))
	for i := range found {
		b := &found[i]
		config, err := b.ReadConfig()
		if err != nil {
			return nil, err
		}
		result, err := b.ReadResult()
		if err != nil {
			return nil, err
		}
		batches[i] = findings.Batch{ID: b.ID, Name: b.Name, Status: string(b.Status), Edits: config.Edits, Outcome: config.Outcome}
		if result == nil {
			continue
		}
		batches[i].Verdict = &findings.Verdict{Sentence: result.Sentence, Chosen: string(result.Chosen.Verdict)}
		if result.Good != nil {
			batches[i].Verdict.Good = new(string(result.Good.Verdict))
		}
	}
	return batches, nil
}

// FailedRuns returns the runs of a batch that were chosen because they failed.
func (p PeersOfFindings) FailedRuns(ctx context.Context, in access.Projects, batch uuid.UUID) ([]uuid.UUID, error) {
	return p.Replays.FailedRuns(ctx, in, batch)
}

// Prompt returns a prompt with a version, the newest for nil.
func (p PeersOfFindings) Prompt(ctx context.Context, grant access.Grant, named findings.Named, version *int) (findings.Prompt, error) {
	project, err := grant.Project()
	if err != nil {
		return findings.Prompt{}, err
	}
	v, err := versionOf(ctx, p.Registry, project, "body.prompt", &contract.CompletionPrompt{Id: named.ID, Name: named.Name, Version: version})
	return findings.Prompt{
		ID: v.PromptID, Name: v.Name, Version: v.Version, Messages: v.Messages, Tools: v.Tools, ModelConfig: v.ModelConfig, Plain: v.TemplateFormat == "none",
	}, err
}

// SavePrompt saves a version with what the edited one has besides.
func (p PeersOfFindings) SavePrompt(ctx context.Context, grant access.Grant, edited *findings.Prompt, base int, note string) (version int, isNew bool, err error) {
	before, err := p.Registry.GetVersion(ctx, grant, edited.ID, edited.Version)
	if err != nil {
		return 0, false, err
	}
	content := before.Content
	content.Messages, content.Tools, content.ModelConfig = edited.Messages, edited.Tools, edited.ModelConfig
	saved, isNew, err := p.Registry.SaveVersion(ctx, grant, edited.ID, prompts.NewVersion{Content: content, Note: note, BaseVersion: &base})
	return saved.Version, isNew, err
}

// Dataset returns a dataset, nil if the project has none of the name.
func (p PeersOfFindings) Dataset(ctx context.Context, grant access.Grant, named findings.Named) (*findings.Dataset, error) {
	if named.ID != nil {
		found, err := p.Sets.Get(ctx, grant, *named.ID)
		if problem.Is(err, problem.NotFound) {
			err = problem.InvalidField("body.dataset.id", "is no dataset of the project")
		}
		return &findings.Dataset{ID: found.ID, Name: found.Name}, err
	}
	found, _, err := p.Sets.List(ctx, grant, datasets.Filter{Name: *named.Name}, postgres.Page{Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &findings.Dataset{ID: found[0].ID, Name: found[0].Name}, nil
}

// CreateDataset returns the dataset of a name, which it creates if there is none.
func (p PeersOfFindings) CreateDataset(ctx context.Context, grant access.Grant, name, description string) (findings.Dataset, error) {
	created, err := p.Sets.Create(ctx, grant, datasets.Change{Name: &name, Description: &description})
	if errors.Is(err, datasets.ErrNameTaken) { // it was created meanwhile
		found, err := p.Dataset(ctx, grant, findings.Named{Name: &name})
		if err == nil && found == nil {
			err = datasets.ErrNameTaken // it has a name that differs in case
		}
		if err != nil {
			return findings.Dataset{}, err
		}
		return *found, nil
	}
	return findings.Dataset{ID: created.ID, Name: created.Name}, err
}

// Items makes items of runs, without their outputs: what a failed run said is not what it should have said.
func (p PeersOfFindings) Items(ctx context.Context, in access.Projects, ids []uuid.UUID) (findings.Items, error) {
	items := &findingItems{datasets: p.Sets}
	items.made = runItems{input: inputPath, selection: runs.Selection{RunIDs: ids}, skipped: []contract.RunSkipped{}}
	items.made.selection.ProjectID = in.IDs()[0]
	return items, items.made.read(ctx, p.Runs, in)
}

// findingItems are items of the runs of a finding.
type findingItems struct {
	datasets *datasets.Service
	made     runItems
}

func (i *findingItems) Count() int { return len(i.made.items) }

func (i *findingItems) Skipped() []findings.Skipped {
	skipped := make([]findings.Skipped, len(i.made.skipped))
	for n, run := range i.made.skipped {
		skipped[n] = findings.Skipped{RunID: run.RunId, Reason: run.Reason}
	}
	return skipped
}

func (i *findingItems) Write(ctx context.Context, tx postgres.DB, grant access.Grant, dataset uuid.UUID, note string) (findings.Written, error) {
	written, _, err := i.datasets.WriteRuns(ctx, tx.PGX(), grant, dataset, i.made.items, note)
	done := findings.Written{Revision: written.Revision, Added: written.Added, Unchanged: written.Unchanged, Skipped: i.Skipped()}
	for _, misfit := range written.Misfits {
		done.Skipped = append(done.Skipped, findings.Skipped{RunID: *i.made.items[misfit.Index].SourceRunID, Reason: misfit.Text})
	}
	return done, err
}
