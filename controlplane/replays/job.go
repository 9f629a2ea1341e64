package replays

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/replays/verdict"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// atOnce is how many attempts are made at once, whatever connections allow. Of a large run it is so many that their texts, of which an
	// attempt has several copies, have about maxHeld bytes.
	atOnce  = 16
	copies  = 4
	maxHeld = 512 << 20
)

var (
	// errStopped ends an attempt that is not finished because the replay stops. It can go on later.
	errStopped = errors.New("the replay stops")
	// errRecordingChanged refuses attempts that would not be of the recording that the others are of.
	errRecordingChanged = &problem.Error{
		Kind: problem.Conflict, Code: "recording_changed", Detail: "More of the recorded run was stored after the replay was made. Replay it again.",
	}
)

// ErrRunDeleted refuses what needs the recorded run.
var ErrRunDeleted = &problem.Error{Kind: problem.Conflict, Code: "run_deleted", Detail: "The recorded run was deleted."}

// try works on a replay.
type try struct {
	*Service
	id     uuid.UUID
	r      Replay
	config Config
	// source is the recorded run. It is read if it is nil.
	source *source
	// edits and null are those of treatments and controls.
	edits, null *edit.Checked
	// downstream are the steps that the edits can have changed.
	downstream []bool
	outcome    *grader.Grader // nil for none
	panel      JudgePanel     // nil for none
	budget     *providers.Budget
	// judged is what the verdict followed from, nil before it.
	judged *verdict.Input

	// first is the first answer of a model.
	first chan *recorded.Response

	mu          sync.Mutex
	connections map[string]*providers.Connection
	// stop is why no more calls are made. failure is set if a person must fix something first.
	stop    engine.StopReason
	failure *problem.Error
	stopped chan struct{} // closed then
}

// run does the job of a replay.
func (s *Service) run(ctx context.Context, args jobArgs, last bool) error {
	t := s.newTry(nil)
	job, _ := work.JobOf(ctx)
	begun, err := s.db.Exec(ctx, "begin replay", pgx.NamedArgs{"id": args.ReplayID, "try": t.id, "job": job, "now": s.now()})
	if err != nil || begun == 0 { // it ended, was deleted, or has another job
		return err
	}
	return work.Attempt(ctx, "replay", last, func(ctx context.Context) error { return t.do(ctx, args.ReplayID) },
		func(ctx context.Context, failed *problem.Error) error {
			return t.end(ctx, StatusFailed, "", failed, nil)
		})
}

// newTry begins a try with the budget of a batch, nil for one of its own.
func (s *Service) newTry(budget *providers.Budget) *try {
	return &try{
		Service: s, id: uuid.New(), budget: budget, connections: map[string]*providers.Connection{}, stopped: make(chan struct{}), first: make(chan *recorded.Response, 1),
	}
}

// do makes the attempts that are missing, and judges.
func (t *try) do(ctx context.Context, id uuid.UUID) error {
	owner, err := postgres.Many[struct{ ProjectID uuid.UUID }](ctx, t.db, "get replay of job", pgx.NamedArgs{"id": id, "try": t.id})
	if err != nil {
		return err
	}
	if len(owner) == 0 {
		return work.ErrFenced
	}
	if t.r, err = t.get(ctx, t.db, access.OfJob(owner[0].ProjectID), id); err != nil {
		return err
	}
	if t.config, err = t.r.ReadConfig(); err != nil {
		return err
	}
	err = t.prepare(ctx)
	if err == nil && t.r.unfinished() && t.config.Recording != hashOf(t.source.recording) {
		err = errRecordingChanged
	}
	if refused := problem.Of(err); refused != nil && refused.Kind != problem.Unavailable && refused.Kind != problem.TooExpensive {
		return t.end(ctx, StatusFailed, "", refused, nil)
	}
	if err != nil {
		return err
	}
	status := t.r.Status
	if t.r.unfinished() {
		if err := t.attempts(ctx); err != nil {
			return err
		}
		if t.failure != nil {
			return t.end(ctx, StatusFailed, "", t.failure, nil)
		}
		status = StatusSucceeded
	}
	verdict, err := t.judge(ctx)
	if err != nil {
		return err
	}
	return t.end(ctx, status, t.stop, nil, verdict)
}

// prepare reads the recorded run, and what is done with it.
func (t *try) prepare(ctx context.Context) error {
	var err error
	if t.source == nil {
		t.source, err = t.read(ctx, access.OfJob(t.r.ProjectID), t.r.RunID)
	}
	if errors.Is(err, runs.ErrNotFound) {
		return ErrRunDeleted
	}
	if err != nil {
		return err
	}
	recording := t.source.recording
	if t.edits, err = edit.Check(recording, t.config.Edits.List, "edits"); err != nil {
		return err //nolint:wrapcheck // it names the edit
	}
	if t.null, err = edit.Check(recording, nil, "edits"); err != nil {
		return err //nolint:wrapcheck // it names the edit
	}
	t.downstream = recording.Downstream(t.changed())
	if len(t.config.Outcome) > 0 {
		if t.outcome, err = grader.Parse(t.config.Outcome, "outcome"); err != nil {
			return err //nolint:wrapcheck // it names the grader
		}
	}
	if len(t.config.Panel) > 0 {
		if t.panel, err = t.judges.Panel(t.config.Panel); err != nil {
			return err //nolint:wrapcheck // it names the judge
		}
	}
	// Calls of a try before this one have no process any more.
	if err := t.providers.EndEvaluationCalls(ctx, t.r.ID); err != nil {
		return err //nolint:wrapcheck // it names the statement
	}
	if t.budget != nil { // that of its batch
		return nil
	}
	spent, err := t.providers.EvaluationCost(ctx, t.r.ID)
	if err != nil {
		return err //nolint:wrapcheck // it names the statement
	}
	t.budget = providers.NewBudget(t.r.MaxCostNanousd, spent.Cost+spent.Bounded)
	return nil
}

// changed returns the indexes of the steps that are edited, or at which an attempt without an edit begins.
func (t *try) changed() []int {
	var list []int
	for _, targets := range t.edits.Targets {
		list = append(list, targets...)
	}
	for i := range t.source.recording.Steps {
		if len(list) == 0 && t.source.recording.Steps[i].SpanID == t.config.ForkSpanID {
			list = append(list, i)
		}
	}
	return list
}

// attempts makes the attempts that are missing, several at once, in their order. Where controls of another replay are used, one treatment
// begins before the others: its first answer tells whether the model is still the one that answered those.
func (t *try) attempts(ctx context.Context) error {
	list, err := t.Attempts(ctx, &t.r)
	if err != nil {
		return err
	}
	// An error ends no calls of other attempts, which are paid.
	var group errgroup.Group
	var failed atomic.Bool
	group.SetLimit(max(1, min(atOnce, maxHeld/copies/max(1, t.source.size))))
	begin := func(one *Attempt, ended chan<- struct{}) {
		group.Go(func() error {
			defer close(ended)
			if t.isStopped() || failed.Load() {
				return nil
			}
			if work.IsPreempted(ctx) {
				return work.ErrPreempted
			}
			err := t.attempt(ctx, one)
			if errors.Is(err, errStopped) {
				return nil
			}
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	asked := 0
	if earlier, err := answeredEarlier(list); err != nil {
		return err
	} else if at := slices.IndexFunc(list, func(a Attempt) bool { return a.Role == Treatment && a.missing() }); earlier != nil && at >= 0 {
		asked = list[at].Number
		ended := make(chan struct{})
		begin(&list[at], ended)
		if t.differs(earlier, ended) {
			err := work.Change(ctx, t.db, "open reused controls", pgx.NamedArgs{"id": t.r.ID, "try": t.id})
			if err == nil {
				list, err = t.Attempts(ctx, &t.r)
			}
			if err != nil {
				failed.Store(true)
				return errors.Join(err, group.Wait())
			}
		}
	}
	for i := range list {
		if list[i].missing() && list[i].Number != asked {
			begin(&list[i], make(chan struct{}))
		}
	}
	if err := group.Wait(); err != nil {
		return err //nolint:wrapcheck // by those who do the work
	}
	if !t.isStopped() {
		return nil
	}
	return t.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		return t.cancelAttempts(ctx, tx, t.r.ID, &t.id, cmp.Or(t.stop, StopFailed))
	})
}

// missing reports whether the attempt is still to be made.
func (a *Attempt) missing() bool { return a.Status == StatusQueued || a.Status == StatusRunning }

// answeredEarlier says which models answered the controls of other replays, nil if there are none.
func answeredEarlier(list []Attempt) (earlier *Result, err error) {
	for i := range list {
		if !list[i].Reused {
			continue
		}
		result, err := list[i].ReadResult()
		if err != nil {
			return nil, err
		}
		if result == nil {
			continue
		}
		if earlier == nil {
			earlier = &Result{}
		}
		earlier.Models, earlier.Fingerprints = append(earlier.Models, result.Models...), append(earlier.Fingerprints, result.Fingerprints...)
		if cached := result.CachedTokens; cached != nil && (earlier.CachedTokens == nil || *cached > *earlier.CachedTokens) {
			earlier.CachedTokens = cached
		}
	}
	return earlier, nil
}

// differs reports whether the first answer is not known to be of a model and version that answered earlier, or comes from a cache that had
// nothing then. It waits for the answer, or for the end of the attempt.
func (t *try) differs(earlier *Result, ended <-chan struct{}) bool {
	var first *recorded.Response
	select {
	case first = <-t.first:
	case <-ended:
		select {
		case first = <-t.first:
		default:
			return false // nothing was asked
		}
	}
	caches := first.Usage != nil && first.Usage.CacheRead != nil && *first.Usage.CacheRead > 0 && earlier.CachedTokens != nil && *earlier.CachedTokens == 0
	return caches || !slices.Contains(earlier.Models, first.Model) || !slices.Contains(earlier.Fingerprints, first.Fingerprint)
}

// stopAll ends the making of attempts. The first reason counts.
func (t *try) stopAll(stop engine.StopReason, failure *problem.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == "" && t.failure == nil {
		t.stop, t.failure = stop, failure
		close(t.stopped)
	}
}

func (t *try) isStopped() bool {
	select {
	case <-t.stopped:
		return true
	default:
		return false
	}
}

// end ends the replay.
func (t *try) end(ctx context.Context, status Status, stop engine.StopReason, failure *problem.Error, verdict any) error {
	args := pgx.NamedArgs{"id": t.r.ID, "try": t.id, "status": status, "stop": nil, "code": nil, "detail": nil, "cost": nil, "verdict": nil, "now": t.now()}
	if stop == StopMaxCost || stop == StopBudget {
		args["stop"] = stop
	}
	if failure != nil {
		args["code"], args["detail"] = failure.Code, utf8text.Storable(failure.Error())
	}
	cost, err := t.providers.EvaluationCost(ctx, t.r.ID)
	if err != nil {
		return err //nolint:wrapcheck // it names the statement
	}
	for part, value := range map[string]any{"cost": cost, "verdict": verdict} {
		if value == nil {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode the %s: %w", part, err)
		}
		args[part] = string(text)
	}
	return t.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if err := t.cancelAttempts(ctx, tx, t.r.ID, &t.id, StopFailed); err != nil {
			return err
		}
		return work.Change(ctx, tx, "end replay", args)
	})
}
