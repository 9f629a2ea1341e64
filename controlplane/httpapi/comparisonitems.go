package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// listedText is how many characters of a text a list of items has. listedJSON is how many its JSON may have.
const (
	listedText = 4000
	listedJSON = 6 * (listedText + 1)
)

// ListComparisonItems lists the items of a comparison.
func (h comparisonHandlers) ListComparisonItems(ctx context.Context, req contract.ListComparisonItemsRequestObject) (contract.ListComparisonItemsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := listItems(ctx, h.evaluations, evaluations.Comparison, req.ComparisonId, evaluations.ItemsQuery{
		Status: evaluations.ItemStatus(valueOf(req.Params.Status, "")), Outcome: evaluations.Outcome(valueOf(req.Params.Outcome, "")), Metric: valueOf(req.Params.Metric, ""),
		Longest: listedJSON, Drawn: valueOf(req.Params.Order, "") == contract.ListComparisonItemsParamsOrderRandom,
	}, page, (*shownItems).item)
	return contract.ListComparisonItems200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, err
}

// GetComparisonItem reads an item of a comparison.
func (h comparisonHandlers) GetComparisonItem(ctx context.Context, req contract.GetComparisonItemRequestObject) (contract.GetComparisonItemResponseObject, error) {
	item, err := readItem(ctx, h.evaluations, evaluations.Comparison, req.ComparisonId, req.DatasetItemId, (*shownItems).item)
	return contract.GetComparisonItem200JSONResponse(item), err
}

// itemReader reads the items of evaluations.
type itemReader interface {
	Get(ctx context.Context, grant access.Grant, kind evaluations.Type, id uuid.UUID) (evaluations.Evaluation, error)
	Items(ctx context.Context, e *evaluations.Evaluation, q evaluations.ItemsQuery, page postgres.Page) ([]evaluations.Item, bool, error)
}

// listItems reads a page of the items of an evaluation. show makes an item of the answer.
func listItems[T any](
	ctx context.Context, from itemReader, kind evaluations.Type, id uuid.UUID, q evaluations.ItemsQuery, page postgres.Page,
	show func(*shownItems, *evaluations.Item) (T, error),
) (list []T, more bool, err error) {
	found, err := from.Get(ctx, grantOf(ctx), kind, id)
	if err != nil {
		return nil, false, err
	}
	items, more, err := from.Items(ctx, &found, q, page)
	if err != nil {
		return nil, false, err
	}
	list = make([]T, len(items))
	shown := shownItems{e: &found, longest: listedText, contents: grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)}
	for i := range items {
		if list[i], err = show(&shown, &items[i]); err != nil {
			return nil, false, err
		}
	}
	return list, more, nil
}

// readItem reads an item of an evaluation, with whole texts and messages.
func readItem[T any](
	ctx context.Context, from itemReader, kind evaluations.Type, id, item uuid.UUID, show func(*shownItems, *evaluations.Item) (T, error),
) (answer T, err error) {
	found, err := from.Get(ctx, grantOf(ctx), kind, id)
	if err != nil {
		return answer, err
	}
	items, _, err := from.Items(ctx, &found, evaluations.ItemsQuery{Item: &item}, postgres.Page{Limit: 1})
	if err != nil {
		return answer, err
	}
	if len(items) == 0 {
		return answer, problem.Missing()
	}
	return show(&shownItems{e: &found, contents: grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)}, &items[0])
}

// PutComparisonLabel labels an output of a side.
func (h comparisonHandlers) PutComparisonLabel(ctx context.Context, req contract.PutComparisonLabelRequestObject) (contract.PutComparisonLabelResponseObject, error) {
	label, err := putLabel(ctx, h.evaluations.Service, evaluations.LabelTarget{
		Kind: evaluations.Comparison, Evaluation: req.ComparisonId, Item: req.DatasetItemId, Panel: req.Body.Panel, Side: sideNumber(string(req.Body.Side)), Repeat: req.Body.Repeat,
	}, req.Body.Value, req.Body.Note)
	return contract.PutComparisonLabel200JSONResponse(label), err
}

// DeleteComparisonLabel removes a label.
func (h comparisonHandlers) DeleteComparisonLabel(ctx context.Context, req contract.DeleteComparisonLabelRequestObject) (contract.DeleteComparisonLabelResponseObject, error) {
	return contract.DeleteComparisonLabel204Response{}, h.evaluations.DeleteLabel(ctx, grantOf(ctx), &evaluations.LabelTarget{
		Kind: evaluations.Comparison, Evaluation: req.ComparisonId, Item: req.DatasetItemId, Panel: req.Params.Panel,
		Side: sideNumber(string(req.Params.Side)), Repeat: req.Params.Repeat,
	})
}

// sideNumber is 0 for a and 1 for b.
func sideNumber(name string) int {
	return slices.Index(evaluations.SideNames[:], name)
}

// putLabel stores a label of the caller.
func putLabel(
	ctx context.Context, service *evaluations.Service, at evaluations.LabelTarget, value contract.LabelValue, note *string,
) (contract.Label, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return contract.Label{}, fmt.Errorf("encode a label: %w", err)
	}
	label, err := service.PutLabel(ctx, grantOf(ctx), &evaluations.NewLabel{LabelTarget: at, Value: text, Note: valueOf(note, "")})
	return labelOf(&label), err
}

// shownItems writes items of a comparison.
type shownItems struct {
	e *evaluations.Evaluation
	// longest is the length to which texts are cut, 0 for whole texts and messages.
	longest int
	// contents is whether the caller may read the items of the dataset.
	contents bool
}

func (s *shownItems) item(i *evaluations.Item) (contract.ComparisonItem, error) {
	item := contract.ComparisonItem{
		Number: int64(i.Number), ItemId: i.ItemID, Key: i.Key, Status: contract.EvaluationItemStatus(i.Status), Reason: i.Reason,
		Metrics: []contract.ComparisonItemMetric{}, Repeats: []contract.ComparisonRepeat{},
	}
	for _, name := range results.MetricNames(s.e) {
		m, ok := i.Metrics[name]
		if !ok {
			continue
		}
		metric := contract.ComparisonItemMetric{Name: name, A: m.A, B: m.B, Outcome: contract.EvaluationOutcome(m.Outcome)}
		if m.A != nil && m.B != nil {
			metric.Difference = new(*m.B - *m.A)
		}
		item.Metrics = append(item.Metrics, metric)
		if s.e.PrimaryMetric != nil && *s.e.PrimaryMetric == name {
			item.Outcome = &metric.Outcome
		}
	}
	if s.contents && i.Item != nil {
		var cut [3]bool
		item.Input, cut[0] = s.text(&i.Item.Input, false)
		item.ReferenceOutput, cut[1] = s.text(&i.Item.ReferenceOutput, false)
		item.Metadata, cut[2] = s.text(&i.Item.Metadata, false)
		item.InputTruncated = cut[0] || cut[1] || cut[2]
	}
	for o := range i.Outputs {
		output, err := s.output(&i.Outputs[o])
		if err != nil {
			return item, err
		}
		for v := range i.Votes {
			if vote := &i.Votes[v]; vote.Order == "" && vote.Side == i.Outputs[o].Side && vote.Repeat == i.Outputs[o].Repeat {
				output.Votes = append(output.Votes, voteOf(vote))
			}
		}
		if n := len(item.Repeats); n == 0 || item.Repeats[n-1].Repeat != i.Outputs[o].Repeat {
			preferences, err := preferencesOf(i, i.Outputs[o].Repeat)
			if err != nil {
				return item, err
			}
			item.Repeats = append(item.Repeats, contract.ComparisonRepeat{
				Repeat: i.Outputs[o].Repeat, Preferences: preferences,
				Labels: contract.ComparisonLabels{A: labelsOf(i, 0, i.Outputs[o].Repeat), B: labelsOf(i, 1, i.Outputs[o].Repeat)},
			})
		}
		last := &item.Repeats[len(item.Repeats)-1]
		if i.Outputs[o].Side == 0 {
			last.A = output
		} else {
			last.B = output
		}
	}
	return item, nil
}

// labelsOf returns what people say of an output.
func labelsOf(i *evaluations.Item, side, repeat int) []contract.Label {
	list := []contract.Label{}
	for l := range i.Labels {
		if label := &i.Labels[l]; label.Side == side && label.Repeat == repeat {
			list = append(list, labelOf(label))
		}
	}
	return list
}

// preferencesOf returns what judges prefer on a repeat of an item.
func preferencesOf(i *evaluations.Item, repeat int) ([]contract.ComparisonPreference, error) {
	list := []contract.ComparisonPreference{}
	for v := range i.Votes {
		vote := &i.Votes[v]
		if vote.Order == "" || vote.Repeat != repeat {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Panel != vote.PanelName {
			winner, err := i.Winner(vote.PanelName, repeat)
			if err != nil {
				return nil, err
			}
			list = append(list, contract.ComparisonPreference{Panel: vote.PanelName})
			if winner != nil {
				list[n].Winner = new(contract.ComparisonPreferenceWinner(*winner))
			}
		}
		last := &list[len(list)-1]
		last.Votes = append(last.Votes, voteOf(vote))
	}
	return list, nil
}

// text returns a JSON value, or its beginning as a text if it is long. It may have been cut before.
func (s *shownItems) text(value *string, before bool) (shown *contract.JSONValue, cut bool) {
	if value == nil || *value == "" || *value == "null" {
		return nil, false
	}
	if s.longest == 0 || len(*value) <= s.longest {
		return new(contract.JSONValue(*value)), false
	}
	begin, cut := *value, before
	if before && begin[0] == '"' {
		begin = closed(begin)
	}
	var whole string
	if json.Unmarshal([]byte(begin), &whole) == nil {
		begin = whole
	}
	if len(begin) > s.longest {
		begin, cut = utf8text.Bytes(begin, s.longest), true
	}
	text, _ := json.Marshal(begin) // a string always encodes
	return new(contract.JSONValue(text)), cut
}

// closed returns the beginning of a JSON string as one, without an escape at its end that is not whole.
func closed(begin string) string {
	for to := len(begin); to > max(0, len(begin)-len(`\u0000`)); to-- {
		if text := begin[:to] + `"`; json.Valid([]byte(text)) {
			return text
		}
	}
	return begin
}

func (s *shownItems) output(o *evaluations.Output) (*contract.EvaluationOutput, error) {
	shown := &contract.EvaluationOutput{
		Status: contract.EvaluationOutputStatus(o.Status), Model: o.Model, FinishReason: o.FinishReason, DurationMs: o.DurationMS, Requests: o.Requests,
		CreatedAt: o.CreatedAt.UTC(), Scores: []contract.EvaluationScore{}, Votes: []contract.Vote{},
		Usage: contract.CompletionUsage{
			InputTokens: o.InputTokens, OutputTokens: o.OutputTokens, CacheReadInputTokens: o.CacheReadTokens, CacheWriteInputTokens: o.CacheWriteTokens,
			ReasoningOutputTokens: o.ReasoningTokens,
		},
	}
	if o.RunID != nil && *o.RunID != uuid.Nil {
		shown.RunId = o.RunID
	}
	shown.Output, shown.OutputTruncated = s.text(o.Output, o.OutputCut)
	if s.longest == 0 && o.Message != nil {
		shown.Message = new(contract.PromptMessage(*o.Message))
	}
	if o.ErrorCode != nil {
		shown.Error = &contract.EvaluationFailure{Code: *o.ErrorCode, Detail: valueOf(o.ErrorDetail, "")}
	}
	if o.CostNanousd != nil {
		shown.CostUsd = new(float64(*o.CostNanousd) / 1e9)
	}
	scores, err := o.ReadScores()
	if err != nil {
		return nil, err
	}
	for i := range scores {
		shown.Scores = append(shown.Scores, gradeOf(&scores[i]))
	}
	return shown, nil
}

func gradeOf(s *evaluations.Score) contract.EvaluationScore {
	shown := contract.EvaluationScore{Name: s.Name, Score: s.Value, Pass: s.Pass, Label: known(s.Label), Reason: s.Reason, Error: known(s.Error)}
	if len(s.Evidence) > 0 {
		shown.Evidence = &s.Evidence
	}
	return shown
}

// GradeSample tries graders.
func (comparisonHandlers) GradeSample(ctx context.Context, req contract.GradeSampleRequestObject) (contract.GradeSampleResponseObject, error) {
	sample := grader.Sample{
		Input: valueOf(req.Body.Sample.Input, nil), Output: valueOf(req.Body.Sample.Output, nil), ReferenceOutput: valueOf(req.Body.Sample.ReferenceOutput, nil),
		Metadata: valueOf(req.Body.Sample.Metadata, nil), Message: valueOf(req.Body.Sample.Message, nil),
	}
	graders, err := evaluations.ParseGraders("body.graders", req.Body.Graders)
	if err != nil {
		return nil, err
	}
	answer := contract.GradeSample200JSONResponse{Scores: make([]contract.EvaluationScore, len(graders))}
	scores, err := execute.Grade(ctx, graders, &sample)
	if err != nil {
		return nil, err
	}
	for i, score := range scores {
		answer.Scores[i] = gradeOf(&score)
	}
	return answer, nil
}
