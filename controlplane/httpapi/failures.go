package httpapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Defaults of absent parameters.
const (
	defaultFailedRuns    = 20
	defaultFailureWindow = 7 * 24 * time.Hour
)

type failureHandlers struct {
	failures *failures.Service
}

// ListFailedRuns ranks a project's failed runs.
func (h failureHandlers) ListFailedRuns(ctx context.Context, req contract.ListFailedRunsRequestObject) (contract.ListFailedRunsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	window := failureWindow(&filter)
	limit := valueOf(req.Params.Limit, defaultFailedRuns)
	page, err := h.failures.List(ctx, grantOf(ctx).Projects, failures.Query{
		Filter: filter, Window: window, Kind: runs.FailureKind(valueOf(req.Params.Groups, "")), State: failures.State(valueOf(req.Params.State, "")), Limit: limit, Cursor: valueOf(req.Params.Cursor, ""),
	})
	if err != nil {
		return nil, err
	}
	data := make([]contract.FailedRunGroup, len(page.Groups))
	for i := range page.Groups {
		data[i] = failedRunGroupOf(&page.Groups[i], &page)
	}
	return contract.ListFailedRuns200JSONResponse{
		Data: data, Now: page.Now, Start: page.From, Weights: failureWeights(), GroupCount: page.GroupCount, Partial: page.Partial,
		StateCounts: contract.FailureStateCounts{Open: page.StateCounts[failures.Open], Resolved: page.StateCounts[failures.Resolved], Muted: page.StateCounts[failures.Muted]},
		RunCount:    count(page.Runs), FailedRunCount: count(page.Failed), SignalRunCount: count(page.Signalled), SampledCount: count(page.Sampled), SampleShare: page.SampleShare,
		Limit: limit, NextCursor: known(page.NextCursor),
	}, nil
}

// GetFailedRuns reads one group of a project's failed runs.
func (h failureHandlers) GetFailedRuns(ctx context.Context, req contract.GetFailedRunsRequestObject) (contract.GetFailedRunsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	window := failureWindow(&filter)
	page, err := h.failures.Get(ctx, grantOf(ctx).Projects, filter, window, req.Fingerprint)
	if err != nil {
		return nil, err
	}
	return contract.GetFailedRuns200JSONResponse{
		Group: failedRunGroupOf(&page.Groups[0], &page), Now: page.Now, Start: page.From, Weights: failureWeights(),
		RunCount: count(page.Runs), FailedRunCount: count(page.Failed), SignalRunCount: count(page.Signalled), SampledCount: count(page.Sampled), SampleShare: page.SampleShare,
	}, nil
}

// SetFailedRunsState resolves, mutes or reopens a group.
func (h failureHandlers) SetFailedRunsState(ctx context.Context, req contract.SetFailedRunsStateRequestObject) (contract.SetFailedRunsStateResponseObject, error) {
	state, err := h.failures.Decide(ctx, grantOf(ctx), req.Fingerprint, failures.Decision{
		State: failures.State(req.Body.State), Note: req.Body.Note, Until: req.Body.Until, MoreRuns: req.Body.MoreRuns,
	}, req.Body.BaseRevision)
	if err != nil {
		return nil, err
	}
	return contract.SetFailedRunsState200JSONResponse(failureStateOf(&state)), nil
}

func failureStateOf(s *failures.GroupState) contract.FailureState {
	state := contract.FailureState{State: contract.FailureStateName(s.State)}
	if made := s.Last; made != nil {
		state.Decision = &contract.FailureDecisionMade{
			State: contract.FailureStateName(made.State), Note: made.Note, Until: utc(made.Until), MoreRuns: made.MoreRuns,
			CreatedBy: contract.Author{Email: made.AuthorEmail, Key: made.AuthorKey}, CreatedAt: made.At.UTC(), Revision: made.Revision,
		}
		if made.State != failures.Open {
			since := count(s.RunsSince)
			state.Decision.RunsSince = &since
		}
	}
	if r := s.Regression; r != nil {
		state.Regression = &contract.FailureRegression{RunId: r.RunID, StartTime: r.StartTime.UTC()}
	}
	return state
}

// failureWindow moves the window out of the filter, because the filter also applies to the time before the window.
func failureWindow(filter *runs.Filter) time.Duration {
	window := filter.Window
	filter.Window = 0
	return cmp.Or(window, defaultFailureWindow)
}

func failureWeights() contract.FailureWeights {
	w := failures.Weights
	return contract.FailureWeights{
		Recency: w[failures.Recency], Spike: w[failures.Spike], Impact: w[failures.Impact], Severity: w[failures.Severity],
		Novelty: w[failures.Novelty], Lift: w[failures.Lift], Waste: w[failures.Waste], Writes: w[failures.Writes],
	}
}

func failedRunGroupOf(g *failures.Group, page *failures.Page) contract.FailedRunGroup {
	of := page.Failed
	if slices.Contains(runmodel.AllSignals, g.Class) {
		of = page.Signalled
	}
	part := func(p failures.Part) *float64 {
		if value, ok := g.Parts[p]; ok {
			return &value
		}
		return nil
	}
	group := contract.FailedRunGroup{
		Fingerprint: g.Fingerprint, State: failureStateOf(&g.State), Class: contract.FailureClass(g.Class), AgentName: known(g.AgentName), MessageTemplate: g.Template,
		Step: contract.FailingStep{Kind: g.StepKind, Name: g.StepName, ErrorType: known(g.ErrorType)},
		Rank: g.Rank, Parts: contract.FailureParts{
			Recency: part(failures.Recency), Spike: part(failures.Spike), Impact: part(failures.Impact), Severity: part(failures.Severity),
			Novelty: part(failures.Novelty), Lift: part(failures.Lift), Waste: part(failures.Waste), Writes: part(failures.Writes),
		},
		Count: count(g.Runs), Share: shareOf(g.Runs, of), AgentRunCount: count(g.AgentRuns), AgentShare: shareOf(g.Runs, g.AgentRuns),
		CostUsd: roundUSD(g.CostUSD), FirstSeen: g.FirstSeen.UTC(), FirstInWindow: g.First.UTC(), LastSeen: g.Last.UTC(),
		Counts: make([]int64, len(g.Counts)), Contrasts: []contract.FailureContrast{}, Sample: []contract.FailedRun{},
		Cut: cutMembers(g.Cut),
	}
	if first := g.BeganIn; first != nil {
		group.BeganIn = &contract.FailureBeginning{AgentRelease: first.AgentRelease, RunId: first.FirstRun, StartTime: first.First.UTC()}
	}
	if g.NamesUsers {
		users := count(g.Users)
		group.UserCount = &users
	}
	for i, n := range g.Counts {
		group.Counts[i] = count(n)
	}
	for _, c := range g.Contrasts {
		group.Contrasts = append(group.Contrasts, contract.FailureContrast{
			Attribute: c.Name, Value: c.Value, With: count(c.With), Runs: count(c.Runs),
			OthersWith: count(c.OthersWith), OthersRuns: count(c.OthersRuns), Ochiai: c.Ochiai,
		})
	}
	for i := range g.Sample {
		run := failedRunOf(&g.Sample[i])
		if i == 0 {
			group.Representative = run
		} else {
			group.Sample = append(group.Sample, run)
		}
	}
	return group
}

func shareOf(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func failedRunOf(r *failures.Run) contract.FailedRun {
	run := contract.FailedRun{
		RunId: r.RunID, Name: r.Name, StartTime: r.StartTime.UTC(), DurationMs: elapsed(r.StartTime, r.EndTime),
		SpanId: runmodel.FormatSpanID(r.FailingSpanID), Step: contract.FailingStep{Kind: r.FailingKind, Name: r.FailingName, ErrorType: known(r.FailingType)},
	}
	errorType, message := r.ErrorType, r.ErrorMessage
	if r.Step != nil {
		errorType, message = r.Step.ErrorType, r.Step.ErrorMessage
	}
	if r.Class == runmodel.FailureScored {
		errorType, message = "", r.ScoredAsFailedBy()
	}
	if errorType != "" || message != "" {
		const longest = 200
		run.Error = &contract.RunError{Type: errorType, Message: utf8text.Bytes(message, longest)}
	}
	return run
}

func failureOf(f *runmodel.Failure) *contract.Failure {
	if f.Fingerprint == "" {
		return nil
	}
	return &contract.Failure{
		Fingerprint: f.Fingerprint, Class: contract.FailureClass(f.Class), SpanId: runmodel.FormatSpanID(f.FailingSpanID),
		Step:            contract.FailingStep{Kind: f.FailingKind, Name: f.FailingName, ErrorType: known(f.FailingType)},
		MessageTemplate: f.FailingTemplate,
	}
}
