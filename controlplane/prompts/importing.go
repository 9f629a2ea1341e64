package prompts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/prompts/importing"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// maxImported is the maximum number of versions in a file. They are imported in one transaction.
const maxImported = 2000

// Imported says what became of a version in a file.
type Imported struct {
	Name, SourceName string
	// PromptID is nil for a prompt that a dry run would create.
	PromptID *uuid.UUID
	// Change is created for the first version of a new prompt, new_version, or unchanged if the prompt has the content already.
	Change  string
	Version int
	// Aliases are those that were created. Existing ones do not move.
	Aliases     []string
	Conversions []importing.Conversion
	LeftOut     []string
}

// ImportReport says what became of a file.
type ImportReport struct {
	Format   importing.Format
	Imported []Imported
	Rejected []importing.Rejected
}

// errDryRun rolls a transaction back.
var errDryRun = errors.New("dry run")

// Import imports the prompts of a file of another product. A prompt whose name exists gets new versions. All that is not
// rejected is imported in one transaction, or nothing in a dry run.
func (s *Service) Import(ctx context.Context, grant access.Grant, content, fileName string, format importing.Format, dryRun bool) (ImportReport, error) {
	project, err := grant.Project()
	if err != nil {
		return ImportReport{}, err
	}
	file, err := importing.Parse([]byte(content), fileName, format)
	if err != nil {
		return ImportReport{}, problem.InvalidField("body.content", "cannot be imported: "+err.Error())
	}
	total := 0
	for i := range file.Prompts {
		total += len(file.Prompts[i].Versions)
	}
	if total > maxImported {
		return ImportReport{}, problem.InvalidField("body.content", fmt.Sprintf("has %d versions of prompts; at most %d can be imported at once, so split the file", total, maxImported))
	}
	// All imports lock prompts in the same order, so that none waits for another that waits for it. The report has that of
	// the file.
	places := make(map[string]int, len(file.Prompts))
	for i := range file.Prompts {
		places[file.Prompts[i].Name] = i
	}
	slices.SortFunc(file.Prompts, func(a, b importing.Prompt) int { return strings.Compare(a.Name, b.Name) })
	var report ImportReport
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		report = ImportReport{Format: file.Format, Imported: []Imported{}, Rejected: slices.Clone(file.Rejected)}
		for i := range file.Prompts {
			if err := s.importPrompt(ctx, tx, grant, project, &file.Prompts[i], &report); err != nil {
				return err
			}
		}
		if dryRun {
			return errDryRun
		}
		return nil
	})
	slices.SortStableFunc(report.Imported, func(a, b Imported) int { return places[a.Name] - places[b.Name] })
	if errors.Is(err, errDryRun) {
		for i := range report.Imported {
			if report.Imported[i].Change == "created" {
				hideNew(report.Imported, report.Imported[i].Name)
			}
		}
		err = nil
	}
	return report, err
}

// hideNew removes the id of a prompt that a dry run did not create.
func hideNew(imported []Imported, name string) {
	for i := range imported {
		if imported[i].Name == name {
			imported[i].PromptID = nil
		}
	}
}

func (s *Service) importPrompt(ctx context.Context, tx postgres.DB, grant access.Grant, project uuid.UUID, p *importing.Prompt, report *ImportReport) error {
	reject := func(path, reason string) {
		report.Rejected = append(report.Rejected, importing.Rejected{SourceName: p.SourceName, Path: path, Reason: reason})
	}
	change := Change{Description: &p.Description, Tags: &p.Tags}
	if err := change.clean(); err != nil {
		rejectFields(reject, "body.", err)
		return nil
	}
	var versions []*prepared
	var of []*importing.Version
	for i := range p.Versions {
		content, err := newVersion(&p.Versions[i])
		if err != nil {
			return err
		}
		prepared, err := content.prepare("version")
		if err != nil {
			rejectFields(reject, "version.", err)
			continue
		}
		versions, of = append(versions, prepared), append(of, &p.Versions[i])
	}
	if len(versions) == 0 {
		return nil
	}
	id, isNew, err := s.create(ctx, tx, grant, project, p.Name, change)
	if err != nil {
		return err
	}
	for i, version := range versions {
		number, saved, err := s.save(ctx, tx, grant, id, version)
		if err != nil {
			return err
		}
		one := Imported{
			Name: p.Name, SourceName: p.SourceName, PromptID: &id, Change: "unchanged", Version: number,
			Conversions: of[i].Conversions, LeftOut: of[i].LeftOut,
		}
		switch {
		case saved && isNew && number == 1:
			one.Change = "created"
		case saved:
			one.Change = "new_version"
		}
		for _, alias := range of[i].Aliases {
			created, err := s.importAlias(ctx, tx, grant, id, alias, number)
			if err != nil {
				return err
			}
			if created {
				one.Aliases = append(one.Aliases, alias)
			}
		}
		report.Imported = append(report.Imported, one)
	}
	return nil
}

// importAlias creates an alias, unless the prompt has it.
func (s *Service) importAlias(ctx context.Context, tx postgres.DB, grant access.Grant, prompt uuid.UUID, name string, version int) (created bool, err error) {
	aliases, err := postgres.Many[Alias](ctx, tx, "list aliases", pgx.NamedArgs{"prompt": prompt})
	if err != nil || len(aliases) >= maxAliases || slices.ContainsFunc(aliases, func(a Alias) bool { return a.Alias == name }) {
		return false, err
	}
	err = s.changeAliasIn(ctx, tx, grant, prompt, name, "", func(_ postgres.DB, _ uuid.UUID, alias *Alias) (string, error) {
		alias.Version = version
		return "created", nil
	}, new(Alias))
	return err == nil, err
}

// rejectFields rejects a prompt for each invalid field.
func rejectFields(reject func(path, reason string), prefix string, err error) {
	for _, field := range problem.Of(err).Fields {
		reject(strings.TrimPrefix(field.Location, prefix), field.Message)
	}
}

func newVersion(v *importing.Version) (NewVersion, error) {
	content := NewVersion{Note: v.Note, Content: Content{ResponseFormat: v.ResponseFormat}}
	if err := json.Unmarshal(v.Messages, &content.Messages); err != nil {
		return NewVersion{}, fmt.Errorf("read converted messages: %w", err)
	}
	if v.Tools != nil {
		if err := json.Unmarshal(v.Tools, &content.Tools); err != nil {
			return NewVersion{}, fmt.Errorf("read converted tools: %w", err)
		}
	}
	var err error
	if content.ModelConfig, err = json.Marshal(v.ModelConfig); err != nil {
		return NewVersion{}, fmt.Errorf("encode the model configuration: %w", err)
	}
	if len(v.Variables) > 0 {
		if content.Variables, err = json.Marshal(v.Variables); err != nil {
			return NewVersion{}, fmt.Errorf("encode the variables: %w", err)
		}
	}
	return content, nil
}
