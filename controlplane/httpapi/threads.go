package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/runs"
)

// defaultTurns is the length of a page of a thread's runs where the request does not say.
const defaultTurns = 20

// ListThreads lists a project's conversations.
func (a *api) ListThreads(ctx context.Context, req ListThreadsRequestObject) (ListThreadsResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.Params, "query")
	if err != nil {
		return nil, err
	}
	limit := pageOf(req.Params.Limit, nil).Limit
	page, err := a.runs.Threads(ctx, scope, runs.ThreadsQuery{Filter: filter, Limit: limit, Cursor: valueOf(req.Params.Cursor, "")})
	if err != nil {
		return nil, err
	}
	data := make([]Thread, len(page.Threads))
	for i := range page.Threads {
		data[i] = threadOf(&page.Threads[i])
	}
	return ListThreads200JSONResponse{Data: data, Limit: limit, HasMore: page.HasMore, NextCursor: known(page.NextCursor)}, nil
}

// GetThread reads a conversation with a page of its runs.
func (a *api) GetThread(ctx context.Context, req GetThreadRequestObject) (GetThreadResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	limit := valueOf(req.Params.Limit, defaultTurns)
	turns, err := a.runs.Thread(ctx, scope, runs.ThreadQuery{
		ProjectID: req.Params.ProjectId, ThreadID: req.SessionId, Limit: limit, Cursor: valueOf(req.Params.Cursor, ""),
	})
	if err != nil {
		return nil, err
	}
	data := make([]Run, len(turns.Runs))
	for i := range turns.Runs {
		data[i] = runOf(&turns.Runs[i])
	}
	return GetThread200JSONResponse{
		Thread: threadOf(&turns.Thread), Data: data, Limit: limit, HasMore: turns.HasMore, NextCursor: known(turns.NextCursor),
	}, nil
}

func threadOf(t *runs.Thread) Thread {
	thread := Thread{
		SessionId: t.ThreadID, IdentifiedBy: ThreadByConversation,
		FirstTime: t.FirstTime.UTC(), LastTime: t.LastTime.UTC(), Running: t.LastRunning,
		RunCount: count(t.RunCount), ErrorCount: count(t.ErrorCount),
		Users: list(t.Users), UserCount: count(t.UserCount), Agents: list(t.Agents), AgentCount: count(t.AgentCount),
		Usage: usageOf(t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Reasoning), CostUsd: roundUSD(t.CostUSD),
		FirstInput: known(t.FirstInput), LastOutput: known(t.LastOutput),
		Cut: cutMembers(t.Cut),
	}
	if t.BySession {
		thread.IdentifiedBy = ThreadBySession
	}
	return thread
}
