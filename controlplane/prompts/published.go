package prompts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// AliasProduction is the alias whose version agents get, if a prompt has it.
const AliasProduction = "production"

// Published is the version of a prompt that agents get: that of the alias production, else the newest.
type Published struct {
	Version
	// Description is that of the prompt.
	Description string
}

type publishedRow struct {
	versionRow
	Description string
}

// Published returns a page of the prompts that have a version, sorted by name.
func (s *Service) Published(ctx context.Context, grant access.Grant, page postgres.Page) ([]Published, bool, error) {
	return s.published(ctx, grant, "", page)
}

// FindPublished returns a prompt by its name.
func (s *Service) FindPublished(ctx context.Context, grant access.Grant, name string) (Published, error) {
	found, _, err := s.published(ctx, grant, name, postgres.Page{Limit: 2})
	switch {
	case err != nil:
		return Published{}, err
	case len(found) == 0 || name == "":
		return Published{}, postgres.ErrNotFound
	case len(found) > 1:
		return Published{}, problem.InvalidField("name", "is the name of prompts in several projects; use a key of one project")
	}
	return found[0], nil
}

func (s *Service) published(ctx context.Context, grant access.Grant, name string, page postgres.Page) ([]Published, bool, error) {
	rows, more, err := postgres.List[publishedRow](ctx, s.db, "list published", page, pgx.NamedArgs{
		"projects": grant.IDs(), "name": name, "alias": AliasProduction,
	})
	if err != nil {
		return nil, false, err
	}
	list := make([]Published, len(rows))
	for i := range rows {
		version, err := rows[i].version()
		if err != nil {
			return nil, false, err
		}
		list[i] = Published{version, rows[i].Description}
	}
	return list, more, nil
}

// Argument is a variable or placeholder of a prompt.
type Argument struct {
	Name        string
	Description string
	Required    bool
}

// Arguments returns the variables, sorted by name, and then the placeholders.
func (v *Version) Arguments() ([]Argument, error) {
	var declared map[string]variable
	if err := json.Unmarshal(v.Variables, &declared); err != nil {
		return nil, fmt.Errorf("read the variables of version %d of %s: %w", v.Version, v.PromptID, err)
	}
	template, err := v.template()
	if err != nil {
		return nil, err
	}
	var arguments []Argument
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		d := declared[name]
		description := d.Description
		if d.Type != prompttemplate.TypeAny && d.Type != prompttemplate.TypeString {
			description += " (" + string(d.Type) + ", as JSON)"
		}
		arguments = append(arguments, Argument{name, description, d.Required && d.Default == nil && v.Missing == prompttemplate.MissingError})
	}
	for _, name := range template.Placeholders() {
		arguments = append(arguments, Argument{Name: name, Description: "A list of messages as JSON, none by default."})
	}
	return arguments, nil
}

// ValuesOf returns the values for arguments that are texts: those of variables that are declared with another type, and
// those of placeholders, are JSON. A placeholder without an argument has no messages.
func (v *Version) ValuesOf(arguments map[string]string) (Values, error) {
	template, err := v.template()
	if err != nil {
		return Values{}, err
	}
	values := Values{Variables: map[string]any{}, Placeholders: map[string][]json.RawMessage{}}
	for _, name := range template.Placeholders() {
		list := []json.RawMessage{}
		if text := arguments[name]; text != "" {
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return Values{}, problem.InvalidField("body.placeholders."+name, "must be a list of messages as JSON")
			}
		}
		values.Placeholders[name] = list
	}
	for name, text := range arguments {
		if _, ok := values.Placeholders[name]; ok {
			continue
		}
		declared := template.Variables[name]
		if declared.Type == "" || declared.Type == prompttemplate.TypeAny || declared.Type == prompttemplate.TypeString {
			values.Variables[name] = text
			continue
		}
		value, err := decode(json.RawMessage(text))
		if err != nil {
			return Values{}, problem.InvalidField("body.variables."+name, "must be of the type "+string(declared.Type)+", as JSON")
		}
		values.Variables[name] = value
	}
	return values, nil
}
