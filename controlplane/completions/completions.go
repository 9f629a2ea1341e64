// Package completions completes messages with a model, answers its tool calls as the caller says, and records that as a run.
package completions

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// recordedBody is the size up to which the bodies of requests and responses are recorded.
const recordedBody = 1 << 20

// Service completes messages.
type Service struct {
	providers *providers.Service
	recorder  *recording.Recorder
	now       func() time.Time
}

// New returns a service. now is the clock.
func New(models *providers.Service, recorder *recording.Recorder, now func() time.Time) *Service {
	return &Service{models, recorder, postgres.Clock(now)}
}

// Caller is for whom a completion is made.
type Caller struct {
	Projects access.Projects
	Project  uuid.UUID
	Feature  providers.Feature
	// Source is that of the run.
	Source string
	// User or KeyName is who asked. Email is that of the user.
	User    *uuid.UUID
	KeyName *string
	Email   string
	// Evaluation is that for which the completion is made, nil for none.
	Evaluation *uuid.UUID
	// Metadata is that of the run, besides what every completion has.
	Metadata map[string]any
	// Attempts is how often a call of the model is tried. MaxWait limits the time of waiting for places and between attempts.
	Attempts int
	MaxWait  time.Duration
}

// Request is a completion to make.
type Request struct {
	Provider       uuid.UUID
	Messages       []json.RawMessage
	Tools          []json.RawMessage
	ResponseFormat json.RawMessage
	Config         Config
	ToolAnswers    map[string]ToolAnswer
	// MaxRounds is how often the model may be called.
	MaxRounds     int
	MaxCost       *providers.Money
	AllowUnpriced bool
	ThreadID      string
	Prompt        *recording.Prompt
	Variables     map[string]any
}

// Config is a model with its parameters, as in versions of prompts.
type Config struct {
	ProviderID      *uuid.UUID      `json:"provider_id"`
	Model           string          `json:"model"`
	Temperature     *float64        `json:"temperature"`
	TopP            *float64        `json:"top_p"`
	MaxOutputTokens *int64          `json:"max_output_tokens"`
	Stop            []string        `json:"stop"`
	Seed            *int64          `json:"seed"`
	ReasoningEffort *string         `json:"reasoning_effort"`
	ToolChoice      json.RawMessage `json:"tool_choice"`
	Extra           json.RawMessage `json:"extra"`
}

// Events gets what happens while a streamed completion is made. An error of it ends the completion.
type Events interface {
	Start(run uuid.UUID) error
	Delta(d llm.Delta) error
	ToolResult(call ToolCall, content string) error
	Message(message json.RawMessage) error
}

// StopReason is why a completion ended.
type StopReason string

// The reasons.
const (
	Finished  StopReason = "finished"
	ToolCalls StopReason = "tool_calls"
	MaxRounds StopReason = "max_rounds"
	MaxCost   StopReason = "max_cost"
)

// Completion is an answer with all rounds.
type Completion struct {
	Run uuid.UUID
	// Message is the last message of the model. Added are all messages after those of the request.
	Message json.RawMessage
	Added   []json.RawMessage
	// Last is the answer of the last round.
	Last       providers.Answer
	StopReason StopReason
	Rounds     int
	Attempts   int
	Usage      llm.Usage
	// Cost is of all rounds, also of one that failed, nil if that of one is unknown.
	Cost     *providers.Money
	Duration time.Duration
	// TimeToFirstToken is that of the first round, 0 if it is unknown.
	TimeToFirstToken time.Duration
	Warnings         []string
}

// ModelRequest returns the request of the first round.
func (r *Request) ModelRequest() (llm.Request, error) {
	if r.Config.Model == "" {
		return llm.Request{}, problem.InvalidField("body.model_config.model", "is missing: name a model")
	}
	model := llm.Request{
		Model: r.Config.Model, Messages: r.Messages, Tools: r.Tools, ToolChoice: r.Config.ToolChoice, ResponseFormat: r.ResponseFormat,
		Temperature: r.Config.Temperature, TopP: r.Config.TopP, MaxOutputTokens: r.Config.MaxOutputTokens, Stop: r.Config.Stop,
		Seed: r.Config.Seed, ReasoningEffort: r.Config.ReasoningEffort, Extra: r.Config.Extra,
	}
	return withParallel(model)
}

// Completing is a completion while it is made.
type Completing struct {
	*Service
	caller     *Caller
	request    *Request
	model      llm.Request
	connection *providers.Connection
	events     Events // nil if it is not streamed
	answers    map[string]*toolAnswers
	out        Completion
	run        recording.Run
	spent      providers.Money
	counted    providers.Money // against MaxCost: known costs, and the most that calls of unknown cost can have cost
	unknown    bool            // whether the cost of a round is unknown
}

// Begin begins a completion. It calls no model.
func (s *Service) Begin(ctx context.Context, caller *Caller, request *Request) (*Completing, error) {
	model, err := request.ModelRequest()
	if err != nil {
		return nil, err
	}
	c := &Completing{Service: s, caller: caller, request: request, model: model, answers: map[string]*toolAnswers{}}
	if c.connection, err = s.providers.Connect(ctx, caller.Projects, request.Provider, model.Model); err != nil {
		if problem.Is(err, problem.NotFound) {
			err = problem.InvalidField("body.provider_id", "is no connection of the project")
		}
		return nil, err
	}
	for name, answer := range request.ToolAnswers {
		c.answers[name] = &toolAnswers{answer: answer}
	}
	c.out.Run, c.out.Added, c.out.Warnings = uuid.Must(uuid.NewV7()), []json.RawMessage{}, []string{}
	c.begin()
	return c, nil
}

// Complete completes the messages, and records that as a run. With events, it streams.
func (c *Completing) Complete(ctx context.Context, events Events) (Completion, error) {
	c.events = events
	err := c.rounds(ctx)
	if c.out.Attempts == 0 && (errors.Is(err, work.ErrPreempted) || errors.Is(err, work.ErrFenced)) { // nothing was called
		return c.out, err
	}
	c.record(ctx, err)
	if !c.unknown {
		c.out.Cost = &c.spent
	}
	return c.out, err
}

// CompleteWithin completes the messages within a budget, which counts known costs, and the most that calls of unknown cost can have cost.
// It returns [providers.ErrSpent] if the budget is spent; nothing was called then.
func (c *Completing) CompleteWithin(ctx context.Context, budget *providers.Budget) (Completion, error) {
	var done Completion
	err := budget.Spend(ctx, c.connection.Most(c.model), c.caller.Attempts, func(maxCost *providers.Money, attempts int) (_ providers.Money, err error) {
		if maxCost != nil {
			limited, caller := *c.request, *c.caller
			limited.MaxCost, caller.Attempts = maxCost, attempts
			c.request, c.caller = &limited, &caller
		}
		done, err = c.Complete(ctx, nil)
		return c.counted, err
	})
	return done, err
}

// rounds calls the model until it is done.
func (c *Completing) rounds(ctx context.Context) error {
	if c.events != nil {
		if err := c.events.Start(c.out.Run); err != nil {
			return err
		}
	}
	for {
		err := c.round(ctx)
		ctx = work.WithoutPreemption(ctx)                             // the first round is paid
		if errors.Is(err, providers.ErrMaxCost) && c.out.Rounds > 0 { // what it was answered so far is paid
			c.out.StopReason = MaxCost
			return nil
		}
		if err != nil {
			return err
		}
		calls := ToolCallsOf(c.out.Message)
		if len(calls) == 0 {
			c.out.StopReason = Finished
			return nil
		}
		results, ok := c.resultsOf(calls)
		switch {
		case !ok:
			c.out.StopReason = ToolCalls
			return nil
		case c.out.Rounds >= c.request.MaxRounds:
			c.out.StopReason = MaxRounds
			return nil
		}
		for i, call := range calls {
			if err := c.answer(call, results[i]); err != nil {
				return err
			}
		}
	}
}

// round calls the model once.
func (c *Completing) round(ctx context.Context) error {
	call := providers.Call{
		Request: c.model, Feature: c.caller.Feature, Evaluation: c.caller.Evaluation, User: c.caller.User, KeyName: c.caller.KeyName,
		AllowUnpriced: c.request.AllowUnpriced, Attempts: c.caller.Attempts, MaxWait: c.caller.MaxWait,
	}
	if limit := c.request.MaxCost; limit != nil {
		call.MaxCost = new(*limit - c.counted)
	}
	if c.events != nil {
		call.OnDelta = c.events.Delta
	}
	start := c.now()
	answer, err := c.connection.Complete(ctx, call)
	c.out.Attempts += answer.Attempts
	c.counted += answer.Counted
	for _, warning := range answer.Warnings {
		if !slices.Contains(c.out.Warnings, warning) { // each round may have it
			c.out.Warnings = append(c.out.Warnings, warning)
		}
	}
	if !errors.Is(err, providers.ErrMaxCost) || c.out.Rounds == 0 || answer.Attempts > 0 {
		c.addModelSpan(start, &answer, err)
	}
	if answer.Cost == nil {
		c.unknown = true
	} else {
		c.spent += *answer.Cost
	}
	if err != nil {
		return err //nolint:wrapcheck // it is for the client
	}
	c.out.Rounds++
	c.out.Last, c.out.Message = answer, answer.Message
	c.out.Duration += answer.Duration
	if c.out.Rounds == 1 {
		c.out.TimeToFirstToken, c.out.Usage = answer.TimeToFirstToken, llm.Usage{}
	}
	c.addUsage(answer.Usage)
	return c.add(answer.Message)
}

// add adds a message to those of the next round.
func (c *Completing) add(message json.RawMessage) error {
	c.out.Added = append(c.out.Added, message)
	c.model.Messages = append(c.model.Messages[:len(c.model.Messages):len(c.model.Messages)], message)
	if c.events != nil {
		return c.events.Message(message)
	}
	return nil
}

// addUsage adds the tokens of a round. A member that one round does not tell stays unknown.
func (c *Completing) addUsage(usage *llm.Usage) {
	if usage == nil {
		usage = &llm.Usage{}
	}
	first := c.out.Rounds == 1
	total := &c.out.Usage
	for _, member := range []struct{ total, round **int64 }{
		{&total.Input, &usage.Input},
		{&total.Output, &usage.Output},
		{&total.CacheRead, &usage.CacheRead},
		{&total.CacheWrite, &usage.CacheWrite},
		{&total.Reasoning, &usage.Reasoning},
	} {
		switch {
		case *member.round == nil:
			*member.total = nil
		case first:
			*member.total = new(**member.round)
		case *member.total != nil:
			*member.total = new(**member.total + **member.round)
		}
	}
}

func newSpanID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	id[0] |= 1              // an id of zeros is none
	return hex.EncodeToString(id[:])
}

// failureOf returns what a run records of an error, and its status.
func failureOf(err error) (recording.Status, *recording.Failure) {
	if err == nil {
		return recording.StatusOK, nil
	}
	var failed *llm.Error
	if errors.Is(err, context.Canceled) || errors.As(err, &failed) && failed.Kind == llm.Cancelled {
		return recording.StatusCancelled, nil
	}
	failure := &recording.Failure{Type: "internal", Message: "The control plane failed."}
	if refused := problem.Of(err); refused != nil {
		failure.Type, failure.Message = refused.Code, refused.Error()
	}
	if failed != nil {
		failure.Message = failed.Error()
	}
	return recording.StatusError, failure
}
