package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
)

// ErrNoSuchField means that runs have no field of this name, or none whose values can be listed.
var ErrNoSuchField = problem.Missing()

// MetadataField is the prefix of fields that are a key of the metadata.
const MetadataField = "metadata."

// fieldValues are the fields whose values can be listed, the most useful first, with their expressions over the table runs.
var fieldValues = []struct{ name, expression string }{
	{"status", "status"},
	{"name", "name"},
	{"kind", "kind"},
	{"model", "arrayJoin(models)"},
	{"agent_name", "agent_name"},
	{"environment", "environment"},
	{"release", "release"},
	{"agent_release", "agent_release"},
	{"tag", "arrayJoin(arrayDistinct(tags))"},
	{"error_type", "error_type"},
	{"user_id", "user_id"},
	{"session_id", "session_id"},
	{"conversation_id", "conversation_id"},
	{"prompt_name", "arrayJoin(arrayDistinct(prompt_names))"},
	{"prompt_version", "arrayJoin(arrayDistinct(prompt_versions))"},
	{"prompt_id", "arrayJoin(arrayDistinct(prompt_ids))"},
}

// maxValueBytes is how long a value, or a key of the metadata, may be to be listed. Most filters accept no longer ones.
const maxValueBytes = 4000

// maxMetadataKeys is how many keys of the metadata are listed, the most used first.
const maxMetadataKeys = 200

// Fields are the fields that a project's runs can be filtered by and whose values can be listed.
type Fields struct {
	Names []string
	// Metadata are the keys of the runs from Start on, the most used first.
	Metadata     []FieldValue
	MoreMetadata bool
	Start        time.Time
	Partial      bool // runs before Start were left out
}

// FieldValue is a value and how many runs have it.
type FieldValue struct {
	Value string `ch:"value"`
	Count uint64 `ch:"runs"`
}

// FieldValues are the values of a field in the runs from Start on, the most used first.
type FieldValues struct {
	Values  []FieldValue
	HasMore bool
	Start   time.Time
	Partial bool // runs before Start were left out
}

// Fields lists the fields of the runs that a filter selects.
func (s *Service) Fields(ctx context.Context, projects access.Projects, f Filter) (Fields, error) {
	found, err := s.values(ctx, projects, f, "arrayJoin(mapKeys(metadata))", "", maxMetadataKeys)
	if err != nil {
		return Fields{}, err
	}
	fields := Fields{Metadata: found.Values, MoreMetadata: found.HasMore, Start: found.Start, Partial: found.Partial}
	for _, field := range fieldValues {
		fields.Names = append(fields.Names, field.name)
	}
	return fields, nil
}

// FieldValues lists the values of a field in the filter's runs, the most used first. field is one of [Fields.Names], [ScoreNameField], or
// [MetadataField] followed by a key. Only values that begin with prefix are listed, in whatever case.
func (s *Service) FieldValues(ctx context.Context, projects access.Projects, f Filter, field, prefix string, limit int) (FieldValues, error) {
	if key, ok := strings.CutPrefix(field, MetadataField); ok {
		return s.values(ctx, projects, f, "metadata[?]", prefix, limit, key)
	}
	if field == ScoreNameField {
		return s.values(ctx, projects, f, ScoreNameField, prefix, limit)
	}
	for _, known := range fieldValues {
		if known.name == field {
			return s.values(ctx, projects, f, known.expression, prefix, limit)
		}
	}
	return FieldValues{}, ErrNoSuchField
}

// values counts the runs by an expression, which args belong to, or by [ScoreNameField].
func (s *Service) values(ctx context.Context, projects access.Projects, f Filter, expression, prefix string, limit int, args ...any) (FieldValues, error) {
	projects = projects.Only(f.ProjectID)
	f, err := s.resolve(ctx, projects, f)
	if err != nil {
		return FieldValues{}, err
	}
	start, end, err := s.startRange(ctx, projects, f)
	if err != nil {
		return FieldValues{}, err
	}
	found := FieldValues{Start: start, Values: []FieldValue{}}
	found.Partial, err = s.readNewest(&found.Start, end, func(s *Service, start time.Time) error {
		w := inProjects()
		w.startsIn(start, end)
		f.conditions(&w, start)
		having := fmt.Sprintf("value != '' AND length(value) <= %d", maxValueBytes)
		arguments := append(append([]any{}, args...), w.args...)
		if prefix != "" {
			having += " AND startsWith(lowerUTF8(value), lowerUTF8(?))"
			arguments = append(arguments, prefix)
		}
		found.Values = found.Values[:0]
		counted := `SELECT toString(` + expression + `) AS value, count() AS runs FROM runs FINAL WHERE ` + w.String()
		if expression == ScoreNameField {
			counted = scoredRuns + w.String() + `)`
		}
		return query(ctx, s.conn, projects, &found.Values, counted+`
			GROUP BY value HAVING `+having+` ORDER BY runs DESC, value LIMIT ?`, append(arguments, limit+1)...)
	})
	if err != nil {
		return FieldValues{}, err
	}
	if len(found.Values) > limit {
		found.Values, found.HasMore = found.Values[:limit], true
	}
	return found, nil
}
