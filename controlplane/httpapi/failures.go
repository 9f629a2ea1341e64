package httpapi

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Where the request does not say.
const (
	defaultFailedRuns    = 20
	defaultFailureWindow = 7 * 24 * time.Hour
)

// ListFailedRuns ranks a project's failed runs.
func (a *api) ListFailedRuns(ctx context.Context, req ListFailedRunsRequestObject) (ListFailedRunsResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.Params, "query")
	if err != nil {
		return nil, err
	}
	window := failureWindow(&filter)
	limit := valueOf(req.Params.Limit, defaultFailedRuns)
	page, err := a.failures.List(ctx, scope, failures.Query{
		Filter: filter, Window: window, Limit: limit, Cursor: valueOf(req.Params.Cursor, ""),
	})
	if err != nil {
		return nil, err
	}
	data := make([]FailedRunGroup, len(page.Groups))
	for i := range page.Groups {
		data[i] = failedRunGroupOf(&page.Groups[i], page.Failed)
	}
	return ListFailedRuns200JSONResponse{
		Data: data, Now: page.Now, Start: page.From, Weights: failureWeights(), GroupCount: page.GroupCount, Partial: page.Partial,
		RunCount: count(page.Runs), FailedRunCount: count(page.Failed), UnknownRunCount: count(page.Unknown), Limit: limit,
		NextCursor: known(page.NextCursor),
	}, nil
}

// GetFailedRuns reads one group of a project's failed runs.
func (a *api) GetFailedRuns(ctx context.Context, req GetFailedRunsRequestObject) (GetFailedRunsResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.Params, "query")
	if err != nil {
		return nil, err
	}
	window := failureWindow(&filter)
	page, err := a.failures.Get(ctx, scope, filter, window, req.Fingerprint)
	if err != nil {
		return nil, err
	}
	return GetFailedRuns200JSONResponse{
		Group: failedRunGroupOf(&page.Groups[0], page.Failed), Now: page.Now, Start: page.From, Weights: failureWeights(),
		RunCount: count(page.Runs), FailedRunCount: count(page.Failed),
	}, nil
}

// failureWindow takes the window out of a filter. It is not the filter's: what is compared with the time before the window
// is filtered alike.
func failureWindow(filter *runs.Filter) time.Duration {
	window := filter.Window
	filter.Window = 0
	return cmp.Or(window, defaultFailureWindow)
}

func failureWeights() FailureWeights {
	w := failures.Weights
	return FailureWeights{
		Recency: w[failures.Recency], Spike: w[failures.Spike], Impact: w[failures.Impact], Severity: w[failures.Severity],
		Novelty: w[failures.Novelty], Lift: w[failures.Lift], Waste: w[failures.Waste],
	}
}

func failedRunGroupOf(g *failures.Group, failed uint64) FailedRunGroup {
	part := func(p failures.Part) *float64 {
		if value, ok := g.Parts[p]; ok {
			return &value
		}
		return nil
	}
	group := FailedRunGroup{
		Fingerprint: g.Fingerprint, Class: FailureClass(g.Class), AgentName: known(g.AgentName), MessageTemplate: g.Template,
		Step:  FailingStep{Kind: g.StepKind, Name: g.StepName, ErrorType: known(g.ErrorType)},
		Score: g.Score, Parts: FailureParts{
			Recency: part(failures.Recency), Spike: part(failures.Spike), Impact: part(failures.Impact), Severity: part(failures.Severity),
			Novelty: part(failures.Novelty), Lift: part(failures.Lift), Waste: part(failures.Waste),
		},
		Count: count(g.Runs), Share: shareOf(g.Runs, failed), AgentRunCount: count(g.AgentRuns), AgentShare: shareOf(g.Runs, g.AgentRuns),
		CostUsd: roundUSD(g.CostUSD), FirstSeen: g.FirstSeen.UTC(), FirstInWindow: g.First.UTC(), LastSeen: g.Last.UTC(),
		Counts: make([]int64, len(g.Counts)), Contrasts: []FailureContrast{}, Sample: []FailedRun{},
		Cut: cutMembers(g.Cut),
	}
	if g.NamesUsers {
		users := count(g.Users)
		group.UserCount = &users
	}
	for i, n := range g.Counts {
		group.Counts[i] = count(n)
	}
	for _, c := range g.Contrasts {
		group.Contrasts = append(group.Contrasts, FailureContrast{
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

func failedRunOf(r *failures.Run) FailedRun {
	run := FailedRun{
		RunId: r.RunID, Name: r.Name, StartTime: r.StartTime.UTC(), DurationMs: elapsed(r.StartTime, r.EndTime),
		SpanId: runmodel.FormatSpanID(r.FailingSpanID), Step: FailingStep{Kind: r.FailingKind, Name: r.FailingName, ErrorType: known(r.FailingType)},
	}
	errorType, message := r.ErrorType, r.ErrorMessage
	if r.Step != nil {
		run.Step = FailingStep{Kind: r.Step.EffectiveKind(), Name: r.Step.Name, ErrorType: known(r.Step.ErrorType)}
		errorType, message = r.Step.ErrorType, r.Step.ErrorMessage
	}
	if errorType != "" || message != "" {
		const longest = 200
		run.Error = &RunError{Type: errorType, Message: strings.ToValidUTF8(message[:min(longest, len(message))], "")}
	}
	return run
}

func failureOf(f *runmodel.Failure) *Failure {
	if f.Fingerprint == "" {
		return nil
	}
	return &Failure{
		Fingerprint: f.Fingerprint, Class: FailureClass(f.Class), SpanId: runmodel.FormatSpanID(f.FailingSpanID),
		Step:            FailingStep{Kind: f.FailingKind, Name: f.FailingName, ErrorType: known(f.FailingType)},
		MessageTemplate: f.FailingTemplate,
	}
}
