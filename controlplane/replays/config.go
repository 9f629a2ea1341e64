package replays

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Config is what is edited, and how a run is replayed. It is the same for ever.
type Config struct {
	Executor engine.Executor `json:"executor"`
	// ProviderID is the connection that makes model calls, nil for the executor cassette.
	ProviderID   *uuid.UUID `json:"provider_id"`
	ProviderName string     `json:"provider_name"`
	// Edits have the messages of prompts. Texts says in words what each changes.
	Edits edit.Stored `json:"edits"`
	Texts []string    `json:"texts"`
	// EditHash and ForkSpanID are those of the checked edits.
	EditHash   string `json:"edit_hash"`
	ForkSpanID string `json:"fork_span_id"`
	// Recording is a hash of what the run did when the replay was made.
	Recording string                       `json:"recording"`
	Tools     map[string]engine.ToolPolicy `json:"tools"`
	// Outcome is a grader of the last answer, nil for none.
	Outcome json.RawMessage `json:"outcome,omitempty"`
	// Panel has the judges of the last answer, nil for none. A [Judges] reads it.
	Panel json.RawMessage `json:"panel,omitempty"`
	// ControlKey is a hash, in hexadecimal digits, of all that a control depends on.
	ControlKey string `json:"control_key"`
}

// ErrEditRemoved refuses more attempts with an edit of an earlier version.
var ErrEditRemoved = &problem.Error{Kind: problem.Conflict, Code: "edit_removed", Detail: "An edit of it sets what can no longer be set. Its results stay. Make a new replay with another edit."}

// editsModel reports whether an edit sets the model, so that no treatment tells whether the model of the controls is still the same.
func (c *Config) editsModel() bool {
	return slices.ContainsFunc(c.Edits.List, func(e edit.Edit) bool { return e.Set.Model != nil })
}

// options are those of an attempt of a role.
func (c *Config) options() engine.Options {
	return engine.Options{Executor: c.Executor, Tools: c.Tools, ForkSpanID: c.ForkSpanID}
}

// Estimate is what a replay is expected to take.
type Estimate struct {
	Calls int64 `json:"calls"`
	// Low and High are costs. Both are nil if a model has no price, High also if it has no bound.
	Low  *providers.Money `json:"low"`
	High *providers.Money `json:"high"`
	// Unpriced are the models without a price.
	Unpriced []string `json:"unpriced"`
}

// attemptRow is an attempt to make, or a control that another replay made: the attempt OfNumber of the replay Of.
type attemptRow struct {
	Number     int        `json:"number"`
	Role       Role       `json:"role"`
	Index      int        `json:"index"`
	RunID      uuid.UUID  `json:"run_id"`
	ControlKey *string    `json:"control_key"`
	Of         *uuid.UUID `json:"of"`
	OfNumber   *int       `json:"of_number"`
}

// attemptsOf returns the attempts that are added to those that a replay has. Controls and treatments take turns, so that what changes at a
// provider meets both. Controls of other replays are used first.
func attemptsOf(config *Config, reused []reusedControl, hasControls, hasTreatments, controls, treatments int) []attemptRow {
	var list []attemptRow
	number, c, t := hasControls+hasTreatments, hasControls, hasTreatments
	add := func(role Role, index *int) {
		number++
		*index++
		row := attemptRow{Number: number, Role: role, Index: *index, RunID: postgres.NewID()}
		if role == Control {
			row.ControlKey = &config.ControlKey
			if len(reused) > 0 {
				row.Of, row.OfNumber = &reused[0].ReplayID, &reused[0].Number
				reused = reused[1:]
			}
		}
		list = append(list, row)
	}
	for c < controls || t < treatments {
		if c < controls {
			add(Control, &c)
		}
		if t < treatments {
			add(Treatment, &t)
		}
	}
	return list
}

// addAttempts stores attempts.
func addAttempts(ctx context.Context, tx postgres.DB, id uuid.UUID, list []attemptRow) error {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode attempts: %w", err)
	}
	_, err = tx.Exec(ctx, "add attempts", pgx.NamedArgs{"id": id, "rows": string(text)})
	return err
}

// reusedControl is a control that another replay made.
type reusedControl struct {
	ReplayID uuid.UUID
	Number   int
	RunID    uuid.UUID
}

// reuseTime is how long a control is used again: models change.
const reuseTime = 24 * time.Hour

// findControls returns controls of other replays whose runs are still there. Their provider tells versions of its model: of another one nobody
// could say whether its model is still the same.
func (s *Service) findControls(ctx context.Context, project uuid.UUID, config *Config, limit int) ([]reusedControl, error) {
	key, err := hex.DecodeString(config.ControlKey)
	if err != nil {
		return nil, fmt.Errorf("read the key of controls: %w", err)
	}
	found, err := postgres.Many[reusedControl](ctx, s.db, "find controls", pgx.NamedArgs{"project": project, "key": key, "since": s.now().Add(-reuseTime), "limit": limit})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return s.whoseRunsExist(ctx, project, found)
}
