package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type scoreHandlers struct {
	runs scoreStore
}

type scoreStore interface {
	Scores(ctx context.Context, in access.Projects, runID uuid.UUID, q runs.ScoresQuery) (scores []runmodel.Score, more bool, err error)
	PutScore(ctx context.Context, by access.Grant, w runs.ScoreWrite) (stored runmodel.Score, created bool, err error)
	DeleteScore(ctx context.Context, in access.Projects, runID, scoreID uuid.UUID) error
}

// ListScores lists a run's scores.
func (h scoreHandlers) ListScores(ctx context.Context, req contract.ListScoresRequestObject) (contract.ListScoresResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	var err error
	query := runs.ScoresQuery{Limit: page.Limit, Offset: page.Offset}
	if query.SpanID, err = spanIDOf(req.Params.SpanId); err != nil {
		return nil, err
	}
	scores, more, err := h.runs.Scores(ctx, grantOf(ctx).Projects, req.RunId, query)
	if err != nil {
		return nil, err
	}
	return contract.ListScores200JSONResponse{Data: scoresOf(scores), Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// PutScore creates a score, or replaces the one with its id.
func (h scoreHandlers) PutScore(ctx context.Context, req contract.PutScoreRequestObject) (contract.PutScoreResponseObject, error) {
	spanID, err := spanIDOf(req.Body.SpanId)
	if err != nil {
		return nil, err
	}
	stored, created, err := h.runs.PutScore(ctx, grantOf(ctx), runs.ScoreWrite{
		RunID: req.RunId, SpanID: spanID, ID: valueOf(req.Body.Id, uuid.Nil), Name: valueOf(req.Body.Name, ""), Value: req.Body.Value,
		Comment: valueOf(req.Body.Comment, ""), Source: string(valueOf(req.Body.Source, "")),
	})
	if err != nil {
		return nil, err
	}
	if !created {
		return contract.PutScore200JSONResponse(scoreOf(&stored)), nil
	}
	location := "/v1/runs/" + stored.RunID.String() + "/scores/" + stored.ScoreID.String()
	return contract.PutScore201JSONResponse{Body: scoreOf(&stored), Headers: contract.PutScore201ResponseHeaders{Location: &location}}, nil
}

// DeleteScore deletes a score.
func (h scoreHandlers) DeleteScore(ctx context.Context, req contract.DeleteScoreRequestObject) (contract.DeleteScoreResponseObject, error) {
	if err := h.runs.DeleteScore(ctx, grantOf(ctx).Projects, req.RunId, req.ScoreId); err != nil {
		return nil, err
	}
	return contract.DeleteScore204Response{}, nil
}

// spanIDOf returns 0 for nil.
func spanIDOf(text *string) (uint64, error) {
	if text == nil {
		return 0, nil
	}
	id, err := strconv.ParseUint(*text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse span id: %w", err) // the document's pattern allows only hexadecimal digits
	}
	return id, nil
}

func scoresOf(scores []runmodel.Score) []contract.Score {
	list := make([]contract.Score, len(scores))
	for i := range scores {
		list[i] = scoreOf(&scores[i])
	}
	return list
}

func failedScoresOf(scores []runmodel.FailedScore) *[]contract.FailedScore {
	if len(scores) == 0 {
		return nil
	}
	list := make([]contract.FailedScore, len(scores))
	for i := range scores {
		list[i] = contract.FailedScore{Name: scores[i].Name, Value: scores[i].Value()}
	}
	return &list
}

func scoreOf(s *runmodel.Score) contract.Score {
	score := contract.Score{
		Id: s.ScoreID, RunId: s.RunID, Name: s.Name, Value: s.Value(), Comment: known(s.Comment), Source: contract.ScoreSource(s.Source),
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: time.Unix(0, int64(s.Version)).UTC(),
	}
	if s.Truncated {
		score.Truncated = &s.Truncated
	}
	if s.SpanID != 0 {
		id := runmodel.FormatSpanID(s.SpanID)
		score.SpanId = &id
	}
	if s.ValueKind == runmodel.ScoreNumber {
		score.Label = known(s.Label)
	}
	if s.AuthorKind != "" {
		score.Author = &contract.ScoreAuthor{Kind: contract.ScoreAuthorKind(s.AuthorKind), Id: s.AuthorID, Name: s.AuthorName}
	}
	return score
}

func scoreSummariesOf(summaries []runs.ScoreSummary) []contract.ScoreSummary {
	list := make([]contract.ScoreSummary, len(summaries))
	for i := range summaries {
		s := &summaries[i]
		list[i] = contract.ScoreSummary{
			Name: s.Name, Count: count(s.Count), SpanCount: count(s.OfSpans), Mean: s.Mean, Value: s.Value(),
			UpdatedAt: time.Unix(0, int64(s.Version)).UTC(), Authors: s.Authors, AuthorCount: count(s.AuthorCount),
		}
		if s.ValueKind == runmodel.ScoreNumber {
			list[i].Label = known(s.Label)
		}
	}
	return list
}
