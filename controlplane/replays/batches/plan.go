package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Wanted is a batch to make, or to plan.
type Wanted struct {
	Project uuid.UUID
	Name    string
	// RunIDs are the chosen runs. Without them the runs of Filter are chosen, at most MaxRuns, by chance if there are more. FilterText is
	// Filter as query parameters.
	RunIDs     []uuid.UUID
	Filter     runs.Filter
	FilterText string
	MaxRuns    int
	// GoodRuns is how many runs are drawn that ended well.
	GoodRuns int
	// Replay has the edits and how each run is replayed. Its run and name are empty.
	Replay replays.Wanted
}

// Plan is what a batch would do.
type Plan struct {
	config Config
	runs   []plannedRun

	// Matched is how many runs the filter finds.
	Matched uint64
	// Runs are in the order in which they are replayed.
	Runs []RunPlan
	// Texts say in words what is edited, for all runs.
	Texts    []string
	Estimate replays.Estimate
	// Duration is about how long the calls take, nil if it is unknown.
	Duration *time.Duration
	// AttainableP is the smallest p that the chosen runs can reach after correction, and Detectable the difference of shares of attempts that
	// end well which is found in 80% of cases whatever the shares are. Both are nil where nothing can be tested.
	AttainableP, Detectable *float64
	Warnings                []engine.Warning
}

// Executor is who makes the calls, empty if no run can be replayed.
func (p *Plan) Executor() engine.Executor { return p.config.Executor }

// RunPlan is a run of a plan.
type RunPlan struct {
	RunID   uuid.UUID
	RunName string
	Part    Part
	// Code and Detail say why it cannot be replayed, empty if it can.
	Code, Detail string
	Calls        int64
}

// plannedRun is a run to replay.
type plannedRun struct {
	id   uuid.UUID
	part Part
}

// Plan says what a batch would do. It calls no model and stores nothing.
func (s *Service) Plan(ctx context.Context, grant access.Grant, n *Wanted) (*Plan, error) {
	return s.plan(ctx, grant, n, true)
}

// Create starts a batch. At least one chosen run must be replayable.
func (s *Service) Create(ctx context.Context, grant access.Grant, n *Wanted) (Batch, error) {
	if n.Name != "" {
		if err := validate.Printable("body.name", n.Name); err != nil {
			return Batch{}, err
		}
	}
	p, err := s.plan(ctx, grant, n, false)
	if err != nil {
		return Batch{}, err
	}
	config, err := json.Marshal(p.config)
	if err != nil {
		return Batch{}, fmt.Errorf("encode the configuration: %w", err)
	}
	ids, parts := make([]uuid.UUID, len(p.runs)), make([]string, len(p.runs))
	for i, run := range p.runs {
		ids[i], parts[i] = run.id, string(run.part)
	}
	var created Batch
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		id := postgres.NewID()
		job, err := s.jobs.Add(ctx, tx.PGX(), n.Project, jobArgs{id, work.Calls})
		if err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		if _, err := tx.Exec(ctx, "create batch", pgx.NamedArgs{
			"id": id, "project": n.Project, "name": replays.NameOf(n.Name, p.Texts), "config": string(config), "controls": n.Replay.Controls, "treatments": n.Replay.Treatments,
			"max_cost": n.Replay.MaxCost, "allow_unpriced": n.Replay.AllowUnpriced, "job": job, "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
		}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "add runs of batch", pgx.NamedArgs{"id": id, "runs": ids, "parts": parts}); err != nil {
			return err
		}
		created, err = s.get(ctx, tx, grant.Projects, id)
		return err
	})
	return created, err
}

// plan chooses the runs, and plans the replay of each. Where it is only looked at, it may lack a connection.
func (s *Service) plan(ctx context.Context, grant access.Grant, n *Wanted, look bool) (*Plan, error) {
	p := &Plan{Texts: make([]string, len(n.Replay.Edits)), Warnings: []engine.Warning{}}
	for i := range n.Replay.Edits {
		p.Texts[i] = replays.Describe(&n.Replay.Edits[i])
	}
	in := grant
	in.Projects = grant.Only(n.Project)
	if err := s.choose(ctx, in, n, p); err != nil {
		return nil, err
	}
	p.config = Config{
		Executor: n.Replay.Executor, Edits: edit.Stored{List: n.Replay.Edits}, Texts: p.Texts, Tools: n.Replay.Tools, Outcome: n.Replay.Outcome, RunFilter: n.FilterText, Matched: p.Matched,
		ProviderID: n.Replay.Provider,
	}
	planned, err := s.planMembers(ctx, in, n, p.runs, look)
	if err != nil {
		return nil, err
	}
	total := estimate{low: new(providers.Money(0)), high: new(providers.Money(0))}
	var refused error
	designs := [][2]int{}
	for i := range planned {
		one := &planned[i]
		p.Runs = append(p.Runs, one.RunPlan)
		if one.refused != nil {
			if one.Part == Chosen {
				refused = cmp.Or(refused, one.refused)
			}
			continue
		}
		p.config.Executor, p.config.ProviderName = cmp.Or(p.config.Executor, one.config.Executor), cmp.Or(p.config.ProviderName, one.config.ProviderName)
		p.config.ProviderID = cmp.Or(p.config.ProviderID, one.config.ProviderID)
		if len(p.config.Panel) == 0 {
			p.config.Panel = one.config.Panel
		}
		for _, w := range one.warnings {
			if !slices.ContainsFunc(p.Warnings, func(known engine.Warning) bool { return known.Code == w.Code }) {
				p.Warnings = append(p.Warnings, w)
			}
		}
		total.add(one)
		if one.Part == Chosen && one.config.Executor != engine.ExecutorCassette && one.design[0] > 0 {
			designs = append(designs, one.design)
		}
	}
	if !look && refused != nil && !slices.ContainsFunc(p.Runs, func(r RunPlan) bool { return r.Part == Chosen && r.Code == "" }) {
		return nil, refused
	}
	p.Estimate = total.Estimate
	p.Estimate.Low, p.Estimate.High, p.Duration = total.low, total.high, total.duration()
	p.config.Estimate = p.Estimate
	p.attainable(designs, p.config.Graded())
	return p, nil
}

// plannedAtOnce is how many runs are planned at once, each of which is held in memory meanwhile.
const plannedAtOnce = 4

// memberPlan is what a plan keeps of that of a run.
type memberPlan struct {
	RunPlan
	// refused is why the run cannot be replayed. The members after it are empty then.
	refused  error
	config   replays.Config
	warnings []engine.Warning
	estimate replays.Estimate
	// each is how long a call takes, nil if it is unknown, and slots how many calls are made at once.
	each   *time.Duration
	slots  int
	design [2]int
}

// planMembers plans the replay of each run, in their order.
func (s *Service) planMembers(ctx context.Context, grant access.Grant, n *Wanted, list []plannedRun, look bool) ([]memberPlan, error) {
	planned := make([]memberPlan, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(plannedAtOnce)
	for i, run := range list {
		group.Go(func() error {
			wanted := n.Replay
			wanted.Run = run.id
			one := memberPlan{RunPlan: RunPlan{RunID: run.id, Part: run.part}}
			p, code, err := s.planMember(ctx, grant, &wanted, look)
			switch {
			case err != nil && code == "":
				return err
			case err != nil:
				one.Code, one.Detail, one.refused = code, problem.Of(err).Error(), err
			default:
				one.RunName, one.Calls, one.config, one.warnings = p.RunName, p.Estimate.Calls, p.Config, p.Warnings
				one.estimate, one.each, one.slots, one.design = p.Estimate, callDuration(p.Recording), p.Slots, [2]int{p.Controls, p.Treatments}
			}
			planned[i] = one
			return nil
		})
	}
	return planned, group.Wait() //nolint:wrapcheck // by those who do the work
}

// codeEdit is the code of a run in which an edit changes nothing, and codeGone of one that was deleted.
const (
	codeEdit = "edit_does_not_fit"
	codeGone = "run_deleted"
)

// planMember plans the replay of a run. An error with a code is about the run only.
func (s *Service) planMember(ctx context.Context, grant access.Grant, n *replays.Wanted, look bool) (*replays.Plan, string, error) {
	p, err := s.replays.Plan(ctx, grant, n, look)
	refused := problem.Of(err)
	switch {
	case refused == nil:
	case refused.Kind == problem.NotFound:
		return nil, codeGone, replays.ErrRunDeleted
	case refused.Kind == problem.Conflict, refused.Kind == problem.TooLarge:
		return nil, refused.Code, err
	case refused.Kind == problem.Invalid && slices.ContainsFunc(refused.Fields, func(f problem.Field) bool { return strings.HasPrefix(f.Location, "body.edits") }):
		return nil, codeEdit, err
	}
	return p, "", err
}

// choose sets the runs: the chosen ones, and good ones of the same names.
func (s *Service) choose(ctx context.Context, grant access.Grant, n *Wanted, p *Plan) error {
	seed := int64(rand.Uint64() >> 1) //nolint:gosec // it draws runs
	ids := n.RunIDs
	p.Matched = uint64(len(ids))
	if len(ids) == 0 {
		found, err := s.runs.Sample(ctx, grant.Projects, n.Filter, n.MaxRuns, seed)
		if err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		p.Matched = found.Matched
		for _, run := range found.Runs {
			ids = append(ids, run.RunID)
		}
		if len(ids) == 0 {
			return problem.InvalidField("body.run_filter", "finds no run: widen it, or name runs by run_ids")
		}
	}
	for _, id := range ids {
		p.runs = append(p.runs, plannedRun{id, Chosen})
	}
	if n.GoodRuns == 0 {
		return nil
	}
	names, err := s.runs.Names(ctx, grant.Projects, n.Project, ids)
	if err != nil {
		return err //nolint:wrapcheck // it says what it does
	}
	for i, share := range shares(names, n.GoodRuns) {
		filter := runs.Filter{ProjectID: n.Project, Name: names[i].Name, Outcomes: []string{"succeeded"}}
		drawn, err := s.runs.Sample(ctx, grant.Projects, filter, share+len(ids), seed)
		if err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(drawn.Runs), func(x, y int) { //nolint:gosec // it draws runs
			drawn.Runs[x], drawn.Runs[y] = drawn.Runs[y], drawn.Runs[x]
		})
		for _, run := range drawn.Runs {
			if share > 0 && !slices.Contains(ids, run.RunID) {
				p.runs = append(p.runs, plannedRun{run.RunID, Good})
				share--
			}
		}
	}
	return nil
}

// shares divides a number among names by how many runs have them, the largest remainders first.
func shares(names []runs.NameCount, number int) []int {
	all := uint64(0)
	for i := range names {
		all += names[i].Runs
	}
	list, left := make([]int, len(names)), number
	order := make([]int, len(names))
	remainder := func(i int) uint64 { return names[i].Runs * uint64(number) % all }
	for i := range names {
		list[i], order[i] = int(names[i].Runs*uint64(number)/all), i
		left -= list[i]
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(remainder(y), remainder(x)) })
	for _, i := range order[:left] {
		list[i]++
	}
	return list
}

// estimate sums estimates.
type estimate struct {
	replays.Estimate
	low, high *providers.Money
	// calls is how long all of them take one after the other, unknown if there is one without a recorded duration.
	calls   time.Duration
	unknown bool
	slots   int
}

func (e *estimate) add(p *memberPlan) {
	e.Calls += p.estimate.Calls
	e.low, e.high = providers.AddMoney(e.low, p.estimate.Low), providers.AddMoney(e.high, p.estimate.High)
	for _, model := range p.estimate.Unpriced {
		if !slices.Contains(e.Unpriced, model) {
			e.Unpriced = append(e.Unpriced, model)
		}
	}
	if p.estimate.Calls == 0 {
		return
	}
	e.slots, e.unknown = p.slots, e.unknown || p.each == nil
	if p.each != nil {
		e.calls += *p.each * time.Duration(p.estimate.Calls)
	}
}

func (e *estimate) duration() *time.Duration {
	if e.unknown || e.slots == 0 {
		return nil
	}
	return new(e.calls / time.Duration(e.slots))
}

// callDuration is how long the recorded model calls took on average, nil if none has a duration.
func callDuration(r *recorded.Recording) *time.Duration {
	var total time.Duration
	calls := 0
	for i := range r.Steps {
		if step := &r.Steps[i]; step.Kind == recorded.KindModel && step.Duration != nil {
			total += *step.Duration
			calls++
		}
	}
	if calls == 0 {
		return nil
	}
	return new(total / time.Duration(calls))
}

// attainable sets what a design can find. The variance of a share of attempts is at most a quarter.
func (p *Plan) attainable(designs [][2]int, graded bool) {
	tested := float64(replays.TestedChannels)
	if !graded {
		tested--
	}
	if attainable := stats.StratifiedAttainableP(designs).Value; attainable != nil {
		p.AttainableP = new(min(1, *attainable*tested))
	}
	if len(designs) < 2 || !graded {
		return
	}
	variance := 0.
	for _, d := range designs {
		variance += .25/float64(d[0]) + .25/float64(d[1])
	}
	normal := distuv.UnitNormal
	found := (normal.Quantile(1-alpha/tested/2) + normal.Quantile(.8)) * math.Sqrt(variance) / float64(len(designs))
	if found < 1 {
		p.Detectable = &found
	}
}

// alpha is the level of all looks at a batch together.
const alpha = 0.05
