package httpapi

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// The lengths of answers where the request does not say.
const (
	defaultGroups = 10
	defaultValues = 50
)

// GetRunStats adds runs up.
func (a *api) GetRunStats(ctx context.Context, req GetRunStatsRequestObject) (GetRunStatsResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.Params, "query")
	if err != nil {
		return nil, err
	}
	query := runs.StatsQuery{
		Filter:  filter,
		Bucket:  time.Duration(valueOf(req.Params.BucketSeconds, 0)) * time.Second,
		GroupBy: string(valueOf(req.Params.GroupBy, "")),
		Groups:  valueOf(req.Params.Groups, defaultGroups),
	}
	stats, err := a.runs.Stats(ctx, scope, query)
	if err != nil {
		return nil, err
	}
	answer := GetRunStats200JSONResponse{
		Start: stats.Start.UTC(), End: stats.End.UTC(), BucketSeconds: int64(stats.Bucket / time.Second),
		Total: totalsOf(&stats.Total), Series: seriesOf(stats.Series), GroupBy: req.Params.GroupBy,
		Groups: make([]RunStatsGroup, len(stats.Groups)), Partial: stats.Partial,
	}
	for i, group := range stats.Groups {
		answer.Groups[i] = RunStatsGroup{Value: group.Value, Totals: totalsOf(&group.Total), Series: seriesOf(group.Series)}
	}
	if other := stats.Other; other != nil {
		answer.Other = &RunStatsOther{Groups: count(stats.OtherGroups), Totals: totalsOf(&other.Total), Series: seriesOf(other.Series)}
	}
	return answer, nil
}

func seriesOf(rows []runs.StatsRow) []RunStatsPoint {
	points := make([]RunStatsPoint, len(rows))
	for i := range rows {
		points[i] = RunStatsPoint{Start: rows[i].Bucket.UTC(), Totals: totalsOf(&rows[i])}
	}
	return points
}

func totalsOf(r *runs.StatsRow) RunTotals {
	totals := RunTotals{
		Count: count(r.Count), EndedCount: count(r.EndedCount), ErrorCount: count(r.ErrorCount),
		Usage: usageOf(r.Input, r.Output, r.CacheRead, r.CacheWrite, r.Reasoning), NoUsageCount: count(r.NoUsage),
		CostUsd: roundUSD(r.CostUSD), NoCostCount: count(r.NoCost),
	}
	if r.EndedCount > 0 {
		rate := float64(r.ErrorCount) / float64(r.EndedCount)
		totals.ErrorRate = &rate
	}
	if r.DurationsMs != nil {
		totals.DurationMs = &Percentiles{P50: r.DurationsMs[0], P95: r.DurationsMs[1], P99: r.DurationsMs[2]}
	}
	return totals
}

// roundUSD rounds a sum over many runs, which may be unknown: thousands of additions spoil more than its last digits.
func roundUSD(sum *float64) *float64 {
	if sum == nil {
		return nil
	}
	rounded := runmodel.RoundUSD(*sum, 12)
	return &rounded
}

// ListRunFields lists what runs can be filtered by.
func (a *api) ListRunFields(ctx context.Context, req ListRunFieldsRequestObject) (ListRunFieldsResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.Params, "query")
	if err != nil {
		return nil, err
	}
	fields, err := a.runs.Fields(ctx, scope, filter)
	if err != nil {
		return nil, err
	}
	data := make([]RunField, 0, len(fields.Names)+len(fields.Metadata))
	for _, name := range fields.Names {
		data = append(data, RunField{Name: name, Parameter: name})
	}
	for _, key := range fields.Metadata {
		uses := count(key.Count)
		data = append(data, RunField{Name: runs.MetadataField + key.Value, Parameter: "metadata[" + key.Value + "]", Count: &uses})
	}
	return ListRunFields200JSONResponse{Data: data, HasMore: fields.MoreMetadata, Start: fields.Start.UTC(), Partial: fields.Partial}, nil
}

// ListRunFieldValues lists the values of a field.
func (a *api) ListRunFieldValues(ctx context.Context, req ListRunFieldValuesRequestObject) (ListRunFieldValuesResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.Params, "query")
	if err != nil {
		return nil, err
	}
	found, err := a.runs.FieldValues(ctx, scope, filter, req.Field, valueOf(req.Params.Prefix, ""), valueOf(req.Params.Limit, defaultValues))
	if err != nil {
		return nil, err
	}
	data := make([]RunFieldValue, len(found.Values))
	for i, value := range found.Values {
		data[i] = RunFieldValue{Value: value.Value, Count: count(value.Count)}
	}
	return ListRunFieldValues200JSONResponse{Data: data, HasMore: found.HasMore, Start: found.Start.UTC(), Partial: found.Partial}, nil
}
