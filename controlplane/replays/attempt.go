package replays

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/grader"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/replay"
)

// callAttempts and callWait limit the calls of a model. Nobody waits for one of them, and a place that is not free is no failure.
const (
	callAttempts = 5
	callWait     = 24 * time.Hour
)

// Result is what an attempt was like, without texts of it.
type Result struct {
	// Outcome is 1 for a good end and 0 for another, or a score; nil if it is unknown.
	Outcome *float64 `json:"outcome"`
	// Spent is what its calls of models took. Exposure counts model calls and tool calls by where they come from.
	Spent    replay.Spent   `json:"spent"`
	Exposure map[string]int `json:"exposure"`
	Warnings []string       `json:"warnings"`
	Did      Did            `json:"did"`
	// ConeCalls counts calls in the cone, ConeLive those of them that were made. EnteredCone is whether there are any.
	ConeCalls   int  `json:"cone_calls"`
	ConeLive    int  `json:"cone_live"`
	EnteredCone bool `json:"entered_cone"`
	// OutsideDifferences counts steps that differ and that the edit cannot have changed.
	OutsideDifferences int `json:"outside_differences"`
	// Models and Fingerprints are those of answers that were made.
	Models       []string `json:"models"`
	Fingerprints []string `json:"fingerprints"`
	// Steps are where the steps of the attempt's run come from.
	Steps []StepSource `json:"steps"`
}

// StepSource is where a step of an attempt comes from.
type StepSource struct {
	// SpanID is that of the attempt's run, empty for a step that was not reached. Recorded is that of the recorded run, empty for a new step.
	SpanID   string        `json:"span_id,omitempty"`
	Recorded string        `json:"recorded,omitempty"`
	Source   replay.Source `json:"source"`
	Tier     replay.Tier   `json:"tier,omitempty"`
	InCone   bool          `json:"in_cone,omitempty"`
	Outside  bool          `json:"outside,omitempty"`
	// Did is a hash of what was decided, empty for a step that is no call.
	Did string `json:"did,omitempty"`
}

// ReadResult returns what the attempt was like, nil before its end.
func (a *Attempt) ReadResult() (*Result, error) {
	if a.Result == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	var result Result
	if err := json.Unmarshal([]byte(*a.Result), &result); err != nil {
		return nil, fmt.Errorf("read the result of attempt %d: %w", a.Number, err)
	}
	return &result, nil
}

// making is an attempt while it is made.
type making struct {
	*try
	a *Attempt

	mu       sync.Mutex
	warnings []string
}

// attempt makes an attempt, or what is missing of it, and records it as a run.
func (t *try) attempt(ctx context.Context, a *Attempt) error {
	m := &making{try: t, a: a}
	args := pgx.NamedArgs{"id": t.r.ID, "try": t.id, "number": a.Number}
	// The start that is stored is that of the run: an attempt that is recorded again must have the same.
	started := t.now()
	if err := mustChange(ctx, t.db, "begin attempt", args, pgx.NamedArgs{"now": started}); err != nil {
		return err
	}
	if a.StartedAt != nil {
		started = *a.StartedAt
	}
	done, err := m.done(ctx)
	if err != nil {
		return err
	}
	options, edits := t.config.options(), t.null
	options.Done, options.Store = done, m.store
	if a.Role == Treatment {
		edits = t.edits
	}
	made, err := replay.Replay(ctx, t.source.recording, edits, options, m.call)
	if err != nil {
		return err //nolint:wrapcheck // it is of call, of store, or of the context
	}
	result := m.result(ctx, made)
	if err := patiently(ctx, func() error { return m.record(ctx, made, started) }); err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode the result of an attempt: %w", err)
	}
	end := pgx.NamedArgs{"status": StatusSucceeded, "stop": string(made.Stop.Reason), "code": nil, "detail": nil, "result": string(text), "now": t.now()}
	if made.Stop.Detail != "" {
		end["detail"] = plain(strings.TrimSpace(made.Stop.Detail + " " + made.Stop.Remedy))
		end["code"] = string(made.Stop.Reason)
	}
	if made.Stop.Reason == replay.StopModelError {
		end["status"] = StatusFailed
	}
	return patiently(ctx, func() error {
		return t.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
			if err := mustChange(ctx, tx, "end attempt", args, end); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "remove steps", args)
			return err
		})
	})
}

// mustChange runs a statement that changes a row unless the try was replaced.
func mustChange(ctx context.Context, db postgres.DB, statement string, args ...pgx.NamedArgs) error {
	all := pgx.NamedArgs{}
	for _, some := range args {
		for name, value := range some {
			all[name] = value
		}
	}
	changed, err := db.Exec(ctx, statement, all)
	if err == nil && changed == 0 {
		return errNotMine
	}
	return err
}

// done returns the steps that were stored.
func (m *making) done(ctx context.Context) ([]replay.AttemptStep, error) {
	stored, err := postgres.Many[struct{ Content string }](ctx, m.db, "list steps", pgx.NamedArgs{"id": m.r.ID, "number": m.a.Number})
	if err != nil {
		return nil, err
	}
	steps := make([]replay.AttemptStep, len(stored))
	for i := range stored {
		if err := json.Unmarshal([]byte(stored[i].Content), &steps[i]); err != nil {
			return nil, fmt.Errorf("read step %d of attempt %d: %w", i, m.a.Number, err)
		}
	}
	return steps, nil
}

// store stores a step before the next one is made.
func (m *making) store(ctx context.Context, step replay.AttemptStep) error {
	text, err := json.Marshal(&step)
	if err != nil {
		return fmt.Errorf("encode a step: %w", err)
	}
	// What was answered is stored, also while the process stops.
	ctx = context.WithoutCancel(ctx)
	return patiently(ctx, func() error {
		return mustChange(ctx, m.db, "store step", pgx.NamedArgs{"id": m.r.ID, "try": m.id, "number": m.a.Number, "step": step.Index, "content": string(text)})
	})
}

// call calls a model within the cap of the replay.
func (m *making) call(ctx context.Context, call replay.Call) (replay.Answer, error) {
	request, err := call.Request.LLM()
	if refused := problem.Of(err); refused != nil {
		return replay.Answer{}, &replay.CallError{Type: "parameter_refused", Message: refused.Error()}
	}
	if err != nil {
		return replay.Answer{}, fmt.Errorf("make a request: %w", err)
	}
	connection, err := m.connect(ctx, request.Model)
	if err != nil {
		return replay.Answer{}, m.failed(ctx, err)
	}
	one := providers.Call{
		Request: request, Feature: providers.FeatureReplay, User: m.r.CreatedByID, KeyName: m.r.AuthorKey, Evaluation: &m.r.ID, AllowUnpriced: m.r.AllowUnpriced,
		Attempts: callAttempts, MaxWait: callWait,
	}
	if most := connection.Most(request); m.purse.Limited() {
		limit := providers.Money(0)
		if most != nil {
			taken, tries, err := m.purse.Take(ctx, *most, callAttempts)
			if err != nil {
				return replay.Answer{}, err //nolint:wrapcheck // it is of the context
			}
			if tries == 0 {
				m.halt(stopMaxCost, nil)
				return replay.Answer{}, errHalted
			}
			limit, one.Attempts = taken, tries
		}
		one.MaxCost = &limit
	}
	var answer providers.Answer
	err = patiently(ctx, func() (err error) {
		answer, err = connection.Complete(ctx, one)
		return err //nolint:wrapcheck // below
	})
	if one.MaxCost != nil && *one.MaxCost > 0 {
		m.purse.GiveBack(*one.MaxCost, answer.Counted)
	}
	if err != nil {
		return replay.Answer{}, m.failed(ctx, err)
	}
	m.warn(answer.Warnings)
	made := replay.Answer{
		Response: replay.ResponseOf(answer.Result), Duration: answer.Duration, TimeToFirstToken: answer.TimeToFirstToken, Attempts: answer.Attempts,
	}
	if answer.Cost != nil {
		made.CostUSD = new(answer.Cost.Dollars())
	}
	return made, nil
}

// warn keeps what calls differ in from what was asked for.
func (m *making) warn(warnings []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, warning := range warnings {
		if !slices.Contains(m.warnings, warning) {
			m.warnings = append(m.warnings, warning)
		}
	}
}

// failed returns the error of a call as the engine takes it: one of the call ends the attempt, one that a person must mend ends all.
func (m *making) failed(ctx context.Context, err error) error {
	refused := problem.Of(err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case refused == nil, refused.Code == problem.CodeDependency:
		return err
	case errors.Is(err, providers.ErrMaxCost): // a call that failed may have cost more than was reserved for it
		m.halt(stopMaxCost, nil)
		return errHalted
	case refused.Kind == problem.PaymentRequired:
		m.halt(stopBudget, nil)
		return errHalted
	case providers.NeedsPerson(refused.Code):
		m.halt("", refused)
		return errHalted
	}
	return &replay.CallError{Type: refused.Code, Message: refused.Error()}
}

// connect opens the connection for a model.
func (t *try) connect(ctx context.Context, model string) (*providers.Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.connections[model]; ok {
		return known, nil
	}
	connection, err := t.providers.Connect(ctx, access.OfJob(t.r.ProjectID), *t.config.ProviderID, model)
	if problem.Is(err, problem.NotFound) {
		return nil, &problem.Error{
			Kind: problem.NotFound, Code: providers.CodeDeleted, Detail: fmt.Sprintf("The connection %q was deleted. Start a new replay with another one.", t.config.ProviderName),
		}
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the user
	}
	t.connections[model] = connection
	return connection, nil
}

// result describes an attempt that ended.
func (m *making) result(ctx context.Context, made *replay.Attempt) *Result {
	r := &Result{Spent: made.Spent, Exposure: made.Exposure, Warnings: m.warnings, Models: []string{}, Fingerprints: []string{}}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	r.Outcome = m.grade(ctx, made)
	var n noting
	for i := range made.Steps {
		step := &made.Steps[i]
		inCone := step.Recorded < 0 || m.cone[step.Recorded]
		from := StepSource{Recorded: step.SpanID, Source: step.Source, Tier: step.Tier, InCone: inCone, Outside: step.Differs && !inCone}
		if step.Source != replay.SourceNotReached && !step.Unrecorded {
			from.SpanID = m.spanID(step)
		}
		if from.Outside {
			r.OutsideDifferences++
		}
		call := step.Kind != replay.KindFrame && step.Source != replay.SourceNotReached
		if call {
			from.Did = n.addStep(m.source.recording, step)
		}
		r.Steps = append(r.Steps, from)
		if !call {
			continue
		}
		if inCone {
			r.EnteredCone = true
			r.ConeCalls++
		}
		if step.Source == replay.SourceReissued {
			if inCone {
				r.ConeLive++
			}
			r.note(step.Response)
		}
	}
	r.Did = n.end(r.Outcome, made.Answer)
	r.Did.DurationMS = milliseconds(made.Duration)
	return r
}

// note keeps which model answered.
func (r *Result) note(response *replay.Response) {
	if response == nil {
		return
	}
	if response.Model != "" && !slices.Contains(r.Models, response.Model) {
		r.Models = append(r.Models, response.Model)
	}
	if response.Fingerprint != "" && !slices.Contains(r.Fingerprints, response.Fingerprint) {
		r.Fingerprints = append(r.Fingerprints, response.Fingerprint)
	}
}

// grade says whether the attempt came to a good end.
func (m *making) grade(ctx context.Context, made *replay.Attempt) *float64 {
	switch {
	case made.Stop.Reason != replay.StopCompleted:
		return nil
	case m.outcome != nil:
		return m.graded(ctx, made.Answer)
	}
	good := 1.
	for i := range made.Steps {
		if step := &made.Steps[i]; step.Parent < 0 && step.ErrorType+step.ErrorMessage != "" {
			good = 0
		}
	}
	return &good
}

// graded grades an answer, nil if there is none or it cannot be graded.
func (t *try) graded(ctx context.Context, answer *string) *float64 {
	if answer == nil {
		return nil
	}
	output, err := json.Marshal(*answer)
	if err != nil {
		return nil // a text always encodes
	}
	result := t.outcome.Grade(ctx, &grader.Sample{Input: jsonOf(t.source.run.Inputs), Output: output})
	return result.Score
}

func milliseconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(float64(*d) / float64(time.Millisecond))
}

func jsonOf(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	if json.Valid([]byte(*text)) {
		return json.RawMessage(*text)
	}
	encoded, err := json.Marshal(*text)
	if err != nil {
		return nil // a text always encodes
	}
	return encoded
}

// plain returns a text that PostgreSQL can store.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
