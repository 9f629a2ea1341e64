package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// ListScores lists a run's scores.
func (a *api) ListScores(ctx context.Context, req ListScoresRequestObject) (ListScoresResponseObject, error) {
	scope, err := readable(ctx, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	page := pageOf(req.Params.Limit, req.Params.Offset)
	query := runs.ScoresQuery{Limit: page.Limit, Offset: page.Offset}
	if query.SpanID, err = spanIDOf(req.Params.SpanId); err != nil {
		return nil, err
	}
	scores, more, err := a.runs.Scores(ctx, scope, req.RunId, query)
	if err != nil {
		return nil, err
	}
	return ListScores200JSONResponse{Data: scoresOf(scores), Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// PutScore writes a score, or replaces the one of its id.
func (a *api) PutScore(ctx context.Context, req PutScoreRequestObject) (PutScoreResponseObject, error) {
	scope, err := writable(ctx, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	score, err := scoreFrom(req.Body, callOf(ctx).principal)
	if err != nil {
		return nil, err
	}
	score.RunID = req.RunId
	stored, created, err := a.runs.PutScore(ctx, scope, score)
	if err != nil {
		return nil, err
	}
	if !created {
		return PutScore200JSONResponse(scoreOf(&stored)), nil
	}
	location := "/v1/runs/" + stored.RunID.String() + "/scores/" + stored.ScoreID.String()
	return PutScore201JSONResponse{Body: scoreOf(&stored), Headers: PutScore201ResponseHeaders{Location: &location}}, nil
}

// DeleteScore deletes a score.
func (a *api) DeleteScore(ctx context.Context, req DeleteScoreRequestObject) (DeleteScoreResponseObject, error) {
	scope, err := writable(ctx, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	if err := a.runs.DeleteScore(ctx, scope, req.RunId, req.ScoreId); err != nil {
		return nil, err
	}
	return DeleteScore204Response{}, nil
}

// writable is the scope of what the caller may change: the project, or all where it may.
func writable(ctx context.Context, project *uuid.UUID) (runs.Scope, error) {
	principal := callOf(ctx).principal
	if project != nil {
		return runs.Scope{ProjectIDs: []uuid.UUID{*project}}, principal.Authorize(*project, apikey.ScopeRunsWrite)
	}
	projects, err := principal.ProjectsWith(apikey.ScopeRunsWrite)
	return runs.Scope{ProjectIDs: projects}, err
}

// scoreFrom reads what a principal says of a run.
func scoreFrom(body *ScoreWrite, by *identity.Principal) (runmodel.Score, error) {
	score := runmodel.Score{Name: valueOf(body.Name, ""), Comment: strings.TrimSpace(valueOf(body.Comment, ""))}
	var err error
	if score.SpanID, err = spanIDOf(body.SpanId); err != nil {
		return score, err
	}
	var invalid requestErrors
	if text, ok := body.Value.(string); ok && strings.TrimSpace(text) == "" {
		invalid = append(invalid, fieldError{Location: "body.value", Message: "must not be empty"})
	}
	if !score.SetValue(body.Value) {
		return score, fmt.Errorf("value of a score is a %T", body.Value) // the document lets no such value through
	}
	switch {
	case body.Value == nil && score.Comment == "":
		invalid = append(invalid, fieldError{Location: "body.value", Message: "is required where there is no comment"})
	case body.Value != nil && body.Name == nil:
		invalid = append(invalid, fieldError{Location: "body.name", Message: "is required with a value"})
	case body.Name == nil:
		score.Name = "comment"
	}
	if len(invalid) > 0 {
		return score, invalid
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

func scoresOf(scores []runmodel.Score) []Score {
	list := make([]Score, len(scores))
	for i := range scores {
		list[i] = scoreOf(&scores[i])
	}
	return list
}

func scoreOf(s *runmodel.Score) Score {
	score := Score{
		Id: s.ScoreID, RunId: s.RunID, Name: s.Name, Value: s.Value(), Comment: known(s.Comment), Source: ScoreSource(s.Source),
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
		score.Author = &ScoreAuthor{Kind: ScoreAuthorKind(s.AuthorKind), Id: s.AuthorID, Name: s.AuthorName}
	}
	return score
}
