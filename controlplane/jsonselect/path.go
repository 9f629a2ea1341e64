// Package jsonselect selects values of JSON documents by JSON paths (RFC 9535). Unlike the library that parses the paths, it selects in the
// order of the document, returns values as they were written, and limits the work: in a few characters, a path can ask for more nodes than
// any memory holds.
package jsonselect

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// maxNodes limits how many nodes a path visits in a document.
const maxNodes = 2_000_000

// ErrTooManyNodes is returned for a path that visits more nodes of a document than the limit.
var ErrTooManyNodes = errors.New("visits too many values")

var errFilter = errors.New("a filter may only compare members by name and index, such as [?@.role == 'user']: `..`, `*`, slices and nested filters are not supported in it")

// Path is a JSON path.
type Path struct {
	text     string
	segments []*spec.Segment
}

// Parse parses a path. The error says where it is wrong.
func Parse(text string) (*Path, error) {
	parsed, err := jsonpath.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("is not a JSON path (RFC 9535): %s", strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	p := &Path{text: text, segments: parsed.Query().Segments()}
	for _, segment := range p.segments {
		for _, selector := range segment.Selectors() {
			if filter, ok := selector.(*spec.FilterSelector); ok && !isCheap(filter) {
				return nil, fmt.Errorf("is not supported: %w", errFilter)
			}
		}
	}
	return p, nil
}

// quoted matches the texts in a filter.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)

// isCheap reports whether each query in a filter selects at most one node. The library evaluates filters, so their work is not counted.
func isCheap(filter *spec.FilterSelector) bool {
	text := strings.TrimPrefix(quoted.ReplaceAllString(filter.String(), `""`), "?")
	return !strings.Contains(text, "..") && !strings.ContainsAny(text, "*:?")
}

func (p *Path) String() string { return p.text }

// Select returns the values that the path selects, in the order of the document.
func (p *Path) Select(d *Document) ([]json.RawMessage, error) {
	if name, ok := p.member(); ok && len(p.segments) == 1 {
		if value := d.member(name); value != nil {
			return []json.RawMessage{value}, nil
		}
		return nil, nil
	}
	if err := d.parse(); err != nil {
		return nil, err
	}
	s := selection{document: d}
	nodes := []any{d.root}
	for _, segment := range p.segments {
		s.found = nil
		for _, node := range nodes {
			s.segment(segment, node)
		}
		if s.visited > maxNodes {
			return nil, ErrTooManyNodes
		}
		nodes = s.found
	}
	values := make([]json.RawMessage, len(nodes))
	for i, node := range nodes {
		var err error
		if values[i], err = d.text(node); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Member returns the name of the member that the path selects from, "" if that depends on the document.
func (p *Path) Member() string {
	name, _ := p.member()
	return name
}

func (p *Path) member() (string, bool) {
	if len(p.segments) == 0 || p.segments[0].IsDescendant() || len(p.segments[0].Selectors()) != 1 {
		return "", false
	}
	name, ok := p.segments[0].Selectors()[0].(spec.Name)
	return string(name), ok
}

// selection is what one path selects of a document.
type selection struct {
	document *Document
	visited  int
	found    []any
}

// segment selects from a node and, for a descendant segment, from all below.
func (s *selection) segment(segment *spec.Segment, node any) {
	if s.visited > maxNodes {
		return
	}
	s.visited++
	for _, selector := range segment.Selectors() {
		s.selector(selector, node)
	}
	if !segment.IsDescendant() {
		return
	}
	s.children(node, func(child any) { s.segment(segment, child) })
}

func (s *selection) selector(selector spec.Selector, node any) {
	switch selector := selector.(type) {
	case spec.WildcardSelector:
		s.children(node, s.add)
	case *spec.FilterSelector:
		s.children(node, func(child any) {
			s.visited++
			if selector.Eval(child, s.document.root) {
				s.add(child)
			}
		})
	default: // names, indexes and slices
		for _, child := range selector.Select(node, nil) {
			s.add(child)
		}
	}
}

func (s *selection) add(node any) {
	if s.visited++; s.visited <= maxNodes {
		s.found = append(s.found, node)
	}
}

// children calls each with the elements or members of a node, in order.
func (s *selection) children(node any, each func(any)) {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			if s.visited > maxNodes {
				return
			}
			each(child)
		}
	case map[string]any:
		for _, name := range s.document.containers[address(node)].names {
			if s.visited > maxNodes {
				return
			}
			each(node[name])
		}
	}
}
