package prompts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Version is a version of a prompt.
type Version struct {
	PromptID uuid.UUID
	// Name is the name of the prompt.
	Name    string
	Version int
	// ContentHash is the SHA-256 of the content.
	ContentHash []byte
	Content
	Note string
	Author
	CreatedAt time.Time
	// Aliases are the aliases that the version has now, sorted. They change.
	Aliases []string
}

// versionRow is a version as it is stored.
type versionRow struct {
	PromptID       uuid.UUID
	Name           string
	Version        int
	ContentHash    []byte
	Messages       string
	Tools          string
	ResponseFormat *string
	ModelConfig    string
	Variables      string
	TemplateFormat string
	Missing        prompttemplate.Missing
	Note           string
	CreatedAt      time.Time
	Author
	Aliases []string
}

func (r *versionRow) version() (Version, error) {
	v := Version{
		PromptID: r.PromptID, Name: r.Name, Version: r.Version, ContentHash: r.ContentHash,
		Content: Content{
			ModelConfig: json.RawMessage(r.ModelConfig), Variables: json.RawMessage(r.Variables), TemplateFormat: r.TemplateFormat, Missing: r.Missing,
		},
		Note: r.Note, Author: r.Author, CreatedAt: r.CreatedAt, Aliases: r.Aliases,
	}
	if r.ResponseFormat != nil {
		v.ResponseFormat = json.RawMessage(*r.ResponseFormat)
	}
	if err := json.Unmarshal([]byte(r.Messages), &v.Messages); err != nil {
		return Version{}, fmt.Errorf("read the messages of version %d of %s: %w", r.Version, r.PromptID, err)
	}
	if err := json.Unmarshal([]byte(r.Tools), &v.Tools); err != nil {
		return Version{}, fmt.Errorf("read the tools of version %d of %s: %w", r.Version, r.PromptID, err)
	}
	return v, nil
}

// SaveVersion saves a version. If the prompt has one with the same content, it returns that one, and saved is false. It
// returns a stale_base_version error if the base version is not the newest.
func (s *Service) SaveVersion(ctx context.Context, grant access.Grant, prompt uuid.UUID, content NewVersion) (version Version, saved bool, err error) {
	prepared, err := content.prepare("body")
	if err != nil {
		return Version{}, false, err
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		number, isNew, err := s.save(ctx, tx, grant, prompt, prepared)
		if err != nil {
			return err
		}
		saved = isNew
		version, err = s.version(ctx, tx, grant, prompt, number)
		return err
	})
	return version, saved, err
}

// save saves a version in a transaction.
func (s *Service) save(ctx context.Context, tx postgres.DB, grant access.Grant, prompt uuid.UUID, content *prepared) (number int, saved bool, err error) {
	stored, err := s.lock(ctx, tx, grant, prompt)
	if err != nil {
		return 0, false, err
	}
	same, err := postgres.Many[struct{ Version int }](ctx, tx, "find by content", pgx.NamedArgs{"prompt": prompt, "hash": content.hash[:]})
	if err != nil {
		return 0, false, err
	}
	if len(same) > 0 {
		return same[0].Version, false, nil
	}
	latest := 0
	if stored.LatestVersion != nil {
		latest = *stored.LatestVersion
	}
	if base := content.BaseVersion; base != nil && *base != latest {
		return 0, false, &problem.Error{
			Kind: problem.Conflict, Code: "stale_base_version",
			Detail: fmt.Sprintf("Version %d was saved in the meantime. Compare it with yours, and save with base_version %d.", latest, latest),
		}
	}
	args := pgx.NamedArgs{
		"prompt": prompt, "version": latest + 1, "hash": content.hash[:], "messages": array(content.Messages), "tools": array(content.Tools),
		"response_format": text(content.ResponseFormat), "model_config": string(content.ModelConfig), "variables": string(content.Variables),
		"template_format": content.TemplateFormat, "missing": string(content.Missing), "note": content.Note, "system_text_id": content.systemTextID(),
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
	}
	if _, err := tx.Exec(ctx, "add version", args); err != nil {
		return 0, false, err
	}
	_, err = tx.Exec(ctx, "set latest version", args)
	return latest + 1, true, err
}

// systemTextID returns the id of the system message if it is the same in every run, else nil.
func (p *prepared) systemTextID() *int64 {
	first := p.template.Messages[0]
	said, isText := first["content"].(string)
	if role := first["role"]; !isText || role != "system" && role != "developer" {
		return nil
	}
	only := prompttemplate.Prompt{Messages: p.template.Messages[:1], Plain: p.template.Plain, Missing: prompttemplate.MissingError}
	if len(only.Names()) > 0 {
		return nil
	}
	if rendered, err := only.Render(prompttemplate.Values{}); err == nil {
		said, _ = rendered[0]["content"].(string) // without comments
	}
	id := runmodel.SystemTextID(said)
	if id == 0 {
		return nil
	}
	return new(int64(id))
}

// array writes a list as JSON.
func array(list []json.RawMessage) string {
	var out strings.Builder
	out.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(item)
	}
	out.WriteByte(']')
	return out.String()
}

func text(value json.RawMessage) *string {
	if value == nil {
		return nil
	}
	written := string(value)
	return &written
}

// ListVersions returns a page of the versions of a prompt, the newest first.
func (s *Service) ListVersions(ctx context.Context, grant access.Grant, prompt uuid.UUID, page postgres.Page) ([]Version, bool, error) {
	if _, err := s.Get(ctx, grant, prompt); err != nil {
		return nil, false, err
	}
	rows, more, err := postgres.List[versionRow](ctx, s.db, "list versions", page, pgx.NamedArgs{"projects": grant.IDs(), "prompt": prompt})
	if err != nil {
		return nil, false, err
	}
	list := make([]Version, len(rows))
	for i := range rows {
		if list[i], err = rows[i].version(); err != nil {
			return nil, false, err
		}
	}
	return list, more, nil
}

// GetVersion returns a version.
func (s *Service) GetVersion(ctx context.Context, grant access.Grant, prompt uuid.UUID, number int) (Version, error) {
	return s.version(ctx, s.db, grant, prompt, number)
}

func (s *Service) version(ctx context.Context, db postgres.DB, grant access.Grant, prompt uuid.UUID, number int) (Version, error) {
	row, err := postgres.One[versionRow](ctx, db, "get version", pgx.NamedArgs{"projects": grant.IDs(), "prompt": prompt, "version": number})
	if err != nil {
		return Version{}, err
	}
	return row.version()
}

// Resolve returns the version that an alias of a prompt has, or the given version. Without both it is the newest.
func (s *Service) Resolve(ctx context.Context, grant access.Grant, name, alias string, number int) (Version, error) {
	if alias != "" && number != 0 {
		return Version{}, errBothAliasAndVersion
	}
	if len(grant.IDs()) > 1 {
		return Version{}, problem.InvalidField("query.project_id", "is needed: the caller has access to several projects")
	}
	project, err := grant.Project()
	if err != nil {
		return Version{}, err
	}
	if alias == "" && number == 0 {
		alias = AliasLatest
	}
	row, err := postgres.One[versionRow](ctx, s.db, "resolve", pgx.NamedArgs{"project": project, "name": name, "alias": alias, "version": number})
	if err != nil {
		return Version{}, err
	}
	return row.version()
}
