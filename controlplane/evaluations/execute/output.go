package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// output makes an output and grades it. It returns nil if the cap does not allow it. An error is no failure of the output: the
// attempt cannot go on.
func (a *attempt) output(ctx context.Context, t task) (*OutputRow, error) {
	made := OutputRow{Number: t.number, Side: t.side, Repeat: t.repeat, Status: evaluations.OutputOK, Scores: "[]"}
	r := a.renderers[t.side]
	switch {
	case a.config.Sides[t.side].Reference:
		return &made, a.reference(ctx, &made, t)
	case r == nil:
		return &made, a.copy(ctx, &made, t)
	}
	rendered, variables, err := r.Render(t.item)
	if err != nil {
		return a.failedRow(ctx, &made, err)
	}
	caller := a.caller
	caller.Metadata = map[string]any{
		"evaluation_id": a.e.ID, "dataset_id": a.e.DatasetID, "dataset_item_id": t.item.ItemID, "dataset_revision": a.e.Revision, "side": evaluations.SideNames[t.side], "repeat": t.repeat,
	}
	if t.item.Key != nil {
		caller.Metadata["dataset_item_key"] = *t.item.Key
	}
	completing, err := a.begin(ctx, &caller, r.Side.ProviderName, &completions.Request{
		Provider: r.Side.ProviderID, Messages: rendered.Messages, Tools: r.Template.Tools, ResponseFormat: orNone(r.Template.ResponseFormat), Config: r.Config,
		MaxRounds: 1, MaxCost: a.e.MaxCostNanousd, AllowUnpriced: a.e.AllowUnpriced, Prompt: r.Side.Prompt, Variables: variables,
	})
	if err != nil {
		return a.failedRow(ctx, &made, err)
	}
	done, err := a.complete(ctx, r.Side.ProviderName, completing)
	if done == nil { // the money is spent, or the attempt ends
		return nil, err
	}
	made.RunID, made.Requests = done.Run, done.Attempts
	made.CreatedAt = a.now()
	if err != nil {
		return a.failedRow(ctx, &made, err)
	}
	a.stopping.note(t.side, nil)
	made.fill(done)
	_, err = made.Grade(context.WithoutCancel(ctx), a.graders, t.item, Known{}) // the answer is paid
	return &made, err
}

// failedRow stores a failure as the output, unless it says that the attempt cannot go on.
func (a *attempt) failedRow(ctx context.Context, made *OutputRow, err error) (*OutputRow, error) {
	refused, stopped, err := a.failure(ctx, err)
	if refused == nil || stopped {
		return nil, err
	}
	made.Status, made.ErrorCode, made.ErrorDetail, made.CreatedAt = evaluations.OutputFailed, &refused.Code, new(utf8text.Storable(refused.Error())), a.now()
	a.stopping.note(made.Side, refused)
	return made, nil
}

// fill fills in a completion.
func (r *OutputRow) fill(done *completions.Completion) {
	r.Message = new(string(done.Message))
	if output := outputOf(done); output != nil {
		r.Output = new(string(output))
	}
	r.Model, r.Fingerprint, r.FinishReason = optional.NonZero(utf8text.Storable(done.Last.Model)), optional.NonZero(utf8text.Storable(done.Last.Fingerprint)), optional.NonZero(utf8text.Storable(done.Last.FinishReason))
	r.DurationMS = new(float64(done.Duration) / float64(time.Millisecond))
	u := done.Usage
	r.Input, r.OutputTokens, r.CacheRead, r.CacheWrite, r.Reasoning = u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning
	if done.Cost != nil {
		r.Cost = new(int64(*done.Cost))
	}
}

// outputOf returns the value that follows the response format, else the text of the message, else nothing.
func outputOf(done *completions.Completion) json.RawMessage {
	if done.Last.Structured != nil {
		return done.Last.Structured
	}
	var message struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(done.Message, &message) != nil || jsontext.IsNull(message.Content) {
		return nil
	}
	return message.Content
}

// Known is what is known of an output besides its row.
type Known struct {
	// scores are those that it has. Graders with their names do not grade it.
	Scores []evaluations.Score
	// calls are its tool calls, nil if they are not known.
	calls []grader.ToolCall
	// later is whether more is known later: scores of graders that look at what is not known now are left out.
	Later bool
	// until is when grading ends, nil for never: scores that would come after it are left out.
	Until *Deadline
}

// Deadline is when a request ends grading.
type Deadline struct {
	At   time.Time
	over bool
}

// Passed reports whether it is over.
func (d *Deadline) Passed() bool {
	if d != nil && !d.over {
		d.over = time.Now().After(d.At)
	}
	return d != nil && d.over
}

// Grade grades an output. It reports whether scores were left out.
func (r *OutputRow) Grade(ctx context.Context, graders []*grader.Grader, item *datasets.Item, g Known) (left bool, err error) {
	sample, err := r.sample(item)
	if err != nil {
		return false, err
	}
	sample.ToolCalls = g.calls
	scores := append([]evaluations.Score{}, g.Scores...)
	for _, one := range graders {
		if slices.ContainsFunc(g.Scores, func(s evaluations.Score) bool { return s.Name == one.Name() }) {
			continue
		}
		if g.Until.Passed() {
			left = true
			continue
		}
		found := one.Grade(ctx, sample)
		if g.Later && found.Lacking {
			left = true
			continue
		}
		scores = append(scores, scoreOf(one, &found))
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	text, err := json.Marshal(scores)
	if err != nil {
		return false, fmt.Errorf("encode scores: %w", err)
	}
	r.Scores = string(text)
	return left, nil
}

// sample returns what is graded of an output.
func (r *OutputRow) sample(item *datasets.Item) (*grader.Sample, error) {
	sample := &grader.Sample{
		Input: json.RawMessage(item.Input), ReferenceOutput: json.RawMessage(item.ReferenceOutput), InputTokens: r.Input, OutputTokens: r.OutputTokens,
		FinishReason: optional.Value(r.FinishReason),
	}
	if r.Message != nil {
		sample.Message = json.RawMessage(*r.Message)
	}
	if r.Output != nil {
		sample.Output = json.RawMessage(*r.Output)
	}
	if r.DurationMS != nil {
		sample.Duration = new(time.Duration(*r.DurationMS * float64(time.Millisecond)))
	}
	if r.Cost != nil {
		sample.CostUSD = new(providers.Money(*r.Cost).Dollars())
	}
	if item.Metadata != "" {
		if err := json.Unmarshal([]byte(item.Metadata), &sample.Metadata); err != nil {
			return nil, fmt.Errorf("read the metadata of item %s: %w", item.ItemID, err)
		}
	}
	return sample, nil
}

// Grade returns what graders find. All of them together have the time that the context gives.
func Grade(ctx context.Context, graders []*grader.Grader, sample *grader.Sample) ([]evaluations.Score, error) {
	scores := make([]evaluations.Score, len(graders))
	for i, g := range graders {
		found := g.Grade(ctx, sample)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		scores[i] = scoreOf(g, &found)
	}
	return scores, nil
}

func scoreOf(g *grader.Grader, found *grader.Result) evaluations.Score {
	return evaluations.Score{Name: g.Name(), Value: found.Score, Pass: found.Pass, Reason: utf8text.Storable(found.Reason), Error: utf8text.Storable(found.Error), Evidence: found.Evidence}
}

func orNone(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
