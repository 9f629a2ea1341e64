package grader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/controlplane/jsonselect"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Templates that are the defaults of members.
const (
	ofOutput    = "{{sample.output_text}}"
	ofReference = "{{item.reference_output}}"
)

// template is a JSON value whose texts may hold {{item.…}} and {{sample.…}}. A text that is nothing but one of them is replaced by the
// JSON value itself.
type template struct {
	literal json.RawMessage // without templates
	parts   []part          // of a text
	list    []*template
	names   []string // of the members of an object, with their values in list
}

// part is a piece of a text: a literal or a path.
type part struct {
	literal string
	path    *path
}

// path selects from the item or the sample.
type path struct {
	// text is as it was written, such as item.reference_output.
	text   string
	ofItem bool
	path   *jsonselect.Path
}

// missingError says that a path selects nothing.
type missingError struct{ path *path }

func (e *missingError) Error() string {
	if e.path.ofItem {
		return "the dataset item has no " + strings.TrimPrefix(e.path.text, "item.")
	}
	return "the sample has no " + strings.TrimPrefix(e.path.text, "sample.")
}

const maxTemplateDepth = 100

func parseTemplate(raw json.RawMessage) (*template, error) {
	value, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return newTemplate(value, 0)
}

func newTemplate(value any, depth int) (*template, error) {
	if depth > maxTemplateDepth {
		return nil, fmt.Errorf("must not nest deeper than %d", maxTemplateDepth)
	}
	t := &template{}
	static := true
	add := func(value any) error {
		element, err := newTemplate(value, depth+1)
		if err != nil {
			return err
		}
		static = static && element.literal != nil
		t.list = append(t.list, element)
		return nil
	}
	var err error
	switch v := value.(type) {
	case string:
		if t.parts, err = parseText(v); err != nil {
			return nil, err
		}
		static = !slices.ContainsFunc(t.parts, func(p part) bool { return p.path != nil })
	case []any:
		for i := range v {
			if err := add(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		t.names = jsonvalue.SortedKeys(v)
		for _, name := range t.names {
			if err := add(v[name]); err != nil {
				return nil, err
			}
		}
		if t.names == nil {
			t.names = []string{}
		}
	}
	if static {
		literal, err := jsontext.Encode(value)
		return &template{literal: literal}, err
	}
	return t, nil
}

// selectsReference reports whether a path of the template begins at the reference output.
func (t *template) selectsReference() bool {
	return slices.ContainsFunc(t.list, (*template).selectsReference) ||
		slices.ContainsFunc(t.parts, func(p part) bool {
			return p.path != nil && p.path.ofItem && p.path.path.Member() == "reference_output"
		})
}

// parseText splits a text at its templates.
func parseText(text string) ([]part, error) {
	var parts []part
	for {
		before, rest, found := strings.Cut(text, "{{")
		if before != "" {
			parts = append(parts, part{literal: before})
		}
		if !found {
			return parts, nil
		}
		inside, after, found := strings.Cut(rest, "}}")
		if !found {
			return nil, errors.New("has a {{ without its }}: a template is written {{item.question}} or {{sample.output_text}}")
		}
		p, err := parsePath(strings.TrimSpace(inside))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{path: p})
		text = after
	}
}

func parsePath(text string) (*path, error) {
	space, _, _ := strings.Cut(text, ".")
	space, _, _ = strings.Cut(space, "[")
	rest := strings.TrimPrefix(text, space)
	if (space != "item" && space != "sample") || rest == "" {
		return nil, fmt.Errorf("has {{%s}}: a template is {{item.…}} for the item of the dataset, or {{sample.…}} for what is graded", text)
	}
	selector, err := jsonselect.Parse("$" + rest)
	if err != nil {
		return nil, fmt.Errorf("has {{%s}}, which %w", text, err)
	}
	if member := selector.Member(); space == "sample" && !slices.Contains(sampleMembers, member) {
		return nil, fmt.Errorf("has {{%s}}: a sample has %s", text, jsonvalue.List(sampleMembers))
	}
	return &path{text: text, ofItem: space == "item", path: selector}, nil
}

// value fills in the template. Of values that are missing, those of the item are named first.
func (t *template) value(s *subject) (json.RawMessage, error) {
	if t.literal != nil {
		return t.literal, nil
	}
	if len(t.parts) == 1 {
		return s.find(t.parts[0].path)
	}
	if t.parts != nil {
		var b strings.Builder
		var missing error
		for _, p := range t.parts {
			if p.path == nil {
				b.WriteString(p.literal)
				continue
			}
			value, err := s.find(p.path)
			if err != nil {
				if missing = worse(missing, err); !isMissing(err) {
					return nil, err
				}
				continue
			}
			b.WriteString(jsontext.Text(value))
		}
		if missing != nil {
			return nil, missing
		}
		return jsontext.Encode(b.String())
	}
	var b bytes.Buffer
	var missing error
	for i, element := range t.list {
		value, err := element.value(s)
		if err != nil {
			if missing = worse(missing, err); !isMissing(err) {
				return nil, err
			}
			continue
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if t.names != nil {
			name, err := jsontext.Encode(t.names[i])
			if err != nil {
				return nil, err
			}
			b.Write(name)
			b.WriteByte(':')
		}
		b.Write(value)
	}
	if missing != nil {
		return nil, missing
	}
	if t.names != nil {
		return json.RawMessage("{" + b.String() + "}"), nil
	}
	return json.RawMessage("[" + b.String() + "]"), nil
}

// text fills in the template and returns its text: of a JSON string the string, of another value its JSON.
func (t *template) text(s *subject) (string, error) {
	value, err := t.value(s)
	if err != nil {
		return "", err
	}
	return jsontext.Text(value), nil
}

// texts is text for a value that may be a list of texts. A list with other values is one text, its JSON.
func (t *template) texts(s *subject) ([]string, error) {
	value, err := t.value(s)
	if err != nil {
		return nil, err
	}
	if len(value) == 0 || value[0] != '[' {
		return []string{jsontext.Text(value)}, nil
	}
	list, ok := textsOf(value)
	switch {
	case !ok:
		return []string{string(value)}, nil
	case len(list) == 0:
		return nil, errNoReference
	}
	return list, nil
}

// textsOf reads a list of texts.
func textsOf(value json.RawMessage) ([]string, bool) {
	var texts []*string
	if json.Unmarshal(value, &texts) != nil || slices.Contains(texts, nil) {
		return nil, false
	}
	list := make([]string, len(texts))
	for i := range texts {
		list[i] = *texts[i]
	}
	return list, true
}

var errNoReference = errors.New("the list of references is empty")

// unresolved is the verdict for a template that could not be filled in. A sample that lacks what the grader looks at gets 0.
func unresolved(err error) verdict {
	var missing *missingError
	switch {
	case errors.Is(err, errNoReference):
		return notApplicable("%s", err.Error())
	case errors.As(err, &missing) && missing.path.ofItem:
		return notApplicable("%s", err.Error())
	case errors.Is(err, errNothing):
		return notApplicable("%s", err.Error())
	case errors.As(err, &missing):
		return passed(false, nil, "%s", err.Error())
	}
	return failed(err)
}

// worse returns the error that decides: what the item lacks comes before what the sample lacks.
func worse(a, b error) error {
	var first *missingError
	if errors.As(a, &first) && first.path.ofItem {
		return a
	}
	return b
}

func isMissing(err error) bool {
	var missing *missingError
	return errors.As(err, &missing)
}
