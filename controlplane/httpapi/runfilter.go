package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
)

// ReadRunFilters returns what reads the filters of runs that stand in a body.
func ReadRunFilters() (func(project uuid.UUID, text string) (runs.Filter, error), error) {
	doc, err := contract.Read()
	if err != nil {
		return nil, err
	}
	return func(project uuid.UUID, text string) (runs.Filter, error) {
		return readRunFilter(doc, "body.run_filter", map[string]string{"project_id": "project_id"}, project, text)
	}, nil
}

// ReadRuleFilters returns what reads the filters of rules.
func ReadRuleFilters() (func(project uuid.UUID, text string) (runs.Filter, error), error) {
	read, err := ReadRunFilters()
	if err != nil {
		return nil, err
	}
	return func(project uuid.UUID, text string) (runs.Filter, error) {
		filter, err := read(project, text)
		if err != nil {
			return filter, err
		}
		// These depend on when a rule looks, or on what it writes.
		for name, given := range map[string]bool{
			"window_seconds": filter.Window != 0, "start_after": !filter.StartAfter.IsZero(), "start_before": !filter.StartBefore.IsZero(), "has_score": filter.HasScore != nil,
		} {
			if given {
				return filter, problem.InvalidField("body.run_filter", "has the parameter "+name+", which is not for rules: they take runs as they come")
			}
		}
		return filter, nil
	}, nil
}

// readRunFilter reads a filter of runs of a project from a query string at a location of the request. It checks it as the members of a
// RunFilter. elsewhere says where the members of a filter stand that the query string must not have.
func readRunFilter(doc *openapi3.T, location string, elsewhere map[string]string, project uuid.UUID, text string) (runs.Filter, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return runs.Filter{}, problem.InvalidField(location, "cannot be read as a query string: "+err.Error())
	}
	schema := doc.Components.Schemas["RunFilter"].Value
	members, metadata := map[string]any{}, map[string]any{}
	var fields []problem.Field
	refuse := func(name, message string) {
		fields = append(fields, problem.Field{Location: location, Message: "has the parameter " + shortened(name) + ", which " + message})
	}
	for name, given := range values {
		key, isMetadata := strings.CutPrefix(name, "metadata[")
		property := schema.Properties[name]
		switch {
		case elsewhere[name] != "":
			refuse(name, "stands in "+elsewhere[name])
		case isMetadata && strings.HasSuffix(key, "]") && len(key) > 1 && len(given) == 1:
			metadata[strings.TrimSuffix(key, "]")] = given[0]
		case isMetadata || name == "metadata":
			refuse(name, "must be given once as metadata[KEY]=VALUE")
		case property == nil:
			refuse(name, "is no filter of runs")
		case property.Value.Type.Is(openapi3.TypeArray):
			list := make([]any, len(given))
			for i := range given {
				list[i] = given[i]
			}
			members[name] = list
		case len(given) > 1:
			refuse(name, "must be given once")
		default:
			members[name] = literal(property.Value, given[0])
		}
	}
	if len(fields) > 0 {
		return runs.Filter{}, invalid(fields)
	}
	if len(metadata) > 0 {
		members["metadata"] = metadata
	}
	members["project_id"] = project.String()
	if err := schema.VisitJSON(members, openapi3.MultiErrors()); err != nil {
		for _, broken := range brokenRules(err) {
			pointer := broken.JSONPointer()
			refuse(strings.Join(pointer, "."), rule(broken.SchemaField, schemaAt(schema, pointer)))
		}
		if len(fields) == 0 {
			return runs.Filter{}, fmt.Errorf("validate a filter of runs: %w", err)
		}
		return runs.Filter{}, invalid(fields)
	}
	var filter contract.RunFilter
	if err := convert(members, &filter); err != nil {
		return runs.Filter{}, err
	}
	return runFilter(&filter, location)
}

// literal returns the number or boolean that a text is, where the schema wants one, else the text.
func literal(schema *openapi3.Schema, text string) any {
	if schema.Type.Is(openapi3.TypeString) {
		return text
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}
