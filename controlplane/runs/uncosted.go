package runs

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
)

// UncostedModel is how spans of a project name a model, and how many of them have tokens but no cost.
type UncostedModel struct {
	Provider      string    `ch:"provider"`
	RequestModel  string    `ch:"request_model"`
	ResponseModel string    `ch:"response_model"`
	Spans         uint64    `ch:"spans"`
	LastStart     time.Time `ch:"last_start"`
}

// maxUncostedModels is how many models are listed. Clients choose their names.
const maxUncostedModels = 1000

// UncostedModels lists the models of spans that started at since or later and were received with tokens but without a cost, the most used
// first. It ignores costs that were computed later: the caller decides whether a model has a price by now.
func (s *Service) UncostedModels(ctx context.Context, projects access.Projects, since time.Time) ([]UncostedModel, error) {
	w := inProjects()
	w.hours(since, s.now().Add(time.Hour))
	w.add("(input_tokens IS NOT NULL OR output_tokens IS NOT NULL)")
	w.add("cost_usd IS NULL AND other_tokens IS NULL") // no price would give a call a cost that is not itemised
	var models []UncostedModel
	err := query(ctx, s.conn, projects, &models, `
		SELECT substring(provider, 1, 1025) AS provider, substring(request_model, 1, 1025) AS request_model,
			substring(response_model, 1, 1025) AS response_model, count() AS spans, max(start_time) AS last_start
		FROM spans WHERE `+w.String()+`
		GROUP BY provider, request_model, response_model
		ORDER BY spans DESC, last_start DESC LIMIT ?`, append(w.args, maxUncostedModels)...)
	return models, err
}
