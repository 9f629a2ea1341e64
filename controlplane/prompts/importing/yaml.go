package importing

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Limits of YAML, in which a short file can stand for a long one.
const (
	maxYAMLNodes = 2_000_000
	maxYAMLDepth = 100
	maxYAMLBytes = 256 << 20
)

// readYAML reads a YAML file, with the lines of its values.
func readYAML(content []byte) (value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return value{}, fmt.Errorf("read the file as YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) != 1 {
		return value{}, errEmpty
	}
	c := yamlConverter{}
	return c.value(document.Content[0], 0)
}

type yamlConverter struct{ nodes, bytes int }

func (c *yamlConverter) value(n *yaml.Node, depth int) (value, error) {
	c.nodes++
	c.bytes += len(n.Value) * (depth + 1) // each level has a copy
	if c.nodes > maxYAMLNodes || c.bytes > maxYAMLBytes {
		return value{}, fmt.Errorf("line %d: the file is too large: its texts, with those that aliases repeat, take more than %d MiB at their depth", n.Line, maxYAMLBytes>>20)
	}
	if depth > maxYAMLDepth {
		return value{}, fmt.Errorf("line %d: the file is nested more than %d deep", n.Line, maxYAMLDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		v, err := c.value(n.Alias, depth+1)
		v.line = n.Line
		return v, err
	case yaml.SequenceNode:
		return c.list(n, depth)
	case yaml.MappingNode:
		return c.object(n, depth)
	default:
		raw, err := scalar(n)
		return value{raw: raw, line: n.Line}, err
	}
}

func (c *yamlConverter) list(n *yaml.Node, depth int) (value, error) {
	v := value{line: n.Line, items: []value{}}
	raws := []json.RawMessage{}
	for _, child := range n.Content {
		item, err := c.value(child, depth+1)
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, item)
		raws = append(raws, item.raw)
	}
	var err error
	v.raw, err = jsontext.Encode(raws)
	return v, err
}

func (c *yamlConverter) object(n *yaml.Node, depth int) (value, error) {
	v := value{line: n.Line, members: []member{}}
	at := map[string]int{}
	var merged []member
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], n.Content[i+1]
		inner, err := c.value(child, depth+1)
		if err != nil {
			return value{}, err
		}
		if key.Tag == "!!merge" {
			list := inner.items
			if inner.members != nil {
				list = []value{inner}
			}
			for _, from := range list {
				merged = append(merged, from.members...)
			}
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return value{}, fmt.Errorf("line %d: a name is no text; a text that begins with { needs quotes", key.Line)
		}
		at[key.Value] = len(v.members)
		v.members = append(v.members, member{key.Value, inner})
	}
	for _, m := range merged {
		if _, found := at[m.name]; !found {
			at[m.name] = len(v.members)
			v.members = append(v.members, m)
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range v.members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsontext.Encode(m.name)
		if err != nil {
			return value{}, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value.raw)
	}
	b.WriteByte('}')
	v.raw = json.RawMessage(b.String())
	return v, nil
}

// scalar writes a scalar as JSON. Dates and everything else that JSON does not have are texts.
func scalar(n *yaml.Node) (json.RawMessage, error) {
	switch n.ShortTag() {
	case "!!null":
		return json.RawMessage("null"), nil
	case "!!bool", "!!int", "!!float":
		var decoded any
		if err := n.Decode(&decoded); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		if raw, err := json.Marshal(decoded); err == nil { // not for .inf and .nan
			return raw, nil
		}
	case "!!binary":
		return nil, errors.New("the file has binary values")
	}
	return jsontext.Encode(n.Value)
}
