package replays

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Wanted is a replay to make, or to plan.
type Wanted struct {
	Run  uuid.UUID
	Name string
	// Edits have the messages of prompts.
	Edits []edit.Edit
	// Executor is empty for the one that the edits need.
	Executor engine.Executor
	// Provider may be nil for the executor cassette, and where the project has one connection only.
	Provider             *uuid.UUID
	Controls, Treatments int
	Tools                map[string]engine.ToolPolicy
	// Outcome is a grader, and Panel judges. At most one of them is set.
	Outcome, Panel json.RawMessage
	MaxCost        *providers.Money
	AllowUnpriced  bool
}

// Plan is what a replay would do.
type Plan struct {
	source *source
	panel  JudgePanel // nil for none

	// Config is that of the replay.
	Config Config
	// Slots is how many calls its connection makes at once.
	Slots int
	// Recording is the run.
	Recording *recorded.Recording
	Run       uuid.UUID
	RunName   string
	Executor  engine.Executor
	// Steps are those of an attempt with the edits.
	Steps *engine.Plan
	// Structure is what the recorded durations decide, nil unless they decide everything.
	Structure *timing.Effects
	Texts     []string
	Estimate  Estimate
	// Controls and Treatments are how many attempts it has.
	Controls, Treatments int
	Warnings             []engine.Warning
}

// Plan says what a replay would do. It calls no model and stores nothing. Where it is only looked at, it may lack a connection.
func (s *Service) Plan(ctx context.Context, grant access.Grant, n *Wanted, look bool) (*Plan, error) {
	from, err := s.read(ctx, grant.Projects, n.Run)
	if err != nil {
		return nil, err
	}
	recording := from.recording
	checked, err := edit.Check(recording, n.Edits, "body.edits")
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	if err := engine.CheckTools(n.Tools, "body.tools"); err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	if len(n.Outcome) > 0 {
		if _, err := grader.Parse(n.Outcome, "body.outcome"); err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
	}
	if len(n.Outcome) > 0 && len(n.Panel) > 0 {
		return nil, problem.InvalidField("body", "must have at most one of outcome and panel")
	}
	p := &Plan{
		source: from, Recording: recording, Run: n.Run, RunName: from.run.Name, Executor: n.Executor, Controls: n.Controls, Treatments: n.Treatments, Texts: []string{}, Warnings: []engine.Warning{},
	}
	if len(n.Panel) > 0 {
		if p.panel, err = s.judges.Panel(n.Panel); err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
	}
	if p.Executor == "" {
		p.Executor = engine.ExecutorServer
		if checked.Structural && len(checked.Edits) > 0 {
			p.Executor = engine.ExecutorCassette
		}
	}
	if err := p.replayable(checked); err != nil {
		return nil, err
	}
	for i := range checked.Edits {
		p.Texts = append(p.Texts, describe(&checked.Edits[i], stepsOf(recording, checked.Targets[i])))
	}
	p.Config = Config{
		Executor: p.Executor, Edits: edit.Stored{List: checked.Edits}, Texts: p.Texts, EditHash: checked.Hash, ForkSpanID: p.fork(checked), Recording: hashOf(recording), Tools: n.Tools, Outcome: n.Outcome,
	}
	if p.Executor == engine.ExecutorCassette { // nothing varies: one attempt of each is all there is to know
		p.Controls, p.Treatments = min(p.Controls, 1), 1
	}
	if p.Steps, err = engine.MakePlan(recording, checked, p.Config.options()); err != nil { //nolint:contextcheck // it waits for nothing
		return nil, fmt.Errorf("plan the replay of run %s: %w", n.Run, err)
	}
	p.Warnings = append(p.Warnings, p.Steps.Warnings...)
	if checked.Structural && len(checked.Edits) > 0 {
		structure := timing.Of(recording, checked)
		p.Structure = &structure
	}
	in := grant
	in.Projects = grant.Only(from.run.ProjectID)
	if err := s.price(ctx, in, p, n, look); err != nil {
		return nil, err
	}
	p.Config.ControlKey, err = controlKey(n.Run, &p.Config)
	return p, err
}

// replayable returns an error if the run lacks what the replay needs.
func (p *Plan) replayable(checked *edit.Checked) error {
	level := p.Recording.Replayability.Level
	enough := level == recorded.LevelFull || level == recorded.LevelLLM
	if p.Executor == engine.ExecutorCassette {
		enough = level != recorded.LevelNone
	}
	if enough && (level != recorded.LevelStructure || checked.Structural || len(checked.Edits) == 0) {
		return nil
	}
	reasons := make([]string, 0, len(p.Recording.Replayability.Missing))
	for _, missing := range p.Recording.Replayability.Missing {
		reasons = append(reasons, missing.Detail+" "+missing.Remedy)
	}
	detail := "The run cannot be replayed like this."
	if len(reasons) > 0 {
		detail += " " + strings.Join(reasons, " ")
	}
	return &problem.Error{Kind: problem.Conflict, Code: "not_replayable", Detail: detail}
}

// fork returns the step from which an attempt is made anew. Without an edit it is the first model call. A recording without texts has nothing
// to make anew: its times decide.
func (p *Plan) fork(checked *edit.Checked) string {
	if p.Recording.Replayability.Level == recorded.LevelStructure {
		return ""
	}
	if id := checked.ForkSpanID(p.Recording); id != "" {
		return id
	}
	for i := range p.Recording.Steps {
		if p.Recording.Steps[i].Kind == recorded.KindModel {
			return p.Recording.Steps[i].SpanID
		}
	}
	return ""
}

// warnConnection is about a plan for which no connection is chosen.
var warnConnection = engine.Warning{
	Code: "connection_missing", Detail: "No connection is chosen, so that the cost is unknown.", Remedy: "Choose one of the project, or add one in Settings → Providers.",
}

// price finds the connection of a replay, and estimates what it costs.
func (s *Service) price(ctx context.Context, grant access.Grant, p *Plan, n *Wanted, look bool) error {
	e := &p.Estimate
	e.Unpriced, e.Low, e.High = []string{}, new(providers.Money(0)), new(providers.Money(0))
	if p.Executor != engine.ExecutorCassette {
		if err := s.priceCalls(ctx, grant, p, n, look); err != nil {
			return err
		}
	}
	if p.panel != nil {
		if err := s.priceJudges(ctx, grant, p); err != nil {
			return err
		}
	}
	if n.MaxCost != nil && len(e.Unpriced) > 0 && !n.AllowUnpriced {
		return &problem.Error{
			Kind: problem.Invalid, Code: "price_unknown",
			Detail: fmt.Sprintf("A cost cap needs the price of each model, and there is none for %s. Add one in Settings → Prices, or allow models without a price.", strings.Join(e.Unpriced, " and ")),
			Fields: []problem.Field{{Location: "body.max_cost_usd", Message: "needs the prices of all models"}},
		}
	}
	return nil
}

// priceCalls estimates what the calls of the attempts cost.
func (s *Service) priceCalls(ctx context.Context, grant access.Grant, p *Plan, n *Wanted, look bool) error {
	e := &p.Estimate
	e.Calls = int64(p.Steps.Calls.Likely.Calls) * int64(p.Controls+p.Treatments)
	provider, err := s.provider(ctx, grant, n.Provider)
	if err != nil && !look {
		return err
	}
	if err != nil {
		if n.Provider != nil || problem.Of(err) == nil {
			return err
		}
		e.Low, e.High = nil, nil
		p.Warnings = append(p.Warnings, warnConnection)
		return nil
	}
	p.Config.ProviderID = provider
	attempts := providers.Money(p.Controls + p.Treatments)
	low, err := s.costOf(ctx, grant, p, &p.Steps.Calls.Least)
	if err != nil {
		return err
	}
	high, err := s.costOf(ctx, grant, p, &p.Steps.Calls.Most)
	if err != nil {
		return err
	}
	e.Low, e.High = times(low, attempts), times(high, attempts)
	return nil
}

// provider returns the connection to use: that which is named, or the only one of the project.
func (s *Service) provider(ctx context.Context, grant access.Grant, named *uuid.UUID) (*uuid.UUID, error) {
	if named != nil {
		return named, nil
	}
	const some = 10
	list, _, err := s.providers.List(ctx, grant, postgres.Page{Limit: some})
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // it names the statement
	case len(list) == 0:
		return nil, problem.InvalidField("body.provider_id", "is missing, and the project has no connection: add one in Settings → Providers")
	case len(list) > 1:
		names := make([]string, len(list))
		for i := range list {
			names[i] = fmt.Sprintf("%s (%q)", list[i].ID, list[i].Name)
		}
		return nil, problem.InvalidField("body.provider_id", "is missing: name one of "+strings.Join(names, ", "))
	}
	return &list[0].ID, nil
}

// costOf returns what the estimated calls of one attempt cost, nil if a model has no price.
func (s *Service) costOf(ctx context.Context, grant access.Grant, p *Plan, estimate *engine.Estimate) (*providers.Money, error) {
	total := new(providers.Money(0))
	for _, model := range slices.Sorted(maps.Keys(estimate.ByModel)) {
		connection, err := s.providers.Connect(ctx, grant.Projects, *p.Config.ProviderID, model)
		if err != nil {
			if problem.Is(err, problem.NotFound) {
				err = problem.InvalidField("body.provider_id", "is no connection of the project: leave it out, and if there are several, they are named")
			}
			return nil, err //nolint:wrapcheck // it is for the client
		}
		p.Config.ProviderName, p.Slots = connection.Provider.Name, connection.Provider.MaxConcurrency
		tokens := estimate.ByModel[model]
		_, cost := connection.Estimate(tokens.Input, &tokens.Output)
		if cost == nil {
			total = nil
			if !slices.Contains(p.Estimate.Unpriced, model) {
				p.Estimate.Unpriced = append(p.Estimate.Unpriced, model)
			}
		}
		if total != nil {
			total = new(*total + *cost)
		}
	}
	return total, nil
}

func times(one *providers.Money, n providers.Money) *providers.Money {
	if one == nil {
		return nil
	}
	return new(*one * n)
}

// controlKey is a hash of all that a control depends on, besides what models answer.
func controlKey(run uuid.UUID, config *Config) (string, error) {
	depends := map[string]any{
		"run": run, "recording": config.Recording, "fork": config.ForkSpanID, "engine": engine.EngineVersion, "executor": config.Executor, "provider": config.ProviderID, "tools": config.Tools,
		"outcome": config.Outcome,
	}
	if len(config.Panel) > 0 {
		depends["panel"] = config.Panel
	}
	text, err := json.Marshal(depends)
	if err != nil {
		return "", fmt.Errorf("encode what a control depends on: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// AttainableP is the smallest p that the replay can reach after correction, nil where nothing is tested.
func (p *Plan) AttainableP() *float64 {
	if p.Executor == engine.ExecutorCassette {
		return nil
	}
	attainable := stats.AttainableP(p.Controls, p.Treatments).Value
	if attainable == nil {
		return nil
	}
	tested := TestedChannels
	if p.Config.Outcome == nil && p.Config.Panel == nil { // it is unknown
		tested--
	}
	return new(min(1, *attainable*float64(tested)))
}

// TestedChannels is how many channels a verdict corrects for, if all are known.
const TestedChannels = 5

// Decided says in words what follows from the recording alone, empty if that is not everything. It agrees with Steps.
func (p *Plan) Decided() string {
	if p.Structure == nil {
		return ""
	}
	live := p.Steps.Counts[engine.FateLive] > 0
	if p.Structure.NoEffect {
		text := "Nothing changes but times: no call fails, and none goes on longer than it was recorded."
		if live {
			text += " Models are asked again all the same, because the executor is server."
		}
		return text
	}
	name := func(i int) string { return fmt.Sprintf("Step %d, %q,", i+1, p.Recording.Steps[i].Name) }
	stop := &p.Steps.Stop
	if stop.Reason == engine.StopCensored {
		return name(stop.Recorded) + " would go on longer than it was recorded. Its result is not in the recording."
	}
	timedOut := slices.IndexFunc(p.Steps.Steps, func(step engine.PlanStep) bool {
		return step.Fate == engine.FateServed && p.Structure.Steps[step.Recorded].Effect == timing.TimedOut
	})
	switch {
	case timedOut < 0:
		return stop.Detail
	case live:
		return name(timedOut) + " times out. Models are asked what follows."
	case stop.Reason == engine.StopCompleted:
		return name(timedOut) + " times out. No recorded call comes after it that depends on it."
	}
	return name(timedOut) + " times out. What the agent does then is not in the recording."
}
