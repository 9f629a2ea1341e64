package mapping

import (
	"encoding/json"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// tree is an object that is made of columns with paths for names.
type tree struct {
	members []*tree
	name    string
	// value is nil for an object.
	value json.RawMessage
}

// unflatten makes an object of the columns that begin with prefix. What follows in their names is the path of the value,
// of names that separator divides; without one it is a name, as it is if one path would go on from the value of another.
// Empty cells are no members. It is nil without members.
func (r *record) unflatten(prefix, separator string) json.RawMessage {
	root := &tree{}
	var flat []datasetfile.Cell
	paths := separator != ""
	for _, c := range r.cells {
		name, found := strings.CutPrefix(c.Column, prefix)
		if !found {
			continue
		}
		r.mark(c.Column)
		if jsontext.IsNull(c.Value) {
			continue
		}
		flat = append(flat, datasetfile.Cell{Column: name, Value: c.Value})
		paths = paths && root.add(strings.Split(name, separator), c.Value)
	}
	switch {
	case len(flat) == 0:
		return nil
	case paths:
		return root.json()
	}
	return datasetfile.AppendObject(nil, flat)
}

// add adds a value, unless a part of its path is a value itself: then the columns are no paths.
func (t *tree) add(path []string, value json.RawMessage) bool {
	for _, m := range t.members {
		if m.name == path[0] {
			return len(path) > 1 && m.value == nil && m.add(path[1:], value)
		}
	}
	const maxPath = 100
	if len(path) > maxPath {
		return false
	}
	m := &tree{name: path[0]}
	if len(path) == 1 {
		m.value = value
	} else {
		m.add(path[1:], value)
	}
	t.members = append(t.members, m)
	return true
}

func (t *tree) json() json.RawMessage {
	if t.value != nil {
		return t.value
	}
	cells := make([]datasetfile.Cell, len(t.members))
	for i, m := range t.members {
		cells[i] = datasetfile.Cell{Column: m.name, Value: m.json()}
	}
	return datasetfile.AppendObject(nil, cells)
}
