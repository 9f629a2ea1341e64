package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Note is what a provider's answer taught of a parameter of a model.
type Note struct {
	Parameter string    `json:"-"`
	Message   string    `json:"message"`
	LearnedAt time.Time `json:"learned_at"`
}

// adjustments are changes of how a request is written that do not change what it asks for.
type adjustments struct {
	TokenParameter  llm.TokenParameter `json:"token_parameter,omitempty"`
	OmitStreamUsage bool               `json:"omit_stream_usage,omitempty"`
}

// learned is what is known of a model.
type learned struct {
	Model string
	known
}

// known is what was learned, as it is stored.
type known struct {
	Adjustments    string
	Notes          string
	OutputStrategy *llm.Strategy
}

// notes returns the notes in the order of parameters.
func (l *learned) notes() ([]Note, error) {
	var byName map[string]Note
	if err := json.Unmarshal([]byte(l.Notes), &byName); err != nil {
		return nil, fmt.Errorf("decode the notes of a model: %w", err)
	}
	list := make([]Note, 0, len(byName))
	for name, note := range byName {
		note.Parameter = name
		list = append(list, note)
	}
	slices.SortFunc(list, func(a, b Note) int { return strings.Compare(a.Parameter, b.Parameter) })
	return list, nil
}

// adjust writes the request as earlier answers taught.
func (c *completion) adjust() {
	var kept adjustments
	if json.Unmarshal([]byte(c.learned.Adjustments), &kept) == nil {
		c.request.TokenParameter, c.request.OmitStreamUsage = kept.TokenParameter, kept.OmitStreamUsage
	}
	if c.learned.OutputStrategy != nil && c.wantsSchema() {
		c.request.Strategy = *c.learned.OutputStrategy
	}
}

func (c *completion) strategy() llm.Strategy {
	if c.request.Strategy == "" {
		return llm.Native
	}
	return c.request.Strategy
}

// strategies are the ways to ask for a structured answer, in the order in which they are tried.
var strategies = []llm.Strategy{llm.Native, llm.Tool, llm.JSONMode, llm.Text}

// learn keeps what a refusal taught. It returns true if the request was changed so that it may succeed now. What the user set is never
// changed, only how it is asked for.
func (c *completion) learn(ctx context.Context, failed *llm.Error) (bool, error) {
	if failed.Kind != llm.InvalidParameter || failed.Status == 0 {
		return false, nil
	}
	switch failed.Parameter {
	case "max_output_tokens":
		other := llm.MaxTokens
		if c.request.TokenParameter == llm.MaxTokens {
			other = llm.MaxCompletionTokens
		}
		var kept adjustments
		if json.Unmarshal([]byte(c.learned.Adjustments), &kept) == nil && kept.TokenParameter == "" && renamed(failed, other) {
			c.request.TokenParameter = other
			return true, c.keepAdjustments(ctx, adjustments{TokenParameter: other, OmitStreamUsage: kept.OmitStreamUsage})
		}
	case "stream_options":
		if !c.request.OmitStreamUsage {
			c.request.OmitStreamUsage = true
			return true, c.keepAdjustments(ctx, adjustments{TokenParameter: c.request.TokenParameter, OmitStreamUsage: true})
		}
	case "response_format", "tool_choice", "tools":
		if next, ok := c.nextStrategy(failed.Parameter); ok {
			c.request.Strategy = next
			return true, nil
		}
	}
	if failed.Parameter == "" {
		return false, nil
	}
	return false, c.keepNote(ctx, failed)
}

// renamed reports whether the refusal is of the parameter's name, not of its value.
func renamed(failed *llm.Error, other llm.TokenParameter) bool {
	return failed.Unsupported || strings.Contains(failed.Message, string(other))
}

// nextStrategy returns the next way to ask for a structured answer, if the refused parameter belongs to the one that was tried.
func (c *completion) nextStrategy(parameter string) (llm.Strategy, bool) {
	at := slices.Index(strategies, c.strategy())
	own := parameter == "response_format" || c.strategy() == llm.Tool
	if !c.wantsSchema() || !own || at+1 >= len(strategies) {
		return "", false
	}
	return strategies[at+1], true
}

func (c *completion) keepAdjustments(ctx context.Context, a adjustments) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode what was learned: %w", err)
	}
	c.learned.Adjustments = string(text)
	return c.keep(ctx, pgx.NamedArgs{"adjustment": string(text), "note": nil, "output_strategy": nil})
}

func (c *completion) keepStrategy(ctx context.Context, strategy llm.Strategy) error {
	if c.learned.OutputStrategy != nil && *c.learned.OutputStrategy == strategy {
		return nil
	}
	c.learned.OutputStrategy = &strategy
	return c.keep(ctx, pgx.NamedArgs{"adjustment": nil, "note": nil, "output_strategy": strategy})
}

func (c *completion) keepNote(ctx context.Context, failed *llm.Error) error {
	note := Note{Message: failed.Suggestion, LearnedAt: c.now()}
	if note.Message == "" {
		note.Message = failed.Message
	}
	text, err := json.Marshal(map[string]Note{failed.Parameter: note})
	if err != nil {
		return fmt.Errorf("encode what was learned: %w", err)
	}
	return c.keep(ctx, pgx.NamedArgs{"adjustment": nil, "note": string(text), "output_strategy": nil})
}

func (c *completion) keep(ctx context.Context, args pgx.NamedArgs) error {
	args["provider"], args["model"], args["now"] = c.Provider.ID, c.request.Model, c.now()
	_, err := c.db.Exec(ctx, "learn", args)
	if errors.Is(err, postgres.ErrNotFound) { // the connection was deleted meanwhile
		return nil
	}
	return err
}
