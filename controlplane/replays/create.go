package replays

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// maxName is the length of a name.
const maxName = 200

// Create starts a replay.
func (s *Service) Create(ctx context.Context, grant access.Grant, n *Wanted) (Replay, error) {
	if n.Name != "" {
		if err := validate.Printable("body.name", n.Name); err != nil {
			return Replay{}, err
		}
	}
	p, err := s.Plan(ctx, grant, n, false)
	if err != nil {
		return Replay{}, err
	}
	project := p.source.run.ProjectID
	var reused []reusedControl
	if p.Controls > 0 && !p.Config.editsModel() {
		if reused, err = s.findControls(ctx, project, &p.Config, p.Controls); err != nil {
			return Replay{}, err
		}
	}
	var created Replay
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		id := postgres.NewID()
		job, err := s.jobs.Add(ctx, tx.PGX(), project, jobArgs{id, work.Calls})
		if err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		err = s.store(ctx, tx, n, p, reused, pgx.NamedArgs{
			"id": id, "job": job, "batch": nil, "max_cost": n.MaxCost, "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(),
		})
		if err != nil {
			return err
		}
		created, err = s.get(ctx, tx, grant.Projects, id)
		return err
	})
	return created, err
}

// store stores a replay with its attempts. more has its id, job, batch, cap and author.
func (s *Service) store(ctx context.Context, tx postgres.DB, n *Wanted, p *Plan, reused []reusedControl, more pgx.NamedArgs) error {
	config, err := encode("configuration", p.Config)
	if err != nil {
		return err
	}
	estimate, err := encode("estimate", p.Estimate)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{
		"project": p.source.run.ProjectID, "name": NameOf(n.Name, p.Texts), "run": n.Run, "run_name": utf8text.Storable(p.RunName), "config": config, "estimate": estimate,
		"controls": p.Controls, "treatments": p.Treatments, "allow_unpriced": n.AllowUnpriced, "now": s.now(),
	}
	maps.Copy(args, more)
	if _, err := tx.Exec(ctx, "create replay", args); err != nil {
		return err
	}
	return addAttempts(ctx, tx, args["id"].(uuid.UUID), attemptsOf(&p.Config, reused, 0, 0, p.Controls, p.Treatments))
}

// NameOf returns the name that was given, else what is edited.
func NameOf(name string, texts []string) string {
	if name == "" {
		name = "Without an edit"
		if len(texts) > 0 {
			name = strings.Join(texts, "; ")
		}
	}
	return utf8text.Cut(utf8text.Storable(name), maxName)
}

// maxQuoted is how many characters of a text a description quotes.
const maxQuoted = 60

// stepsOf says in words which steps of a run an edit changes.
func stepsOf(r *recorded.Recording, targets []int) string {
	if len(targets) == 1 {
		return fmt.Sprintf("step %d, %s", targets[0]+1, r.Steps[targets[0]].Name)
	}
	return fmt.Sprintf("%d steps", len(targets))
}

// stepsOfAny says in words which steps an edit changes, whatever the run.
func stepsOfAny(target *edit.Target) string {
	switch {
	case target.SpanID != "":
		return "step " + target.SpanID
	case target.All, target.Kind == string(recorded.KindModel) && target.Name == "":
		return "all model calls"
	case target.Kind == string(recorded.KindModel):
		return "model calls of " + target.Name
	case target.Kind == string(recorded.KindTool) && target.Name == "":
		return "all tool calls"
	case target.Kind == string(recorded.KindTool):
		return "calls of the tool " + target.Name
	case target.Name == "":
		return "all steps of the kind " + target.Kind
	}
	return "steps with the name " + target.Name
}

// Describe says in words what an edit changes, whatever the run.
func Describe(change *edit.Edit) string { return describe(change, stepsOfAny(&change.Target)) }

// describe says in words what an edit changes in some steps.
func describe(change *edit.Edit, of string) string {
	set := &change.Set
	switch {
	case set.Model != nil:
		return fmt.Sprintf("Model %s in %s", *set.Model, of)
	case len(set.Params) > 0:
		text, err := json.Marshal(set.Params)
		if err != nil {
			return "Parameters of " + of
		}
		return fmt.Sprintf("Parameters %s in %s", quote(string(text)), of)
	case set.SystemPrompt != nil:
		return fmt.Sprintf("System prompt “%s” in %s", quote(*set.SystemPrompt), of)
	case set.Prompt != nil:
		return fmt.Sprintf("Prompt version %d in %s", set.Prompt.Version, of)
	case len(set.Messages) > 0:
		return "Other messages in " + of
	case len(set.Response) > 0:
		return "Another answer in " + of
	case len(set.ToolSchema) > 0:
		return "Another tool definition in " + of
	case len(set.ToolResult) > 0:
		return fmt.Sprintf("Result %s of %s", quote(string(set.ToolResult)), of)
	case set.ToolError != nil:
		return fmt.Sprintf("Error “%s” of %s", quote(set.ToolError.Message), of)
	case set.TimeoutMS != nil:
		return fmt.Sprintf("Timeout of %d ms in %s", *set.TimeoutMS, of)
	case set.Retries != nil:
		return fmt.Sprintf("%d retries in %s", *set.Retries, of)
	case set.Input != nil:
		return fmt.Sprintf("Input “%s”", quote(*set.Input))
	}
	return "Edit of " + of
}

// quote cuts a text to one line.
func quote(text string) string {
	return utf8text.Cut(strings.Join(strings.Fields(text), " "), maxQuoted)
}
