package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type scoreHandlers struct {
	runs scoreStore
}

type scoreStore interface {
	Scores(ctx context.Context, in access.Projects, runID uuid.UUID, q runs.ScoresQuery) (scores []runmodel.Score, more bool, err error)
	PutScore(ctx context.Context, in access.Projects, score runmodel.Score) (stored runmodel.Score, created bool, err error)
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

// PutScore writes a score, or replaces the one of its id.
func (h scoreHandlers) PutScore(ctx context.Context, req contract.PutScoreRequestObject) (contract.PutScoreResponseObject, error) {
	score, err := scoreFrom(req.Body, grantOf(ctx).Principal)
	if err != nil {
		return nil, err
	}
	score.RunID = req.RunId
	stored, created, err := h.runs.PutScore(ctx, grantOf(ctx).Projects, score)
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

// scoreFrom reads what a principal says of a run.
func scoreFrom(body *contract.ScoreWrite, by *access.Principal) (runmodel.Score, error) {
	score := runmodel.Score{Name: valueOf(body.Name, ""), Comment: strings.TrimSpace(valueOf(body.Comment, ""))}
	var err error
	if score.SpanID, err = spanIDOf(body.SpanId); err != nil {
		return score, err
	}
	var wrong []problem.Field
	if text, ok := body.Value.(string); ok && strings.TrimSpace(text) == "" {
		wrong = append(wrong, problem.Field{Location: "body.value", Message: "must not be empty"})
	}
	if !score.SetValue(body.Value) {
		return score, fmt.Errorf("value of a score is a %T", body.Value) // the document lets no such value through
	}
	switch {
	case body.Value == nil && score.Comment == "":
		wrong = append(wrong, problem.Field{Location: "body.value", Message: "is required where there is no comment"})
	case body.Value != nil && body.Name == nil:
		wrong = append(wrong, problem.Field{Location: "body.name", Message: "is required with a value"})
	case body.Name == nil:
		score.Name = "comment"
	}
	if len(wrong) > 0 {
		return score, problem.InvalidFields(wrong...)
	}
	if body.Id != nil {
		score.ScoreID = *body.Id
	} else if score.ScoreID, err = uuid.NewV7(); err != nil {
		return score, fmt.Errorf("make an id: %w", err)
	}
	if by.User != nil {
		score.AuthorKind, score.AuthorID, score.AuthorName, score.Source = runmodel.ScoreByUser, by.User.ID, by.User.Email, runmodel.ScoreHuman
	} else {
		score.AuthorKind, score.AuthorID, score.AuthorName, score.Source = runmodel.ScoreByKey, by.Key.ID, by.Key.Name, runmodel.ScoreProgram
	}
	if body.Source != nil {
		score.Source = string(*body.Source)
	}
	return score, nil
}

// spanIDOf is 0 for none.
func spanIDOf(text *string) (uint64, error) {
	if text == nil {
		return 0, nil
	}
	id, err := strconv.ParseUint(*text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse span id: %w", err) // the document's pattern lets hexadecimal digits only through
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
