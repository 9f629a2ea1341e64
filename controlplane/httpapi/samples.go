package httpapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/samples"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// undoTimeout limits the removal of samples that could not be loaded.
const undoTimeout = 10 * time.Second

var errIngestAway = &problem.Error{
	Kind: problem.Unavailable, Code: problem.CodeDependency, RetryAfter: problem.DependencyRetry,
	Detail: "The sample runs could not be stored, so no samples were loaded. Try again in a few seconds.",
}

type sampleHandlers struct {
	projects    *projects.Service
	prompts     *prompts.Service
	datasets    *datasets.Service
	evaluations EvaluationServices
	recorder    *recording.Recorder
}

// LoadSamples loads samples into a project of their own.
func (h sampleHandlers) LoadSamples(ctx context.Context, _ contract.LoadSamplesRequestObject) (contract.LoadSamplesResponseObject, error) {
	loaded, err := samples.New(time.Now())
	if err != nil {
		return nil, err
	}
	project, err := h.projects.CreateSample(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	if err := h.fill(ctx, project.ID, loaded); err != nil {
		return nil, errors.Join(err, h.undo(ctx, project))
	}
	location := "/v1/projects/" + project.ID.String()
	return contract.LoadSamples201JSONResponse{
		Body: projectOf(project), Headers: contract.LoadSamples201ResponseHeaders{Location: &location},
	}, nil
}

// fill stores samples in a project.
func (h sampleHandlers) fill(ctx context.Context, project uuid.UUID, s *samples.Samples) error {
	target := access.Target{Project: project}
	grant, err := callOf(ctx).grantFor(ctx, "createPrompt", target)
	if err != nil {
		return err
	}
	if err := h.fillPrompt(ctx, grant, &s.Prompt); err != nil {
		return fmt.Errorf("create the sample prompt: %w", err)
	}
	if grant, err = callOf(ctx).grantFor(ctx, "addDatasetItems", target); err != nil {
		return err
	}
	if err := h.fillDataset(ctx, grant, &s.Dataset); err != nil {
		return fmt.Errorf("create the sample dataset: %w", err)
	}
	if err := h.fillEvaluation(ctx, target, &s.Evaluation); err != nil {
		return fmt.Errorf("create the sample comparison: %w", err)
	}
	if err := h.recorder.Send(ctx, project, s.Envelope); err != nil {
		return fmt.Errorf("%w: %w", errIngestAway, err)
	}
	return nil
}

func (h sampleHandlers) fillPrompt(ctx context.Context, grant access.Grant, p *samples.Prompt) error {
	created, err := h.prompts.Create(ctx, grant, p.Name, prompts.Change{Description: &p.Description, Tags: &p.Tags}, nil)
	if err != nil {
		return err
	}
	for _, version := range p.Versions {
		content := prompts.Content{Messages: version.Messages, ModelConfig: version.ModelConfig}
		if _, _, err := h.prompts.SaveVersion(ctx, grant, created.ID, prompts.NewVersion{Content: content, Note: version.Note}); err != nil {
			return err
		}
	}
	for alias, version := range p.Aliases {
		if _, _, err := h.prompts.MoveAlias(ctx, grant, created.ID, alias, version, ""); err != nil {
			return err
		}
	}
	return nil
}

func (h sampleHandlers) fillDataset(ctx context.Context, grant access.Grant, d *samples.Dataset) error {
	created, err := h.datasets.Create(ctx, grant, datasets.Change{Name: &d.Name, Description: &d.Description})
	if err != nil {
		return err
	}
	for _, revision := range d.Revisions {
		write := datasets.Write{Mode: datasets.ModeUpsert, Note: revision.Note}
		for i := range revision.Items {
			item := &revision.Items[i]
			write.Items = append(write.Items, datasets.NewItem{
				Key: &item.Key, Input: item.Input, ReferenceOutput: item.ReferenceOutput, Split: &item.Split, Tags: item.Tags, SourceRunID: item.SourceRunID,
			})
		}
		if _, err := h.datasets.Write(ctx, grant, created.ID, write); err != nil {
			return err
		}
	}
	return nil
}

// undo removes a project whose samples could not all be stored, even if the client went away.
func (h sampleHandlers) undo(ctx context.Context, project projects.Project) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	grant, err := callOf(ctx).grantFor(ctx, "deleteProject", access.Target{Project: project.ID})
	if err == nil {
		err = h.projects.Delete(ctx, grant, project.Name)
	}
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return fmt.Errorf("delete the project of samples that could not be loaded; delete it by hand: %w", err)
	}
	return nil
}
