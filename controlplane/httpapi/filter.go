package httpapi

import (
	"errors"
	"reflect"
	"time"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
)

// filterOf returns the filter in the parameters of an operation. They have the names and types of the members of a RunFilter.
func filterOf(params any) (runs.Filter, error) {
	var f contract.RunFilter
	to, from := reflect.ValueOf(&f).Elem(), reflect.ValueOf(params)
	for i := range to.NumField() {
		if value := from.FieldByName(to.Type().Field(i).Name); value.IsValid() {
			to.Field(i).Set(value.Convert(to.Field(i).Type()))
		}
	}
	return runFilter(&f, "query")
}

// runFilter converts f to a [runs.Filter]. location is the place of f in the request, for errors.
func runFilter(f *contract.RunFilter, location string) (runs.Filter, error) {
	filter := runs.Filter{
		ProjectID: f.ProjectId,
		Window:    time.Duration(valueOf(f.WindowSeconds, 0)) * time.Second,
		Kinds:     valueOf(f.Kind, nil), Search: valueOf(f.Search, ""),
		Name: valueOf(f.Name, ""), Model: valueOf(f.Model, ""), AgentName: valueOf(f.AgentName, ""),
		SessionID: valueOf(f.SessionId, ""), ConversationID: valueOf(f.ConversationId, ""), UserID: valueOf(f.UserId, ""),
		Tag: valueOf(f.Tag, ""), Environment: valueOf(f.Environment, ""), Release: valueOf(f.Release, ""), AgentRelease: valueOf(f.AgentRelease, ""),
		ErrorType: valueOf(f.ErrorType, ""), Prompts: runs.OfPrompt(valueOf(f.PromptId, ""), valueOf(f.PromptName, ""), valueOf(f.PromptVersion, "")),
		Fingerprint: valueOf(f.Fingerprint, ""), Traces: string(valueOf(f.Traces, "")), Source: string(valueOf(f.Source, "")),
		StartAfter: valueOf(f.StartAfter, time.Time{}).UTC(), StartBefore: valueOf(f.StartBefore, time.Time{}).UTC(),
		Metadata: valueOf(f.Metadata, nil), MinCostUSD: f.MinCostUsd, MinTokens: f.MinTokens, HasScore: f.HasScore,
		MinDuration: time.Duration(valueOf(f.MinDurationMs, 0) * float64(time.Millisecond)),
	}
	for _, status := range valueOf(f.Status, nil) {
		filter.Statuses = append(filter.Statuses, string(status))
	}
	for _, outcome := range valueOf(f.Outcome, nil) {
		filter.Outcomes = append(filter.Outcomes, string(outcome))
	}
	for _, level := range valueOf(f.Replayability, nil) {
		filter.Replayability = append(filter.Replayability, string(level))
	}
	for _, signal := range valueOf(f.Signal, nil) {
		filter.Signals = append(filter.Signals, string(signal))
	}
	var errs []error
	if f.StartAfter != nil {
		errs = append(errs, validate.Time(location+".start_after", *f.StartAfter))
	}
	if f.StartBefore != nil {
		errs = append(errs, validate.Time(location+".start_before", *f.StartBefore))
	}
	return filter, errors.Join(errs...)
}
