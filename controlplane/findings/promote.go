package findings

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Named is a prompt or a dataset that a request names.
type Named struct {
	ID   *uuid.UUID
	Name *string
}

func (n *Named) check(location string) error {
	if (n.ID == nil) == (n.Name == nil) {
		return problem.InvalidField(location, "must have either id or name")
	}
	return nil
}

// Prompts reads and writes the prompts of a project.
type Prompts interface {
	// Prompt returns a prompt with a version, the newest for nil. A name or id that the project does not have is [problem.Invalid].
	Prompt(ctx context.Context, grant access.Grant, named Named, version *int) (Prompt, error)
	// SavePrompt saves a version, unless the prompt has one with the same content. base must be the newest version.
	SavePrompt(ctx context.Context, grant access.Grant, p *Prompt, base int, note string) (version int, isNew bool, err error)
}

// Datasets reads and writes the datasets of a project.
type Datasets interface {
	// Dataset returns a dataset, nil if the project has none of the name. An id that it does not have is [problem.Invalid].
	Dataset(ctx context.Context, grant access.Grant, named Named) (*Dataset, error)
	// CreateDataset returns the dataset of a name, which it creates if there is none.
	CreateDataset(ctx context.Context, grant access.Grant, name, description string) (Dataset, error)
	// Items makes items of runs, with what each run was given and without a reference output.
	Items(ctx context.Context, in access.Projects, runs []uuid.UUID) (Items, error)
}

// Dataset is a dataset of a project.
type Dataset struct {
	ID   uuid.UUID
	Name string
}

// Items are items to add to a dataset.
type Items interface {
	Count() int
	// Skipped are the runs of which no item is made.
	Skipped() []Skipped
	// Write adds the items in one revision. Of a run that the dataset has an item of, that item stays.
	Write(ctx context.Context, tx postgres.DB, grant access.Grant, dataset uuid.UUID, note string) (Written, error)
}

// Skipped is a run of which no item is made.
type Skipped struct {
	RunID  uuid.UUID
	Reason string
}

// Written says what was added to a dataset. Revision is its newest one afterwards.
type Written struct {
	Revision, Added, Unchanged int
	Skipped                    []Skipped
}

// Promotion is what a finding is to become.
type Promotion struct {
	Prompt  *Named
	Base    *int // the version of the prompt that is edited, nil for the newest
	Dataset *Named
	// Plan only says what would happen.
	Plan bool
}

// Promoted is what a finding became, or would become.
type Promoted struct {
	Finding Finding
	Prompt  *PromotedPrompt
	Dataset *PromotedDataset
	// Gate is nil without a grader, and without a dataset that exists.
	Gate *Gate
}

// PromotedPrompt is a version with the edits of a finding.
type PromotedPrompt struct {
	ID   uuid.UUID
	Name string
	// Base is the version that was edited.
	Base int
	// Version is nil in a plan.
	Version *int
	IsNew   bool
	// Changes says what differs from the base, LeftOut which edits no prompt can have.
	Changes, LeftOut []string
}

// PromotedDataset is a dataset with the runs of a finding's batch.
type PromotedDataset struct {
	// ID and Revision are nil in a plan for a new one.
	ID       *uuid.UUID
	Name     string
	Revision *int
	// Runs are those of the batch that failed.
	Runs, Added, Unchanged int
	Skipped                []Skipped
}

var (
	errNothing    = problem.InvalidField("body", "must have a prompt, a dataset, or both")
	errNoBatch    = problem.InvalidField("body.dataset", "needs a batch of replays, whose failed runs become the items: the finding has none, or it was deleted")
	errOtherwise  = "is not the one to which the finding was promoted already"
	errNotAPrompt = problem.InvalidField("body.prompt", "cannot have any of the edits: none is of a prompt")
)

// Promote makes a version of a prompt of the edits, and items of a dataset of the runs that failed. A finding remembers what it became, so
// that a second call makes nothing twice, and finishes what the first did not come to.
func (s *Service) Promote(ctx context.Context, grant access.Grant, id uuid.UUID, wanted *Promotion) (Promoted, error) {
	found, err := s.Get(ctx, grant, id)
	if err != nil {
		return Promoted{}, err
	}
	grant.Projects = grant.Only(found.ProjectID)
	var prompt *promptPlan
	var dataset *datasetPlan
	if wanted.Prompt == nil && wanted.Dataset == nil {
		return Promoted{}, errNothing
	}
	if wanted.Prompt != nil {
		if prompt, err = s.planPrompt(ctx, grant, &found, wanted); err != nil {
			return Promoted{}, err
		}
	}
	if wanted.Dataset != nil { // before anything is stored
		if dataset, err = s.planDataset(ctx, grant, &found, wanted.Dataset); err != nil {
			return Promoted{}, err
		}
	}
	done := Promoted{Finding: found}
	if prompt != nil {
		if !wanted.Plan && prompt.Version == nil {
			if err := s.savePrompt(ctx, grant, &found, prompt); err != nil {
				return Promoted{}, err
			}
		}
		done.Prompt = &prompt.PromotedPrompt
	}
	if dataset != nil {
		if !wanted.Plan && dataset.items != nil {
			if err := s.saveDataset(ctx, grant, &found, dataset); err != nil {
				return Promoted{}, err
			}
		}
		done.Dataset = &dataset.PromotedDataset
		if done.Gate, err = gateOf(&found, done.Dataset); err != nil {
			return Promoted{}, err
		}
	}
	done.Finding, err = s.Get(ctx, grant, id)
	return done, err
}

// promptPlan is a version to save. One that has a version is saved.
type promptPlan struct {
	PromotedPrompt
	edited Prompt
	latest int
}

func (s *Service) planPrompt(ctx context.Context, grant access.Grant, f *Finding, wanted *Promotion) (*promptPlan, error) {
	if err := wanted.Prompt.check("body.prompt"); err != nil {
		return nil, err
	}
	base, err := s.prompts.Prompt(ctx, grant, *wanted.Prompt, wanted.Base)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	plan := &promptPlan{PromotedPrompt: PromotedPrompt{ID: base.ID, Name: base.Name, Base: base.Version}, latest: base.Version}
	if f.PromptID != nil {
		if *f.PromptID != base.ID {
			return nil, problem.InvalidField("body.prompt", errOtherwise)
		}
		plan.Version = f.PromptVersion
		return plan, nil
	}
	for i := range f.Candidate.Edits.List { // a version that was tested is the one to edit further
		if tested := f.Candidate.Edits.List[i].Set.Prompt; tested != nil && tested.ID == base.ID.String() {
			if base, err = s.prompts.Prompt(ctx, grant, Named{ID: &base.ID}, &tested.Version); err != nil {
				return nil, err //nolint:wrapcheck // it is for the client
			}
			plan.Changes = append(plan.Changes, fmt.Sprintf("It is version %d, which was tested.", base.Version))
		}
	}
	changes, leftOut, err := base.apply(f.Candidate.Edits.List)
	if err != nil {
		return nil, err
	}
	plan.Changes, plan.LeftOut, plan.edited = append(plan.Changes, changes...), leftOut, base
	if len(plan.Changes) == 0 {
		return nil, errNotAPrompt
	}
	return plan, nil
}

// savePrompt saves a version, and then remembers it. If only the second fails, a repetition finds the version by its content.
func (s *Service) savePrompt(ctx context.Context, grant access.Grant, f *Finding, plan *promptPlan) error {
	version, isNew, err := s.prompts.SavePrompt(ctx, grant, &plan.edited, plan.latest, f.origin())
	if err != nil {
		return err //nolint:wrapcheck // it is for the client
	}
	plan.Version, plan.IsNew = &version, isNew
	_, err = s.db.Exec(ctx, "set promoted prompt", s.promoted(grant, f, pgx.NamedArgs{"prompt": plan.ID, "version": version}))
	return err
}

func (s *Service) promoted(grant access.Grant, f *Finding, args pgx.NamedArgs) pgx.NamedArgs {
	args["id"], args["author"], args["author_key"], args["now"] = f.ID, grant.CreatedBy(), grant.CreatedByKey(), s.now()
	return args
}

// maxOrigin is how long the note of a version or a revision may be.
const maxOrigin = 2000

// origin says where a version or an item comes from.
func (f *Finding) origin() string {
	text := fmt.Sprintf("Finding %s: %s", f.ID, f.Candidate.Title)
	if f.Batch != nil {
		text += fmt.Sprintf("\nTested by the batch of replays %s (%s).", f.Batch.ID, f.Batch.Name)
	}
	if f.Verdict != nil {
		text += "\n" + f.Verdict.Sentence
	}
	return utf8text.Cut(text, maxOrigin)
}

// datasetPlan are items to add. Items that are nil are added.
type datasetPlan struct {
	PromotedDataset
	items Items
}

func (s *Service) planDataset(ctx context.Context, grant access.Grant, f *Finding, named *Named) (*datasetPlan, error) {
	if err := named.check("body.dataset"); err != nil {
		return nil, err
	}
	if named.Name != nil {
		name, err := validate.Name("body.dataset.name", *named.Name)
		if err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
		named = &Named{Name: &name}
	}
	dataset, err := s.datasets.Dataset(ctx, grant, *named)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	plan := &datasetPlan{}
	if dataset != nil {
		plan.ID, plan.Name = &dataset.ID, dataset.Name
	} else {
		plan.Name = *named.Name
	}
	if f.DatasetID != nil {
		if plan.ID == nil || *plan.ID != *f.DatasetID {
			return nil, problem.InvalidField("body.dataset", errOtherwise)
		}
		plan.Revision = f.DatasetRevision
		return plan, nil
	}
	if f.Batch == nil {
		return nil, errNoBatch
	}
	failed, err := s.batches.FailedRuns(ctx, grant.Projects, f.Batch.ID)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	if plan.items, err = s.datasets.Items(ctx, grant.Projects, failed); err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	plan.Runs, plan.Added, plan.Skipped = len(failed), plan.items.Count(), plan.items.Skipped()
	if plan.Added == 0 {
		return nil, problem.InvalidField("body.dataset", "would get no item: none of the runs that failed can be read any more, or has an input")
	}
	return plan, nil
}

// saveDataset adds the items, and remembers the dataset with them. A dataset that was created before this fails is empty, and found by its name
// by a repetition.
func (s *Service) saveDataset(ctx context.Context, grant access.Grant, f *Finding, plan *datasetPlan) error {
	if plan.ID == nil {
		created, err := s.datasets.CreateDataset(ctx, grant, plan.Name, f.origin())
		if err != nil {
			return err //nolint:wrapcheck // it is for the client
		}
		plan.ID, plan.Name = &created.ID, created.Name
	}
	return s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := s.db.On(tx)
		written, err := plan.items.Write(ctx, db, grant, *plan.ID, f.origin())
		if err != nil {
			return err //nolint:wrapcheck // it is for the client
		}
		if written.Added+written.Unchanged == 0 {
			return problem.InvalidField("body.dataset", "has a schema that no run fits")
		}
		plan.Revision, plan.Added, plan.Unchanged, plan.Skipped = &written.Revision, written.Added, written.Unchanged, written.Skipped
		_, err = db.Exec(ctx, "set promoted dataset", s.promoted(grant, f, pgx.NamedArgs{"dataset": *plan.ID, "revision": written.Revision}))
		return err
	})
}
