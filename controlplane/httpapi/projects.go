package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type projectHandlers struct {
	projects *projects.Service
}

// ListProjects lists the caller's projects.
func (h projectHandlers) ListProjects(ctx context.Context, req contract.ListProjectsRequestObject) (contract.ListProjectsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.projects.List(ctx, grantOf(ctx).Projects, page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Project, len(list))
	for i, p := range list {
		data[i] = projectOf(p)
	}
	return contract.ListProjects200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateProject creates a project in a workspace.
func (h projectHandlers) CreateProject(ctx context.Context, req contract.CreateProjectRequestObject) (contract.CreateProjectResponseObject, error) {
	project, err := h.projects.Create(ctx, grantOf(ctx), req.Body.Name)
	if err != nil {
		return nil, err
	}
	location := "/v1/projects/" + project.ID.String()
	return contract.CreateProject201JSONResponse{
		Body:    projectOf(project),
		Headers: contract.CreateProject201ResponseHeaders{Location: &location},
	}, nil
}

// GetProject reads a project.
func (h projectHandlers) GetProject(ctx context.Context, req contract.GetProjectRequestObject) (contract.GetProjectResponseObject, error) {
	project, err := h.projects.Get(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	return contract.GetProject200JSONResponse(projectOf(project)), nil
}

// UpdateProject changes the fields that are given.
func (h projectHandlers) UpdateProject(ctx context.Context, req contract.UpdateProjectRequestObject) (contract.UpdateProjectResponseObject, error) {
	if req.Body.Name == nil {
		project, err := h.projects.Get(ctx, grantOf(ctx))
		return contract.UpdateProject200JSONResponse(projectOf(project)), err
	}
	project, err := h.projects.Rename(ctx, grantOf(ctx), *req.Body.Name)
	if err != nil {
		return nil, err
	}
	return contract.UpdateProject200JSONResponse(projectOf(project)), nil
}

// DeleteProject deletes a project with everything in it.
func (h projectHandlers) DeleteProject(ctx context.Context, req contract.DeleteProjectRequestObject) (contract.DeleteProjectResponseObject, error) {
	if err := h.projects.Delete(ctx, grantOf(ctx), valueOf(req.Params.Confirm, "")); err != nil {
		return nil, err
	}
	return contract.DeleteProject204Response{}, nil
}

func projectOf(p projects.Project) contract.Project {
	return contract.Project{
		Id: p.ID, WorkspaceId: p.WorkspaceID, Name: p.Name, Sample: p.Sample,
		CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
	}
}

// GetProjectLimits reads a project's rate limits.
func (h projectHandlers) GetProjectLimits(ctx context.Context, req contract.GetProjectLimitsRequestObject) (contract.GetProjectLimitsResponseObject, error) {
	limits, err := h.projects.Limits(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	return contract.GetProjectLimits200JSONResponse(projectLimitsOf(limits)), nil
}

// SetProjectLimits replaces a project's rate limits.
func (h projectHandlers) SetProjectLimits(ctx context.Context, req contract.SetProjectLimitsRequestObject) (contract.SetProjectLimitsResponseObject, error) {
	limits, err := h.projects.SetLimits(ctx, grantOf(ctx), overridesOf(*req.Body))
	if err != nil {
		return nil, err
	}
	return contract.SetProjectLimits200JSONResponse(projectLimitsOf(limits)), nil
}

// GetProjectFailedScores reads which scores fail a project's runs.
func (h projectHandlers) GetProjectFailedScores(ctx context.Context, _ contract.GetProjectFailedScoresRequestObject) (contract.GetProjectFailedScoresResponseObject, error) {
	id, err := grantOf(ctx).Project()
	if err != nil {
		return nil, err
	}
	rules, err := h.projects.FailureRules(ctx, id)
	if err != nil {
		return nil, err
	}
	return contract.GetProjectFailedScores200JSONResponse(projectFailedScoresOf(rules.Scores)), nil
}

// SetProjectFailedScores replaces which scores fail a project's runs.
func (h projectHandlers) SetProjectFailedScores(ctx context.Context, req contract.SetProjectFailedScoresRequestObject) (contract.SetProjectFailedScoresResponseObject, error) {
	rules := make([]runmodel.ScoreFailure, len(req.Body.Scores))
	for i, rule := range req.Body.Scores {
		rules[i] = runmodel.ScoreFailure{Name: rule.Name, When: runmodel.ScoreFailsWhen(rule.When), Bound: rule.Bound, Categories: valueOf(rule.Categories, nil)}
	}
	rules, err := h.projects.SetScoreFailures(ctx, grantOf(ctx), rules)
	if err != nil {
		return nil, err
	}
	return contract.SetProjectFailedScores200JSONResponse(projectFailedScoresOf(rules)), nil
}

func projectFailedScoresOf(rules []runmodel.ScoreFailure) contract.ProjectFailedScores {
	found := contract.ProjectFailedScores{Scores: make([]contract.FailedScoreRule, len(rules))}
	for i, rule := range rules {
		found.Scores[i] = contract.FailedScoreRule{Name: rule.Name, When: contract.FailedScoreWhen(rule.When), Bound: rule.Bound}
		if len(rule.Categories) > 0 {
			found.Scores[i].Categories = &rule.Categories
		}
	}
	return found
}

// GetProjectSignals reads which signals a project has off.
func (h projectHandlers) GetProjectSignals(ctx context.Context, _ contract.GetProjectSignalsRequestObject) (contract.GetProjectSignalsResponseObject, error) {
	id, err := grantOf(ctx).Project()
	if err != nil {
		return nil, err
	}
	rules, err := h.projects.FailureRules(ctx, id)
	if err != nil {
		return nil, err
	}
	return contract.GetProjectSignals200JSONResponse{Off: signalsOf(rules.SignalsOff)}, nil
}

// SetProjectSignals replaces which signals a project has off.
func (h projectHandlers) SetProjectSignals(ctx context.Context, req contract.SetProjectSignalsRequestObject) (contract.SetProjectSignalsResponseObject, error) {
	off := make([]string, len(req.Body.Off))
	for i, signal := range req.Body.Off {
		off[i] = string(signal)
	}
	off, err := h.projects.SetSignals(ctx, grantOf(ctx), off)
	if err != nil {
		return nil, err
	}
	return contract.SetProjectSignals200JSONResponse{Off: signalsOf(off)}, nil
}

// projectLimitsOf converts overrides. Kinds without any are left out.
func projectLimitsOf(overrides ratelimit.Overrides) contract.ProjectLimits {
	subject := func(kind ratelimit.Kind) *contract.SubjectLimits {
		limits := contract.SubjectLimits{
			Requests: limitOf(overrides, kind, ratelimit.Requests),
			Bytes:    limitOf(overrides, kind, ratelimit.Bytes),
			Spans:    limitOf(overrides, kind, ratelimit.Spans),
		}
		if limits == (contract.SubjectLimits{}) {
			return nil
		}
		return &limits
	}
	return contract.ProjectLimits{Key: subject(ratelimit.Key), Project: subject(ratelimit.Project)}
}

func limitOf(overrides ratelimit.Overrides, kind ratelimit.Kind, measure ratelimit.Measure) *contract.RateLimit {
	rate, ok := overrides[ratelimit.RateName(kind, measure)]
	if !ok {
		return nil
	}
	limit := &contract.RateLimit{Rate: rate}
	if burst, ok := overrides[ratelimit.BurstName(kind, measure)]; ok {
		whole := int64(burst)
		limit.Burst = &whole
	}
	return limit
}

func overridesOf(limits contract.ProjectLimits) ratelimit.Overrides {
	overrides := ratelimit.Overrides{}
	for kind, subject := range map[ratelimit.Kind]*contract.SubjectLimits{ratelimit.Key: limits.Key, ratelimit.Project: limits.Project} {
		if subject == nil {
			continue
		}
		for measure, limit := range map[ratelimit.Measure]*contract.RateLimit{
			ratelimit.Requests: subject.Requests, ratelimit.Bytes: subject.Bytes, ratelimit.Spans: subject.Spans,
		} {
			if limit == nil {
				continue
			}
			overrides[ratelimit.RateName(kind, measure)] = limit.Rate
			if limit.Burst != nil {
				overrides[ratelimit.BurstName(kind, measure)] = float64(*limit.Burst)
			}
		}
	}
	return overrides
}
