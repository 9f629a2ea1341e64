package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// defaultTurns is the length of a page of a thread's runs if the request has no limit.
const defaultTurns = 20

type threadHandlers struct {
	runs threadReader
}

type threadReader interface {
	Threads(ctx context.Context, in access.Projects, q runs.ThreadsQuery) (runs.ThreadPage, error)
	Thread(ctx context.Context, in access.Projects, q runs.ThreadQuery) (runs.ThreadRuns, error)
}

// ListThreads lists a project's conversations.
func (h threadHandlers) ListThreads(ctx context.Context, req contract.ListThreadsRequestObject) (contract.ListThreadsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	limit := pageOf(req.Params.Limit, nil).Limit
	page, err := h.runs.Threads(ctx, grantOf(ctx).Projects, runs.ThreadsQuery{Filter: filter, Limit: limit, Cursor: valueOf(req.Params.Cursor, "")})
	if err != nil {
		return nil, err
	}
	data := make([]contract.Thread, len(page.Threads))
	for i := range page.Threads {
		data[i] = threadOf(&page.Threads[i])
	}
	return contract.ListThreads200JSONResponse{Data: data, Limit: limit, HasMore: page.HasMore, NextCursor: known(page.NextCursor)}, nil
}

// GetThread reads a conversation with a page of its runs.
func (h threadHandlers) GetThread(ctx context.Context, req contract.GetThreadRequestObject) (contract.GetThreadResponseObject, error) {
	limit := valueOf(req.Params.Limit, defaultTurns)
	turns, err := h.runs.Thread(ctx, grantOf(ctx).Projects, runs.ThreadQuery{
		ProjectID: req.Params.ProjectId, ThreadID: req.SessionId, Traces: string(valueOf(req.Params.Traces, "")), Source: string(valueOf(req.Params.Source, "")), Limit: limit, Cursor: valueOf(req.Params.Cursor, ""),
	})
	if err != nil {
		return nil, err
	}
	data := make([]contract.Run, len(turns.Runs))
	for i := range turns.Runs {
		data[i] = runOf(&turns.Runs[i])
	}
	return contract.GetThread200JSONResponse{
		Thread: threadOf(&turns.Thread), Data: data, Limit: limit, HasMore: turns.HasMore, NextCursor: known(turns.NextCursor),
	}, nil
}

func threadOf(t *runs.Thread) contract.Thread {
	thread := contract.Thread{
		SessionId: t.ThreadID, IdentifiedBy: contract.ThreadByConversation,
		FirstTime: t.FirstTime.UTC(), LastTime: t.LastTime.UTC(), Running: t.LastRunning,
		RunCount: count(t.RunCount), ErrorCount: count(t.ErrorCount),
		Users: list(t.Users), UserCount: count(t.UserCount), Agents: list(t.Agents), AgentCount: count(t.AgentCount),
		Usage: usageOf(t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Reasoning, t.OtherTokens), CostUsd: roundUSD(t.CostUSD),
		SampledCount: count(t.Sampled), SampleShare: t.SampleShare,
		FirstInput: known(t.FirstInput), LastOutput: known(t.LastOutput),
		Cut: cutMembers(t.Cut),
	}
	if t.BySession {
		thread.IdentifiedBy = contract.ThreadBySession
	}
	return thread
}
