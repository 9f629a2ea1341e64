package execute

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
)

// judgedOutput is an output that is judged.
type judgedOutput struct {
	Number  int32
	Side    int
	Repeat  int
	Output  *string
	Message *string
}

// judged returns what a judge gets to see of it.
func (o *judgedOutput) judged() *judge.Output {
	out := judge.Output{Text: json.RawMessage(optional.Value(o.Output))}
	for _, call := range completions.ToolCallsOf(json.RawMessage(optional.Value(o.Message))) {
		out.ToolCalls = append(out.ToolCalls, judge.ToolCall{Name: call.Name, Arguments: json.RawMessage(call.Arguments)})
	}
	return &out
}

// storedVote is a vote that is there.
type storedVote struct {
	evaluations.VoteKey
	Status judge.Status
	Value  *float64
}

// findVotes finds the votes that are missing, or with escalated those of escalations.
func (a *attempt) findVotes(ctx context.Context, after, last int32, escalated bool, requests chan<- voteRequest) error {
	for {
		var found voteRequestPage
		err := work.Retry(ctx, func() (err error) {
			found, err = a.nextVotes(ctx, after, last, escalated)
			return err
		})
		if err != nil || found.last == 0 {
			return err
		}
		if err := a.send(ctx, found.missing, requests); err != nil || a.stopped() {
			return err
		}
		after = found.last
	}
}

// voteRequestPage is the votes that are missing on some items. last is the number of the last of these, 0 for none.
type voteRequestPage struct {
	missing []voteRequest
	last    int32
}

// nextVotes returns the votes that are missing on the next items with numbers after one and up to another.
func (a *attempt) nextVotes(ctx context.Context, after, last int32, escalated bool) (found voteRequestPage, err error) {
	page, err := postgres.Many[struct {
		Number  int32
		Ordinal int64
	}](ctx, a.db, "list items to judge", pgx.NamedArgs{"id": a.e.ID, "after": after, "last": last, "limit": maxWorkPage})
	if err != nil || len(page) == 0 {
		return found, err
	}
	numbers, ordinals := make([]int32, len(page)), make([]int64, len(page))
	for i, p := range page {
		numbers[i], ordinals[i] = p.Number, p.Ordinal
	}
	items, err := a.itemsAt(ctx, ordinals)
	if err != nil {
		return found, err
	}
	outputs, err := postgres.Many[judgedOutput](ctx, a.db, "list outputs to judge", pgx.NamedArgs{"id": a.e.ID, "numbers": numbers})
	if err != nil {
		return found, err
	}
	stored, err := postgres.Many[storedVote](ctx, a.db, "list votes of items", pgx.NamedArgs{"id": a.e.ID, "numbers": numbers})
	if err != nil {
		return found, err
	}
	byNumber := map[int32]*datasets.Item{}
	for _, p := range page {
		byNumber[p.Number] = items[p.Ordinal]
	}
	if found.missing, err = a.missing(outputs, stored, byNumber, escalated); err != nil {
		return found, err
	}
	found.last = numbers[len(numbers)-1]
	return found, a.useCache(ctx, found.missing)
}

func (a *attempt) send(ctx context.Context, list []voteRequest, requests chan<- voteRequest) error {
	for i := range list {
		select {
		case requests <- list[i]:
		case <-a.stopping.reached:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// missing returns the votes that are missing on outputs.
func (a *attempt) missing(outputs []judgedOutput, stored []storedVote, items map[int32]*datasets.Item, escalated bool) ([]voteRequest, error) {
	done := map[evaluations.VoteKey]*storedVote{}
	for i := range stored {
		done[stored[i].VoteKey] = &stored[i]
	}
	type key struct {
		number       int32
		side, repeat int
	}
	byKey := map[key]*judgedOutput{}
	for i := range outputs {
		byKey[key{outputs[i].Number, outputs[i].Side, outputs[i].Repeat}] = &outputs[i]
	}
	var list []voteRequest
	for i := range outputs {
		o := &outputs[i]
		for p := range a.panels {
			both := a.panels[p].Kind == judge.TypePreference
			other := byKey[key{o.Number, evaluations.SideB, o.Repeat}]
			if both && (o.Side == evaluations.SideB || other == nil) {
				continue
			}
			for _, key := range a.keysOf(p, o, escalated, done) {
				if done[key] != nil {
					continue
				}
				one, err := a.request(key, items[o.Number], o, other)
				if err != nil {
					return nil, err
				}
				list = append(list, one)
			}
		}
	}
	return list, nil
}

// keysOf returns the votes of a panel on an output.
func (a *attempt) keysOf(p int, o *judgedOutput, escalated bool, done map[evaluations.VoteKey]*storedVote) []evaluations.VoteKey {
	ready := &a.panels[p]
	from, to := 0, len(ready.Judges)
	if escalated {
		if ready.Escalation == nil || !a.splits(p, o, done) {
			return nil
		}
		from, to = to, to+1
	}
	var keys []evaluations.VoteKey
	for vote := 1; vote <= maxVotes; vote++ {
		for j := from; j < to; j++ {
			for _, swapped := range ready.Orders() {
				if vote <= ready.All[j].Repeats {
					keys = append(keys, evaluations.VoteKey{Number: o.Number, Side: o.Side, Repeat: o.Repeat, Panel: p, Judge: j, Vote: vote, Swapped: swapped})
				}
			}
		}
	}
	return keys
}

// maxVotes is how often a judge votes on an output.
const maxVotes = 10

// request makes the question of a vote. other is the output of side b for a preference.
func (a *attempt) request(key evaluations.VoteKey, item *datasets.Item, o, other *judgedOutput) (voteRequest, error) {
	one := &a.panels[key.Panel].All[key.Judge]
	b := voteRequest{VoteKey: key, item: item}
	var err error
	if a.panels[key.Panel].Kind == judge.TypePreference {
		order := judge.OrderAB
		if key.Swapped {
			order = judge.OrderBA
		}
		b.question, err = one.AskPreference(evaluations.JudgeItem(item), o.judged(), other.judged(), order, a.e.Seed)
	} else {
		b.question, err = one.Ask(evaluations.JudgeItem(item), o.judged(), a.e.Seed)
	}
	if err != nil {
		return b, fmt.Errorf("ask judge %s about item %s: %w", one.Name, item.ItemID, err)
	}
	hash := sha256.New()
	parts := []string{
		a.e.ProjectID.String(), one.Stored.Version, item.Input, item.ReferenceOutput, item.Metadata, optional.Value(o.Output), optional.Value(o.Message), fmt.Sprint(key.Vote, key.Swapped),
	}
	if other != nil && a.panels[key.Panel].Kind == judge.TypePreference {
		parts = append(parts, optional.Value(other.Output), optional.Value(other.Message))
	}
	for _, part := range parts {
		hash.Write(binary.AppendUvarint(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	b.cacheKey = hash.Sum(nil)
	return b, nil
}

// useCache finds votes that were made before for the same questions.
func (a *attempt) useCache(ctx context.Context, list []voteRequest) error {
	if !a.config.Cache || len(list) == 0 {
		return nil
	}
	keys := make([][]byte, len(list))
	for i := range list {
		keys[i] = list[i].cacheKey
	}
	found, err := postgres.Many[struct {
		CacheKey []byte
		Value    *float64
		Label    *string
		Reason   string
		Raw      *string
		Model    *string
		RunID    *uuid.UUID
	}](ctx, a.db, "find cached votes", pgx.NamedArgs{"project": a.e.ProjectID, "keys": keys})
	if err != nil {
		return err
	}
	known := map[string]int{}
	for i := range found {
		known[string(found[i].CacheKey)] = i
	}
	for i := range list {
		at, ok := known[string(list[i].cacheKey)]
		if !ok {
			continue
		}
		f := &found[at]
		list[i].made = &evaluations.VoteRow{
			VoteKey: list[i].VoteKey, Status: judge.StatusOK, Value: f.Value, Label: f.Label, Reason: f.Reason, Raw: f.Raw, Truncated: len(list[i].question.Cut) > 0, Cached: true,
			CacheKey: hex.EncodeToString(list[i].cacheKey), Model: f.Model, RunID: f.RunID, Cost: new(int64(0)), CreatedAt: a.now(),
		}
	}
	return nil
}

// splits reports whether the judges of a panel have voted on an output, and split.
func (a *attempt) splits(p int, o *judgedOutput, done map[evaluations.VoteKey]*storedVote) bool {
	ready := &a.panels[p]
	in := ready.Input(0)
	var values []float64
	for j := range ready.Regular() {
		first := len(in.Votes)
		for vote := 1; vote <= ready.All[j].Repeats; vote++ {
			for _, swapped := range ready.Orders() {
				v := done[evaluations.VoteKey{Number: o.Number, Side: o.Side, Repeat: o.Repeat, Panel: p, Judge: j, Vote: vote, Swapped: swapped}]
				if v == nil {
					return false // its panel is not done
				}
				cast := ready.Vote(j, vote, swapped, panel.Pending)
				ready.SetVote(&cast, v.Status, v.Value)
				in.Votes = append(in.Votes, cast)
			}
		}
		values = append(values, in.ValueFrom(first))
	}
	return in.Splits(values)
}
