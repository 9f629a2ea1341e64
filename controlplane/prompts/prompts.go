// Package prompts manages prompts: versions that never change, and aliases that move from one version to another.
package prompts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// AliasLatest is the reserved alias of the newest version.
const AliasLatest = "latest"

var (
	// ErrNameTaken is returned if the project has a prompt of the name.
	ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This project already has a prompt with this name."}
	// ErrAliasProtected is returned for the deletion of a protected alias or of its prompt.
	ErrAliasProtected = &problem.Error{
		Kind: problem.Conflict, Code: "alias_protected", Detail: "An alias is protected. An admin can end its protection.",
	}

	errBothAliasAndVersion = problem.InvalidField("query.version", "must be absent if there is an alias")
	errFolderAndFilter     = problem.InvalidField("query.folder", "must be absent if there is a name, a search or a tag")
)

// Service manages prompts.
type Service struct {
	db    postgres.DB
	now   func() time.Time
	watch *hub
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, now func() time.Time, log *slog.Logger) *Service {
	return &Service{postgres.NewDB(pool, queries), postgres.Clock(now), &hub{pool: pool, log: log, watches: map[*Watch]bool{}}}
}

// Run listens for changes until the context ends. Then it ends all watches.
func (s *Service) Run(ctx context.Context) { s.watch.run(ctx) }

// Author is who made something. Both fields are nil for a deleted user.
type Author struct {
	// AuthorEmail is the address of a user.
	AuthorEmail *string `json:"author_email"`
	// AuthorKey is the name of a key.
	AuthorKey *string `json:"author_key"`
}

// Prompt is a named prompt.
type Prompt struct {
	ID          uuid.UUID
	ProjectID   uuid.UUID
	Name        string
	Description string
	Tags        []string
	// LatestVersion is nil if there is no version yet.
	LatestVersion *int
	// Aliases are sorted by name.
	Aliases   []Alias
	CreatedAt time.Time
	UpdatedAt time.Time
	Author
}

// Folder is a folder of prompts.
type Folder struct {
	// Name is the whole path.
	Name string
	// Prompts is the number of prompts in it and in its folders.
	Prompts int
}

// Filter selects prompts. Empty fields select all.
type Filter struct {
	Name   string
	Search string
	Tag    string
	// Folder is the path of a folder, or "/" for the top level.
	Folder string
}

// List returns a page of prompts sorted by name. With a folder, it also returns the folders in it, at most 1,000.
func (s *Service) List(ctx context.Context, grant access.Grant, filter Filter, page postgres.Page) (list []Prompt, folders []Folder, more bool, err error) {
	err = errors.Join(validate.Text("query.search", filter.Search), validate.Text("query.tag", filter.Tag), validate.Text("query.folder", filter.Folder))
	if err != nil {
		return nil, nil, false, err
	}
	args := pgx.NamedArgs{
		"projects": grant.IDs(), "name": filter.Name, "search": postgres.Containing(filter.Search), "tag": filter.Tag, "in_folder": filter.Folder != "", "folder": "",
	}
	if filter.Folder != "" {
		if filter.Name+filter.Search+filter.Tag != "" {
			return nil, nil, false, errFolderAndFilter
		}
		if folder := strings.Trim(filter.Folder, "/"); folder != "" {
			args["folder"] = folder + "/"
		}
		if folders, err = postgres.Many[Folder](ctx, s.db, "list folders", args); err != nil {
			return nil, nil, false, err
		}
	}
	list, more, err = postgres.List[Prompt](ctx, s.db, "list prompts", page, args)
	return list, folders, more, err
}

// Get returns a prompt.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Prompt, error) {
	return s.get(ctx, s.db, grant, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, grant access.Grant, id uuid.UUID) (Prompt, error) {
	return postgres.One[Prompt](ctx, db, "get prompt", pgx.NamedArgs{"projects": grant.IDs(), "prompt": id})
}

// Create creates a prompt, with a first version if content is not nil. It returns [ErrNameTaken] if the name is in use.
func (s *Service) Create(ctx context.Context, grant access.Grant, name string, change Change, content *NewVersion) (Prompt, error) {
	project, err := grant.Project()
	if err != nil {
		return Prompt{}, err
	}
	errs := []error{checkName("body.name", name), change.clean()}
	var prepared *prepared
	if content != nil {
		if content.BaseVersion != nil && *content.BaseVersion != 0 {
			errs = append(errs, problem.InvalidField("body.version.base_version", "must be 0 or absent for a new prompt"))
		}
		prepared, err = content.prepare("body.version")
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Prompt{}, err
	}
	var created Prompt
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		id, isNew, err := s.create(ctx, tx, grant, project, name, change)
		if err == nil && !isNew {
			err = ErrNameTaken
		}
		if err != nil {
			return err
		}
		if prepared != nil {
			if _, _, err := s.save(ctx, tx, grant, id, prepared); err != nil {
				return err
			}
		}
		created, err = s.get(ctx, tx, grant, id)
		return err
	})
	return created, err
}

// create creates a prompt in a transaction. isNew is false if the project has one of the name; the id is that one's then.
func (s *Service) create(ctx context.Context, tx postgres.DB, grant access.Grant, project uuid.UUID, name string, change Change) (id uuid.UUID, isNew bool, err error) {
	id = postgres.NewID()
	tags := []string{}
	if change.Tags != nil {
		tags = *change.Tags
	}
	created, err := tx.Exec(ctx, "create prompt", pgx.NamedArgs{
		"id": id, "project": project, "name": name, "description": change.Description, "tags": tags,
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
	})
	if err != nil || created > 0 {
		return id, true, err
	}
	existing, err := postgres.One[struct{ ID uuid.UUID }](ctx, tx, "find by name", pgx.NamedArgs{"project": project, "name": name})
	return existing.ID, false, err
}

// Change is an update of a prompt. Fields that are nil do not change.
type Change struct {
	Description *string
	Tags        *[]string
}

// Update changes the description or tags of a prompt.
func (s *Service) Update(ctx context.Context, grant access.Grant, id uuid.UUID, change Change) (Prompt, error) {
	if err := change.clean(); err != nil {
		return Prompt{}, err
	}
	var updated Prompt
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		changed, err := tx.Exec(ctx, "update prompt", pgx.NamedArgs{
			"projects": grant.IDs(), "prompt": id, "description": change.Description, "tags": change.Tags, "now": s.now(),
		})
		if err == nil && changed == 0 {
			err = postgres.ErrNotFound
		}
		if err != nil {
			return err
		}
		updated, err = s.get(ctx, tx, grant, id)
		return err
	})
	return updated, err
}

// Delete deletes a prompt with its versions and aliases. It returns [ErrAliasProtected] while one of its aliases is
// protected.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := s.lock(ctx, tx, grant, id); err != nil {
			return err
		}
		aliases, err := postgres.Many[Alias](ctx, tx, "list aliases", pgx.NamedArgs{"prompt": id})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(aliases, func(a Alias) bool { return a.Protected }) {
			return ErrAliasProtected
		}
		return tx.Delete(ctx, "delete prompt", pgx.NamedArgs{"prompt": id})
	})
}

// locked is a prompt that a transaction has locked against other changes.
type locked struct {
	ProjectID     uuid.UUID
	LatestVersion *int
}

// lock locks the prompt against other changes until the transaction ends, and notes that it changes.
func (s *Service) lock(ctx context.Context, tx postgres.DB, grant access.Grant, id uuid.UUID) (locked, error) {
	return postgres.One[locked](ctx, tx, "lock prompt", pgx.NamedArgs{"projects": grant.IDs(), "prompt": id, "now": s.now()})
}

// maxTags is the maximum number of tags of a prompt.
const maxTags = 20

// clean normalizes the change for storage, and returns an error for each invalid field.
func (c *Change) clean() error {
	var errs []error
	if c.Description != nil {
		errs = append(errs, validate.Text("body.description", *c.Description))
	}
	if c.Tags != nil {
		var tags []string
		for i, tag := range *c.Tags {
			name, err := validate.Name(fmt.Sprintf("body.tags[%d]", i), tag)
			errs = append(errs, err)
			if !slices.Contains(tags, name) {
				tags = append(tags, name)
			}
		}
		if len(tags) > maxTags {
			errs = append(errs, problem.InvalidField("body.tags", fmt.Sprintf("must not have more than %d tags", maxTags)))
		}
		if tags == nil {
			tags = []string{}
		}
		c.Tags = &tags
	}
	return errors.Join(errs...)
}

// checkName refuses names of prompts with empty folders. The document has a pattern for the rest.
func checkName(location, name string) error {
	if strings.HasSuffix(name, "/") || strings.Contains(name, "//") {
		return problem.InvalidField(location, "must not have empty parts between slashes or at the end")
	}
	return nil
}
