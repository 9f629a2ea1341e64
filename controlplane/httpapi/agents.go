package httpapi

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agents"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type agentHandlers struct {
	agents *agents.Service
	runs   agentReader
}

type agentReader interface {
	Agents(ctx context.Context, in access.Projects, f runs.Filter, limit, offset int) ([]runs.AgentCount, error)
	Agent(ctx context.Context, in access.Projects, runID uuid.UUID) (runs.RunAgent, error)
}

// agentFilter selects the runs that an operation about agents reads.
func agentFilter(project uuid.UUID, startAfter, startBefore *time.Time) (runs.Filter, error) {
	filter := runs.Filter{ProjectID: project, StartAfter: valueOf(startAfter, time.Time{}).UTC(), StartBefore: valueOf(startBefore, time.Time{}).UTC()}
	if startAfter == nil {
		filter.Window = agents.Window
	}
	return filter, errors.Join(validTime("query.start_after", startAfter), validTime("query.start_before", startBefore))
}

// ListAgents lists the agents of a project.
func (h agentHandlers) ListAgents(ctx context.Context, req contract.ListAgentsRequestObject) (contract.ListAgentsResponseObject, error) {
	filter, err := agentFilter(req.Params.ProjectId, req.Params.StartAfter, req.Params.StartBefore)
	if err != nil {
		return nil, err
	}
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, err := h.runs.Agents(ctx, grantOf(ctx).Projects, filter, page.Limit+1, page.Offset)
	if err != nil {
		return nil, err
	}
	listed := found[:min(len(found), page.Limit)]
	data := make([]contract.Agent, len(listed))
	for i, a := range listed {
		data[i] = contract.Agent{
			Agent: a.Agent, RunCount: count(a.Runs), ReleasedRunCount: count(a.Released), ReleaseCount: count(a.Releases),
			FirstTime: a.First.UTC(), LastTime: a.Last.UTC(),
		}
	}
	return contract.ListAgents200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: len(found) > page.Limit}, nil
}

// GetAgentReleases compares the releases of an agent.
func (h agentHandlers) GetAgentReleases(ctx context.Context, req contract.GetAgentReleasesRequestObject) (contract.GetAgentReleasesResponseObject, error) {
	filter, err := agentFilter(req.Params.ProjectId, req.Params.StartAfter, req.Params.StartBefore)
	if err != nil {
		return nil, err
	}
	found, err := h.agents.Releases(ctx, grantOf(ctx).Projects, agents.Query{
		Filter: filter, Agent: req.Params.Agent, Instructions: agents.Instructions(valueOf(req.Params.Instructions, "")),
	})
	if err != nil {
		return nil, err
	}
	answer := contract.GetAgentReleases200JSONResponse{
		Agent: req.Params.Agent, Start: found.Start, End: found.End, Partial: found.Partial, RunCount: int64(found.Runs), WithoutReleaseCount: int64(found.WithoutRelease),
		ReleaseCount: int64(found.Count), Instructions: contract.AgentInstructions(found.Instructions), InstructionsCount: int64(found.InstructionsCount),
		Releases: make([]contract.AgentRelease, len(found.Releases)),
	}
	for i := range found.Releases {
		answer.Releases[i] = agentReleaseOf(&found.Releases[i])
	}
	return answer, nil
}

func agentReleaseOf(r *agents.Release) contract.AgentRelease {
	release := contract.AgentRelease{
		AgentReleaseCount: int64(len(r.Releases)), RunCount: int64(r.Runs), FirstRun: agentRunOf(&r.First), LastRun: agentRunOf(&r.Last),
		Parts: partsOf(r.Parts), Changes: make([]contract.AgentChange, len(r.Changes)), Failures: figureOf(r.Failures),
		DurationMs: figureOf(r.DurationMs), CostUsd: figureOf(r.CostUSD), Scores: make([]contract.AgentScore, len(r.Scores)),
	}
	if len(r.Releases) == 1 {
		release.AgentRelease = &r.Releases[0]
	}
	for i, c := range r.Changes {
		release.Changes[i] = contract.AgentChange{Part: c.Part, Before: known(c.Before), After: known(c.After)}
	}
	for i, s := range r.Scores {
		release.Scores[i] = contract.AgentScore{Name: s.Name, Boolean: s.IsBoolean, Value: s.Value, Ci: boundsOf(s.CI), Count: int64(s.Count)}
	}
	if d := r.Difference; d != nil {
		release.Difference = &contract.AgentDifference{
			Failures: comparedOf(d.Failures), DurationMs: comparedOf(d.DurationMs), CostUsd: comparedOf(d.CostUSD), Scores: make([]contract.AgentScoreDifference, len(d.Scores)),
		}
		for i, s := range d.Scores {
			release.Difference.Scores[i] = contract.AgentScoreDifference{Name: s.Name, Difference: comparedOf(s.Comparison)}
		}
	}
	return release
}

func agentRunOf(r *runs.AgentRun) contract.AgentReleaseRun {
	return contract.AgentReleaseRun{RunId: r.RunID, StartTime: r.StartTime.UTC()}
}

func figureOf(f agents.Figure) contract.AgentFigure {
	return contract.AgentFigure{Value: f.Value, Ci: boundsOf(f.CI), Count: int64(f.Count)}
}

func comparedOf(c agents.Comparison) contract.AgentComparison {
	return contract.AgentComparison{Value: c.Value, Ci: boundsOf(c.CI), Verdict: contract.AgentVerdict(c.Verdict)}
}

func boundsOf(ci *stats.Interval) *[]float64 {
	if ci == nil {
		return nil
	}
	bounds := ci[:]
	return &bounds
}

func partsOf(parts map[string]string) contract.AgentParts {
	if parts == nil {
		return contract.AgentParts{}
	}
	return parts
}

// GetRunAgent reads what makes the agent of a run.
func (h agentHandlers) GetRunAgent(ctx context.Context, req contract.GetRunAgentRequestObject) (contract.GetRunAgentResponseObject, error) {
	agent, err := h.runs.Agent(ctx, grantOf(ctx).Projects, req.RunId)
	if err != nil {
		return nil, err
	}
	answer := contract.GetRunAgent200JSONResponse{
		RunId: agent.RunID, AgentRelease: known(agent.AgentRelease), Parts: partsOf(agent.AgentParts), Instructions: agent.Instructions,
		ToolDefinitions: make([]any, len(agent.ToolDefinitions)),
	}
	for i, definition := range agent.ToolDefinitions {
		answer.ToolDefinitions[i] = definition
	}
	if missing := contract.RunAgentMissing(agent.AgentReleaseMissing()); missing != "" {
		answer.Missing = &missing
	}
	if agent.SpanID != 0 {
		answer.SpanId = known(runmodel.FormatSpanID(agent.SpanID))
	}
	return answer, nil
}
