package prompts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// maxAliases is the maximum number of aliases of a prompt.
const maxAliases = 100

var (
	errReserved     = problem.InvalidField("body.alias", AliasLatest+" is reserved: it is always the newest version")
	errReservedPath = problem.InvalidField("path.alias", AliasLatest+" is reserved: it is always the newest version")
	errNoVersion    = problem.InvalidField("body.version", "is not a version of the prompt")
	errTooMany      = problem.InvalidField("body.alias", fmt.Sprintf("is one too many: a prompt has at most %d aliases", maxAliases))
	errMoveRefused  = &problem.Error{
		Kind: problem.Forbidden, Code: "alias_protected", Detail: "The alias is protected. An admin can move it, or end its protection.",
	}
	errProtectRefused = &problem.Error{
		Kind: problem.Forbidden, Code: "scope_missing", Detail: "The protection of an alias can be changed by an admin only.",
	}
)

// Alias is a name for a version that moves to others.
type Alias struct {
	Alias     string `json:"alias"`
	Version   int    `json:"version"`
	Protected bool   `json:"protected"`
	// Changes counts the changes of the alias, those before a deletion included.
	Changes   int       `json:"changes"`
	UpdatedAt time.Time `json:"updated_at"`
	Author
}

// ETag returns the entity tag of the alias.
func (a *Alias) ETag() string { return etag(a.Changes) }

func etag(changes int) string { return strconv.Quote(strconv.Itoa(changes)) }

// AliasChange is an entry in the history of an alias.
type AliasChange struct {
	// Change is created, moved, protected, unprotected or deleted.
	Change      string
	FromVersion *int
	ToVersion   *int
	CreatedAt   time.Time
	Author
}

// ListAliases returns the aliases of a prompt, sorted by name.
func (s *Service) ListAliases(ctx context.Context, grant access.Grant, prompt uuid.UUID) ([]Alias, error) {
	found, err := s.Get(ctx, grant, prompt)
	return found.Aliases, err
}

// GetAlias returns an alias and its version. The alias latest has the newest version, and as many changes as there are
// versions.
func (s *Service) GetAlias(ctx context.Context, grant access.Grant, prompt uuid.UUID, name string) (Alias, Version, error) {
	found, err := s.Get(ctx, grant, prompt)
	if err != nil {
		return Alias{}, Version{}, err
	}
	if name == AliasLatest {
		if found.LatestVersion == nil {
			return Alias{}, Version{}, postgres.ErrNotFound
		}
		latest, err := s.GetVersion(ctx, grant, prompt, *found.LatestVersion)
		return Alias{Alias: name, Version: latest.Version, Changes: latest.Version, UpdatedAt: latest.CreatedAt, Author: latest.Author}, latest, err
	}
	for _, alias := range found.Aliases {
		if alias.Alias == name {
			version, err := s.GetVersion(ctx, grant, prompt, alias.Version)
			return alias, version, err
		}
	}
	return Alias{}, Version{}, postgres.ErrNotFound
}

// MoveAlias moves an alias to a version, or creates it. previous is the version that it had, nil if it is new. If match
// is not empty, it must be the ETag of the alias, or that of 0 changes for an alias that never existed; else the error is
// alias_moved.
func (s *Service) MoveAlias(ctx context.Context, grant access.Grant, prompt uuid.UUID, name string, version int, match string) (moved Alias, previous *int, err error) {
	if name == AliasLatest {
		return Alias{}, nil, errReserved
	}
	err = s.changeAlias(ctx, grant, prompt, name, match, func(tx postgres.DB, project uuid.UUID, alias *Alias) (string, error) {
		if alias.Version == 0 {
			count, err := postgres.Many[Alias](ctx, tx, "list aliases", pgx.NamedArgs{"prompt": prompt})
			if err != nil {
				return "", err
			}
			if len(count) >= maxAliases {
				return "", errTooMany
			}
		}
		if alias.Protected && !grant.Allows(project, apikey.ScopeAdmin) {
			return "", errMoveRefused
		}
		from := alias.Version
		if from != 0 {
			previous = &from
		}
		alias.Version = version
		switch from {
		case version:
			return "", nil
		case 0:
			return "created", nil
		default:
			return "moved", nil
		}
	}, &moved)
	return moved, previous, err
}

// ProtectAlias protects an alias or ends its protection. match is as in MoveAlias.
func (s *Service) ProtectAlias(ctx context.Context, grant access.Grant, prompt uuid.UUID, name string, protected bool, match string) (changed Alias, err error) {
	if name == AliasLatest {
		return Alias{}, errReservedPath
	}
	err = s.changeAlias(ctx, grant, prompt, name, match, func(_ postgres.DB, project uuid.UUID, alias *Alias) (string, error) {
		was := alias.Protected
		alias.Protected = protected
		switch {
		case alias.Version == 0:
			return "", postgres.ErrNotFound
		case !grant.Allows(project, apikey.ScopeAdmin):
			return "", errProtectRefused
		case was == protected:
			return "", nil
		case protected:
			return "protected", nil
		default:
			return "unprotected", nil
		}
	}, &changed)
	return changed, err
}

// DeleteAlias deletes an alias. Its history stays. It returns [ErrAliasProtected] if it is protected. match is as in
// MoveAlias.
func (s *Service) DeleteAlias(ctx context.Context, grant access.Grant, prompt uuid.UUID, name, match string) error {
	if name == AliasLatest {
		return errReservedPath
	}
	return s.changeAlias(ctx, grant, prompt, name, match, func(_ postgres.DB, _ uuid.UUID, alias *Alias) (string, error) {
		switch {
		case alias.Version == 0:
			return "", postgres.ErrNotFound
		case alias.Protected:
			return "", ErrAliasProtected
		default:
			alias.Version = 0
			return "deleted", nil
		}
	}, new(Alias))
}

// changeAlias changes an alias and notes the change in its history. Others wait meanwhile. change gets the alias, with
// the version 0 if it does not exist, and returns the kind of the change, "" for none. changed gets the result.
func (s *Service) changeAlias(
	ctx context.Context, grant access.Grant, prompt uuid.UUID, name, match string,
	change func(tx postgres.DB, project uuid.UUID, alias *Alias) (string, error), changed *Alias,
) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		return s.changeAliasIn(ctx, tx, grant, prompt, name, match, change, changed)
	})
}

// changeAliasIn is changeAlias in a transaction.
func (s *Service) changeAliasIn(
	ctx context.Context, tx postgres.DB, grant access.Grant, prompt uuid.UUID, name, match string,
	change func(tx postgres.DB, project uuid.UUID, alias *Alias) (string, error), changed *Alias,
) error {
	locked, err := s.lock(ctx, tx, grant, prompt)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"prompt": prompt, "alias": name, "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now()}
	found, err := postgres.Many[Alias](ctx, tx, "get alias", args)
	if err != nil {
		return err
	}
	counted, err := postgres.One[struct{ Changes int }](ctx, tx, "count changes", args)
	if err != nil {
		return err
	}
	alias := Alias{Alias: name}
	if len(found) > 0 {
		alias = found[0]
	}
	if match != "" && !matches(match, etag(counted.Changes), alias.Version != 0) {
		return movedError(name, alias.Version)
	}
	from := alias.Version
	kind, err := change(tx, locked.ProjectID, &alias)
	if err != nil {
		return err
	}
	*changed = alias
	if kind == "" {
		return nil
	}
	args["change"], args["number"] = kind, counted.Changes+1
	args["from_version"], args["to_version"] = versionOrNil(from), versionOrNil(alias.Version)
	args["version"], args["protected"] = alias.Version, alias.Protected
	if alias.Version == 0 {
		_, err = tx.Exec(ctx, "delete alias", args)
	} else {
		_, err = tx.Exec(ctx, "set alias", args)
	}
	if postgres.Violates(err, "prompt_aliases_prompt_id_version_fkey") {
		return errNoVersion
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "add change", args); err != nil {
		return err
	}
	if alias.Version != 0 {
		*changed, err = postgres.One[Alias](ctx, tx, "get alias", args)
	}
	return err
}

func versionOrNil(version int) *int {
	if version == 0 {
		return nil
	}
	return &version
}

// matches reports whether an If-Match header has the entity tag. "*" is any tag of an alias that exists.
func matches(header, tag string, exists bool) bool {
	if strings.TrimSpace(header) == "*" {
		return exists
	}
	for one := range strings.SplitSeq(header, ",") {
		if strings.TrimSpace(one) == tag {
			return true
		}
	}
	return false
}

func movedError(name string, version int) error {
	detail := fmt.Sprintf("%s has moved to version %d. Read it again, and retry with its ETag.", name, version)
	if version == 0 {
		detail = name + " does not exist. Read the aliases again."
	}
	return &problem.Error{Kind: problem.Precondition, Code: "alias_moved", Detail: detail}
}

// AliasHistory returns a page of the changes of an alias, the newest first.
func (s *Service) AliasHistory(ctx context.Context, grant access.Grant, prompt uuid.UUID, name string, page postgres.Page) ([]AliasChange, bool, error) {
	if _, err := s.Get(ctx, grant, prompt); err != nil {
		return nil, false, err
	}
	list, more, err := postgres.List[AliasChange](ctx, s.db, "list changes", page, pgx.NamedArgs{"prompt": prompt, "alias": name})
	if err == nil && len(list) == 0 && page.Offset == 0 {
		return nil, false, postgres.ErrNotFound
	}
	return list, more, err
}
