package failures

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// State is what people decided about a group.
type State string

// States of a group.
const (
	Open     State = "open"
	Resolved State = "resolved"
	Muted    State = "muted"
	// AnyState selects groups of all states.
	AnyState State = "all"
)

// Decision is what somebody decided about a group.
type Decision struct {
	State State
	// Note is nil if there is none.
	Note *string
	// Until and MoreRuns end a mute: at a time, or when so many runs of the group have started since. At most one is set; a mute without an
	// end has neither.
	Until    *time.Time
	MoreRuns *int
}

// Made is a decision as it is stored.
type Made struct {
	Decision
	// AuthorEmail is the address of a user, AuthorKey the name of a key. Both are nil for a deleted user.
	AuthorEmail, AuthorKey *string
	At                     time.Time
	// Revision counts the decisions about the group, from 1.
	Revision int
}

// GroupState is the state of a group at a moment.
type GroupState struct {
	// State is [Open] if nothing was decided, a run of a resolved group has started since, or a mute has ended.
	State State
	// Last is the last decision, nil if there is none.
	Last *Made
	// RunsSince counts the runs that started after a group was resolved or muted, at most 90 days back.
	RunsSince uint64
	// Regression is the first of these runs of a group that was resolved, nil if there is none.
	Regression *Regression
}

// Regression is a run of a group that started after the group was resolved.
type Regression struct {
	RunID     uuid.UUID
	StartTime time.Time
}

// storedState is a row of failure_states.
type storedState struct {
	Fingerprint            string
	State                  State
	Note                   *string
	Until                  *time.Time
	MoreRuns               *int
	ChangedAt              time.Time
	Revision               int
	AuthorEmail, AuthorKey *string
}

// at returns the state at a moment, given the runs since the decision.
func (s *storedState) at(now time.Time, since runs.FailureSince) GroupState {
	state := GroupState{State: s.State, Last: &Made{
		Decision:    Decision{State: s.State, Note: s.Note, Until: s.Until, MoreRuns: s.MoreRuns},
		AuthorEmail: s.AuthorEmail, AuthorKey: s.AuthorKey, At: s.ChangedAt, Revision: s.Revision,
	}}
	switch s.State {
	case Resolved:
		state.RunsSince = since.Runs
		if since.Runs > 0 {
			state.State, state.Regression = Open, &Regression{RunID: since.FirstRun, StartTime: since.First}
		}
	case Muted:
		state.RunsSince = since.Runs
		if s.Until != nil && !now.Before(*s.Until) || s.MoreRuns != nil && since.Runs >= uint64(*s.MoreRuns) {
			state.State = Open
		}
	}
	return state
}

// states returns the states of those of the groups about which something was decided.
func (s *Service) states(ctx context.Context, projects access.Projects, project uuid.UUID, now time.Time, fingerprints []string) (map[string]GroupState, error) {
	if len(projects.Only(project).IDs()) == 0 || len(fingerprints) == 0 {
		return nil, nil
	}
	stored, err := postgres.Many[storedState](ctx, s.db, "read states", pgx.NamedArgs{"project": project, "fingerprints": fingerprints})
	if err != nil {
		return nil, err
	}
	since := map[string]time.Time{}
	for i := range stored {
		if stored[i].State != Open {
			since[stored[i].Fingerprint] = stored[i].ChangedAt
		}
	}
	started, err := s.store.FailuresSince(ctx, projects, project, now, since)
	if err != nil {
		return nil, err
	}
	byGroup := make(map[string]runs.FailureSince, len(started))
	for _, f := range started {
		byGroup[f.Fingerprint] = f
	}
	states := make(map[string]GroupState, len(stored))
	for i := range stored {
		states[stored[i].Fingerprint] = stored[i].at(now, byGroup[stored[i].Fingerprint])
	}
	return states, nil
}

// stateIn returns the state of a group, which is open if nothing was decided.
func stateIn(states map[string]GroupState, fingerprint string) GroupState {
	if state, ok := states[fingerprint]; ok {
		return state
	}
	return GroupState{State: Open}
}

// decision returns the last decision. Without one the group is as after the decision to open it.
func (s *GroupState) decision() Decision {
	if s.Last == nil {
		return Decision{State: Open}
	}
	return s.Last.Decision
}

var errStale = &problem.Error{
	Kind: problem.Conflict, Code: "stale_base_revision",
	Detail: "Someone resolved, muted or reopened this group in the meantime. Look at its state, then decide again.",
}

// Decide sets the state of a group. A decision that holds already keeps its author and time. It returns [runs.ErrNotFound] if no run of the
// last 90 days has the fingerprint, and a conflict if base is not the revision of the last decision: 0 for none, nil for any.
func (s *Service) Decide(ctx context.Context, grant access.Grant, fingerprint string, decision Decision, base *int) (GroupState, error) {
	project, err := grant.Project()
	if err != nil {
		return GroupState{}, err
	}
	now := s.now()
	if decision, err = decision.clean(now); err != nil {
		return GroupState{}, err
	}
	found, err := s.store.FailuresSince(ctx, grant.Projects, project, now, map[string]time.Time{fingerprint: now.Add(-maxWindow)})
	if err != nil {
		return GroupState{}, err
	}
	if len(found) == 0 {
		return GroupState{}, runs.ErrNotFound
	}
	present, err := s.states(ctx, grant.Projects, project, now, []string{fingerprint})
	if err != nil {
		return GroupState{}, err
	}
	if state := stateIn(present, fingerprint); state.State == decision.State && state.decision().equal(decision) {
		return state, nil
	}
	rows, err := postgres.Many[storedState](ctx, s.db, "set state", pgx.NamedArgs{
		"project": project, "fingerprint": fingerprint, "state": decision.State, "note": decision.Note, "until": decision.Until,
		"more_runs": decision.MoreRuns, "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": now, "base": base,
	})
	if err != nil {
		return GroupState{}, err
	}
	if len(rows) == 0 {
		return GroupState{}, errStale
	}
	return rows[0].at(now, runs.FailureSince{}), nil
}

// clean normalizes a decision for storage, and returns an error for a field that does not fit the others.
func (d Decision) clean(now time.Time) (Decision, error) {
	if d.Note != nil {
		note := strings.TrimSpace(*d.Note)
		if err := validate.Printable("body.note", note); err != nil {
			return Decision{}, err
		}
		d.Note = &note
		if note == "" {
			d.Note = nil
		}
	}
	switch {
	case d.State != Muted && d.Until != nil:
		return Decision{}, problem.InvalidField("body.until", fmt.Sprintf("is only for the state %s", Muted))
	case d.State != Muted && d.MoreRuns != nil:
		return Decision{}, problem.InvalidField("body.more_runs", fmt.Sprintf("is only for the state %s", Muted))
	case d.Until != nil && d.MoreRuns != nil:
		return Decision{}, problem.InvalidField("body.more_runs", "must be absent if until is given: a mute has one end")
	}
	if d.Until == nil {
		return d, nil
	}
	if err := validate.Time("body.until", *d.Until); err != nil {
		return Decision{}, err
	}
	if !d.Until.After(now) {
		return Decision{}, problem.InvalidField("body.until", "must be in the future")
	}
	until := d.Until.UTC().Truncate(time.Microsecond) // as PostgreSQL keeps it
	d.Until = &until
	return d, nil
}

// equal reports whether two decisions say the same.
func (d Decision) equal(other Decision) bool {
	return d.State == other.State && same(d.Note, other.Note) && same(d.MoreRuns, other.MoreRuns) &&
		(d.Until == nil) == (other.Until == nil) && (d.Until == nil || d.Until.Equal(*other.Until))
}

func same[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
