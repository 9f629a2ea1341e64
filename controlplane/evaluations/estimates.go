package evaluations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/tokens"
	"github.com/looptrace/looptrace/internal/problem"
)

// Estimate is what an evaluation will do, and what it may cost.
type Estimate struct {
	Items       int64  `json:"items"`
	Calls       int64  `json:"calls"`
	JudgeCalls  int64  `json:"judge_calls"`
	InputTokens *int64 `json:"input_tokens"`
	// Low is the cost of the inputs alone, High that with the longest outputs. They are nil if unknown.
	Low            *providers.Money `json:"low"`
	High           *providers.Money `json:"high"`
	Basis          string           `json:"basis"`
	UnpricedModels []string         `json:"unpriced_models"`
	Incompatible   int64            `json:"incompatible"`
	Missing        []Missing        `json:"missing"`
	// Runs are those that a filter found, nil for other targets.
	Runs *FoundRuns `json:"runs,omitempty"`
}

// The bases of estimates.
const (
	BasisTokens = "tokens"
	BasisPilot  = "pilot"
)

// Missing is why items cannot be rendered.
type Missing struct {
	Side     string   `json:"side"`
	Variable string   `json:"variable"`
	Reason   string   `json:"reason"`
	Items    int64    `json:"items"`
	Examples []string `json:"examples"`
}

// AddCosts adds the costs of calls of a model to the estimate, and returns the name of their connection.
func (e *Estimate) AddCosts(
	ctx context.Context, models *providers.Service, projects access.Projects, location string, provider uuid.UUID, config *completions.Config, input float64, times int64,
) (string, error) {
	connection, err := models.Connect(ctx, projects, provider, config.Model)
	if err != nil {
		if problem.Is(err, problem.NotFound) {
			err = problem.InvalidField(location+".provider_id", "is no connection of the project")
		}
		return "", err //nolint:wrapcheck // it is for the client
	}
	if !connection.Priced() && !slices.Contains(e.UnpricedModels, config.Model) {
		e.UnpricedModels = append(e.UnpricedModels, config.Model)
	}
	one, most := connection.Estimate(int64(input), config.MaxOutputTokens)
	e.Low, e.High = sum(e.Low, one, times), sum(e.High, most, times)
	return connection.Provider.Name, nil
}

// sum adds an amount a number of times. The sum with an unknown amount is unknown.
func sum(total, one *providers.Money, times int64) *providers.Money {
	if total == nil || one == nil {
		return nil
	}
	return new(*total + *one*providers.Money(times))
}

// CountTokens counts the tokens of messages, about.
func CountTokens(messages []json.RawMessage) (int, error) {
	codec := tokens.Codec()
	total := 0
	for _, message := range messages {
		n, err := codec.Count(string(message))
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		total += n
	}
	return total, nil
}
