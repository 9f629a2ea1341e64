package httpapi

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Defaults of absent parameters.
const (
	defaultGroups = 10
	defaultValues = 50
)

type statsHandlers struct {
	runs statsReader
}

type statsReader interface {
	Stats(ctx context.Context, in access.Projects, q runs.StatsQuery) (runs.Stats, error)
	Fields(ctx context.Context, in access.Projects, f runs.Filter) (runs.Fields, error)
	FieldValues(ctx context.Context, in access.Projects, f runs.Filter, field, prefix string, limit int) (runs.FieldValues, error)
}

// GetRunStats reads totals of runs.
func (h statsHandlers) GetRunStats(ctx context.Context, req contract.GetRunStatsRequestObject) (contract.GetRunStatsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	query := runs.StatsQuery{
		Filter:  filter,
		Bucket:  time.Duration(valueOf(req.Params.BucketSeconds, 0)) * time.Second,
		GroupBy: string(valueOf(req.Params.GroupBy, "")),
		Groups:  valueOf(req.Params.Groups, defaultGroups),
	}
	stats, err := h.runs.Stats(ctx, grantOf(ctx).Projects, query)
	if err != nil {
		return nil, err
	}
	answer := contract.GetRunStats200JSONResponse{
		Start: stats.Start.UTC(), End: stats.End.UTC(), BucketSeconds: int64(stats.Bucket / time.Second),
		Total: totalsOf(&stats.Total), Series: seriesOf(stats.Series), GroupBy: req.Params.GroupBy,
		Groups: make([]contract.RunStatsGroup, len(stats.Groups)), Partial: stats.Partial,
	}
	for i, group := range stats.Groups {
		answer.Groups[i] = contract.RunStatsGroup{Value: group.Value, Totals: totalsOf(&group.Total), Series: seriesOf(group.Series)}
	}
	if other := stats.Other; other != nil {
		answer.Other = &contract.RunStatsOther{Groups: count(stats.OtherGroups), Totals: totalsOf(&other.Total), Series: seriesOf(other.Series)}
	}
	return answer, nil
}

func seriesOf(rows []runs.StatsRow) []contract.RunStatsPoint {
	points := make([]contract.RunStatsPoint, len(rows))
	for i := range rows {
		points[i] = contract.RunStatsPoint{Start: rows[i].Bucket.UTC(), Totals: totalsOf(&rows[i])}
	}
	return points
}

func totalsOf(r *runs.StatsRow) contract.RunTotals {
	totals := contract.RunTotals{
		Count: count(r.Count), EndedCount: count(r.EndedCount), ErrorCount: count(r.ErrorCount),
		Usage: usageOf(r.Input, r.Output, r.CacheRead, r.CacheWrite, r.Reasoning, r.OtherTokens), NoUsageCount: count(r.NoUsage),
		CostUsd: roundUSD(r.CostUSD), NoCostCount: count(r.NoCost), SampledCount: count(r.Sampled), SampleShare: r.SampleShare,
	}
	if r.EndedCount > 0 {
		rate := float64(r.ErrorCount) / float64(r.EndedCount)
		totals.ErrorRate = &rate
	}
	if r.DurationsMs != nil {
		totals.DurationMs = &contract.Percentiles{P50: r.DurationsMs[0], P95: r.DurationsMs[1], P99: r.DurationsMs[2]}
	}
	return totals
}

// roundUSD rounds a sum over many runs, nil if unknown. Thousands of additions make more than the last digit inexact.
func roundUSD(sum *float64) *float64 {
	if sum == nil {
		return nil
	}
	rounded := runmodel.RoundUSD(*sum, 12)
	return &rounded
}

// ListRunFields lists the fields to filter runs by.
func (h statsHandlers) ListRunFields(ctx context.Context, req contract.ListRunFieldsRequestObject) (contract.ListRunFieldsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	fields, err := h.runs.Fields(ctx, grantOf(ctx).Projects, filter)
	if err != nil {
		return nil, err
	}
	data := make([]contract.RunField, 0, len(fields.Names)+len(fields.Metadata))
	for _, name := range fields.Names {
		data = append(data, contract.RunField{Name: name, Parameter: name})
	}
	for _, key := range fields.Metadata {
		uses := count(key.Count)
		data = append(data, contract.RunField{Name: runs.MetadataField + key.Value, Parameter: "metadata[" + key.Value + "]", Count: &uses})
	}
	return contract.ListRunFields200JSONResponse{Data: data, HasMore: fields.MoreMetadata, Start: fields.Start.UTC(), Partial: fields.Partial}, nil
}

// ListRunFieldValues lists the values of a field.
func (h statsHandlers) ListRunFieldValues(ctx context.Context, req contract.ListRunFieldValuesRequestObject) (contract.ListRunFieldValuesResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	found, err := h.runs.FieldValues(ctx, grantOf(ctx).Projects, filter, req.Field, valueOf(req.Params.Prefix, ""), valueOf(req.Params.Limit, defaultValues))
	if err != nil {
		return nil, err
	}
	data := make([]contract.RunFieldValue, len(found.Values))
	for i, value := range found.Values {
		data[i] = contract.RunFieldValue{Value: value.Value, Count: count(value.Count)}
	}
	return contract.ListRunFieldValues200JSONResponse{Data: data, HasMore: found.HasMore, Start: found.Start.UTC(), Partial: found.Partial}, nil
}
