package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/problem"
)

// votesAtOnce is how many judges are asked about an output at once.
const votesAtOnce = 8

// apart returns an attempt that asks judges without an evaluation.
func (s *Worker) apart(panels []evaluations.ReadyPanel, caller completions.Caller, maxCost *providers.Money, allowUnpriced bool) *attempt {
	return &attempt{
		Worker: s, e: evaluations.Evaluation{ProjectID: caller.Project, MaxCostNanousd: maxCost, AllowUnpriced: allowUnpriced}, stopping: stopping{reached: make(chan struct{})},
		budget: providers.NewBudget(maxCost, 0), panels: panels, caller: caller,
	}
}

// Scoring is how outputs are scored.
type Scoring struct {
	// Graders are those of package grader.
	Graders []json.RawMessage   `json:"graders"`
	Panels  []evaluations.Panel `json:"panels"`
}

// Scorer scores outputs that belong to no evaluation, such as those of recorded runs. Several outputs may be scored at once.
type Scorer struct {
	*Worker
	graders []*grader.Grader
	panels  []evaluations.ReadyPanel
}

// NewScorer checks how outputs are scored, and fills in the defaults of panels. An error names the members below body. Outputs have no
// reference output, and there is one of each: what needs more is refused.
func (s *Worker) NewScorer(scoring *Scoring) (*Scorer, error) {
	sc := &Scorer{Worker: s}
	var err error
	if sc.graders, err = evaluations.ParseGraders("body.graders", scoring.Graders); err != nil {
		return nil, err
	}
	for i := range scoring.Panels {
		if scoring.Panels[i].Kind == judge.TypePreference {
			return nil, problem.InvalidField(fmt.Sprintf("body.panels[%d].kind", i), "is preference, which compares two outputs: a run has one")
		}
	}
	if err := evaluations.CheckRemoved("body.panels", scoring.Panels); err != nil {
		return nil, err
	}
	if sc.panels, err = (&evaluations.Config{Panels: scoring.Panels}).ReadPanels("body.panels", evaluations.EvalRun); err != nil {
		return nil, err
	}
	if err := evaluations.CheckPasses("body.panels", sc.panels); err != nil {
		return nil, err
	}
	return sc, sc.withoutReference()
}

// withoutReference refuses what needs a reference output, or another part that runs do not have.
func (sc *Scorer) withoutReference() error {
	for i, g := range sc.graders {
		at := fmt.Sprintf("body.graders[%d]", i)
		if g.LooksAtReference() {
			return problem.InvalidField(at, fmt.Sprintf("is %q, which looks at the reference output: runs have none", g.Name()))
		}
		if slices.ContainsFunc(sc.panels, func(p evaluations.ReadyPanel) bool { return p.Name == g.Name() }) {
			return problem.InvalidField(at+".name", fmt.Sprintf("is %q, which is the name of a panel: give each its own name", g.Name()))
		}
	}
	ready, err := judge.ReadyJudges()
	if err != nil {
		return fmt.Errorf("read the ready-made judges: %w", err)
	}
	about := judge.Item{Input: json.RawMessage(`"…"`), Metadata: json.RawMessage(`{}`)}
	for i := range sc.panels {
		for j := range sc.panels[i].All {
			one, at := &sc.panels[i].All[j], sc.panels[i].JudgePath("body.panels", i, j)
			for _, known := range ready {
				if known.ID == one.Stored.ReadyMade && slices.Contains(known.Needs, "reference_output") {
					return problem.InvalidField(at+".ready_made", fmt.Sprintf("is %s, which needs a reference output: runs have none", known.ID))
				}
			}
			_, err := one.Ask(&about, &judge.Output{Text: json.RawMessage(`"…"`), ToolCalls: []judge.ToolCall{}}, 0)
			if refused := problem.Of(err); refused != nil && len(refused.Fields) > 0 {
				return problem.InvalidField(at+".prompt", fmt.Sprintf("needs {{%s}}, which runs do not have: make it optional in the prompt, or leave it out", refused.Fields[0].Location))
			}
			if err != nil {
				return fmt.Errorf("ask the judge %s: %w", one.Name, err)
			}
		}
	}
	return nil
}

// Judges reports whether models are called.
func (sc *Scorer) Judges() bool { return len(sc.panels) > 0 }

// ScoreRequest is an output to score.
type ScoreRequest struct {
	// Sample is the output, with what it answers.
	Sample *grader.Sample
	// Votes are those that were made before. Those that failed transiently are asked for again.
	Votes  []evaluations.Vote
	Caller completions.Caller
	// MaxCost limits the votes to ask for, nil for no limit.
	MaxCost       *providers.Money
	AllowUnpriced bool
	// About is in the metadata of the runs of votes.
	About map[string]any
	// Keep stores a vote. It is called by several goroutines, and again if the database does not answer.
	Keep func(ctx context.Context, v *evaluations.Vote) error
}

// MadeScore is a score of an output.
type MadeScore struct {
	evaluations.Score
	// Label is the category, empty for numbers. Boolean is whether the score can only be a pass or a fail.
	Label   string
	Boolean bool
	// Comment is the reason, of a panel those of the judges.
	Comment string
	// Missing is whether there should be a value, and is none: Error or Reason says why, and Code of a panel with enough votes.
	Missing bool
	Code    string
}

// Scored is what became of an output.
type Scored struct {
	// Scores are those of graders, then those of panels.
	Scores []MadeScore
	// Votes are all, with those that were made before.
	Votes []evaluations.Vote
	// Spent is what the calls counted in MaxCost. Unaffordable is whether votes are missing because of that.
	Spent        providers.Money
	Unaffordable bool
	// Stopped is why no vote can be made any more: a connection was deleted, or has no budget left. Busy is why a vote must wait: its
	// connection has no free slot. Votes are missing then.
	Stopped, Busy *problem.Error
}

// codeBusy says that a connection has no free slot for a call.
const codeBusy = "provider_busy"

// scoringOne is an output while it is scored.
type scoringOne struct {
	*attempt
	request *ScoreRequest
	item    judge.Item
	output  judge.Output

	mu   sync.Mutex
	made map[evaluations.VoteKey]*evaluations.Vote
	out  Scored
}

// subject is the output of all votes.
var subject = judgedOutput{Number: 1, Side: evaluations.SideA, Repeat: 1}

func (sc *Scorer) one(r *ScoreRequest) (*scoringOne, error) {
	one := &scoringOne{attempt: sc.apart(sc.panels, r.Caller, r.MaxCost, r.AllowUnpriced), request: r, made: map[evaluations.VoteKey]*evaluations.Vote{}}
	one.about = r.About
	metadata, err := json.Marshal(r.Sample.Metadata)
	if err != nil {
		return nil, fmt.Errorf("encode the metadata: %w", err)
	}
	one.item = judge.Item{Input: r.Sample.Input, ReferenceOutput: r.Sample.ReferenceOutput, Metadata: metadata}
	one.output = judge.Output{Text: r.Sample.Output}
	if r.Sample.ToolCalls != nil {
		one.output.ToolCalls = make([]judge.ToolCall, len(r.Sample.ToolCalls))
		for i, call := range r.Sample.ToolCalls {
			one.output.ToolCalls[i] = judge.ToolCall{Name: call.Name, Arguments: call.Arguments, Result: call.Result, Error: call.Error}
		}
	}
	for i := range r.Votes {
		v := &r.Votes[i]
		key := evaluations.VoteKey{Number: subject.Number, Side: subject.Side, Repeat: subject.Repeat, Panel: v.Panel, Judge: v.Judge, Vote: v.Vote}
		if one.panelHas(key) {
			one.made[key] = v
		}
	}
	return one, nil
}

func (o *scoringOne) panelHas(key evaluations.VoteKey) bool {
	return key.Panel < len(o.panels) && key.Judge < len(o.panels[key.Panel].All)
}

// missing returns the votes to ask for, of escalations those that are due.
func (o *scoringOne) missing(escalated bool) []evaluations.VoteKey {
	done := map[evaluations.VoteKey]*storedVote{}
	for key, v := range o.made {
		if !v.FailedTransiently() {
			done[key] = &storedVote{VoteKey: key, Status: v.Status, Value: storedValue(&o.panels[key.Panel], v)}
		}
	}
	var keys []evaluations.VoteKey
	for p := range o.panels {
		for _, key := range o.keysOf(p, &subject, escalated, done) {
			if done[key] == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// storedValue returns the value of a vote as it is stored with those of evaluations.
func storedValue(p *evaluations.ReadyPanel, v *evaluations.Vote) *float64 {
	if v.Value == nil && v.Label != nil && p.Scale != nil && p.Scale.Type == judge.Categorical {
		return new(float64(slices.Index(p.Scale.Labels, *v.Label)))
	}
	return v.Value
}

// Most returns the most that a call each for the missing votes can cost, with all of its attempts, and escalations among them. Models without
// a price do not count.
// An error that is a [*problem.Error] says why the judges cannot be asked; see [Scored.Stopped].
func (sc *Scorer) Most(ctx context.Context, r *ScoreRequest) (most providers.Money, err error) {
	one, err := sc.one(r)
	if err != nil {
		return 0, err
	}
	votes := map[evaluations.JudgeKey]int{}
	for _, key := range one.missing(false) {
		votes[evaluations.JudgeKey{Panel: key.Panel, Judge: key.Judge}]++
	}
	for i := range sc.panels {
		if last := len(sc.panels[i].Judges); last < len(sc.panels[i].All) {
			votes[evaluations.JudgeKey{Panel: i, Judge: last}] = sc.panels[i].All[last].Repeats
		}
	}
	for key, n := range votes {
		asked := &sc.panels[key.Panel].All[key.Judge]
		question, err := asked.Ask(&one.item, &one.output, 0)
		if err != nil {
			return 0, err //nolint:wrapcheck // it is for the user
		}
		connection, err := sc.providers.Connect(ctx, r.Caller.Projects, asked.Definition().ProviderID, asked.Config.Model)
		if problem.Is(err, problem.NotFound) {
			err = deletedFor(asked)
		}
		if err != nil {
			return 0, err //nolint:wrapcheck // it is for the user
		}
		model, err := (&completions.Request{Messages: question.Messages, ResponseFormat: question.ResponseFormat, Config: asked.Config}).ModelRequest()
		if err != nil {
			return 0, err //nolint:wrapcheck // it is for the user
		}
		if each := connection.Most(model); each != nil {
			most += *each * providers.Money(n*r.Caller.Attempts)
		}
	}
	return most, nil
}

// deletedFor is the error for a judge whose connection is gone.
func deletedFor(a *evaluations.ReadyJudge) *problem.Error {
	return &problem.Error{Kind: problem.NotFound, Code: providers.CodeDeleted, Detail: fmt.Sprintf("The connection %q of the judge %q was deleted.", a.Stored.ProviderName, a.Name)}
}

// Score grades an output, and asks judges for the votes that are missing. It keeps each vote as soon as it is there. An error that is
// [problem.Invalid] says why judges cannot be asked about the output; another one that it cannot go on now.
func (sc *Scorer) Score(ctx context.Context, r *ScoreRequest) (*Scored, error) {
	one, err := sc.one(r)
	if err != nil {
		return nil, err
	}
	scores, err := Grade(ctx, sc.graders, r.Sample)
	if err != nil {
		return nil, err
	}
	for i, score := range scores {
		one.out.Scores = append(one.out.Scores, MadeScore{Score: score, Boolean: sc.graders[i].Binary(), Comment: score.Reason, Missing: score.Error != ""})
	}
	for _, escalated := range []bool{false, true} {
		if err := one.ask(ctx, one.missing(escalated)); err != nil {
			return nil, err
		}
	}
	one.out.Spent = one.budget.Spent()
	for _, key := range slices.SortedFunc(maps.Keys(one.made), compareVotes) {
		one.out.Votes = append(one.out.Votes, *one.made[key])
	}
	for p := range sc.panels {
		score, err := one.panelScore(p)
		if err != nil {
			return nil, err
		}
		one.out.Scores = append(one.out.Scores, score)
	}
	return &one.out, nil
}
