package reading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// Limits of YAML, which is read as a whole, and in which a short file can stand for a long one.
const (
	MaxYAML        = 8 << 20
	MaxYAMLMarks   = 1_000_000
	maxYAMLWritten = 256 << 20
)

// yamlRows reads the mappings of a sequence: that of the file, or that of a key of its mapping (see listNames).
type yamlRows struct {
	text     *datasetfile.Text
	elements []*yaml.Node
	// written is the size of all rows so far, with what aliases repeat.
	written int
}

func openYAML(t *datasetfile.Text, o datasetfile.Options) (*yamlRows, error) {
	if o.Partial {
		return nil, datasetfile.FileErrorf("the beginning of a YAML file cannot be read: give the whole file")
	}
	content, err := io.ReadAll(io.LimitReader(t, MaxYAML+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxYAML {
		return nil, datasetfile.FileErrorf("the file is larger than the %d MiB of YAML that can be read: write it as JSONL", MaxYAML>>20)
	}
	if reason, at := t.EncodingError(content); reason != "" {
		return nil, datasetfile.FileErrorf("line %d: %s", bytes.Count(content[:at], []byte("\n"))+1, reason)
	}
	marks := 0
	for _, c := range content {
		if strings.IndexByte(",:-[{\n", c) >= 0 {
			marks++
		}
	}
	if marks > MaxYAMLMarks {
		return nil, datasetfile.FileErrorf("the file has too many values for YAML: write it as JSONL")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, datasetfile.FileErrorf("the file is empty")
		}
		return nil, datasetfile.FileErrorf("the file is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, datasetfile.FileErrorf("the file has several documents, divided by ---: write one, with a list of all rows")
	}
	y := &yamlRows{text: t}
	y.elements, err = yamlList(&document)
	return y, err
}

func yamlList(document *yaml.Node) ([]*yaml.Node, error) {
	root := document
	for root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	if root.Kind == yaml.SequenceNode {
		return root.Content, nil
	}
	var names []string
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		for n := 0; value.Kind == yaml.AliasNode && n < datasetfile.MaxDepth; n++ {
			value = value.Alias
		}
		if names = append(names, datasetfile.Shown([]byte(key.Value))); !slices.Contains(listNames, key.Value) {
			continue
		}
		if value.Kind == yaml.SequenceNode {
			return value.Content, nil
		}
		if value.Kind == yaml.ScalarNode && strings.HasPrefix(value.Value, "file://") {
			return nil, datasetfile.FileErrorf("line %d: %s names another file, %s: import that file", value.Line, key.Value, datasetfile.Shown([]byte(value.Value)))
		}
	}
	return nil, datasetfile.FileErrorf("the file has no list of rows. It has: %s. Write a list of mappings, or name the list %s", datasetfile.Listed(names), strings.Join(listNames, ", "))
}

func (y *yamlRows) Columns() []string { return nil }

func (y *yamlRows) Offset() int64 { return y.text.Offset() }

func (y *yamlRows) Close() error { return nil }

func (y *yamlRows) Next() (datasetfile.Row, error) {
	if len(y.elements) == 0 {
		return datasetfile.Row{}, io.EOF
	}
	node := y.elements[0]
	y.elements = y.elements[1:]
	line := int64(node.Line)
	w := yamlWriter{}
	err := w.write(node, 0)
	if y.written += max(len(w.to), w.values); y.written > maxYAMLWritten {
		return datasetfile.Row{}, datasetfile.FileErrorf("line %d: the rows, with what aliases repeat, take more than %d MiB: write the file as JSONL", line, maxYAMLWritten>>20)
	}
	if err != nil {
		return datasetfile.Row{}, datasetfile.RowErrorf(line, nil, "%s", err)
	}
	return datasetfile.ObjectRow(line, w.to)
}

// yamlWriter writes a value as JSON.
type yamlWriter struct {
	to []byte
	// values counts those that are looked at, aliases too.
	values int
}

func (w *yamlWriter) write(n *yaml.Node, depth int) error {
	if err := w.count(); err != nil {
		return err
	}
	if depth > datasetfile.MaxDepth {
		return fmt.Errorf("nests more than %d deep", datasetfile.MaxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.write(n.Alias, depth+1)
	case yaml.SequenceNode:
		w.to = append(w.to, '[')
		for i, child := range n.Content {
			if i > 0 {
				w.to = append(w.to, ',')
			}
			if err := w.write(child, depth+1); err != nil {
				return err
			}
		}
		w.to = append(w.to, ']')
		return nil
	case yaml.MappingNode:
		w.to = append(w.to, '{')
		if err := w.members(n, nil, depth); err != nil {
			return err
		}
		w.to = append(w.to, '}')
		return nil
	}
	return w.scalar(n)
}

// members writes those of a mapping that are not among the names of the mapping into which it is merged, to which it adds
// its own.
func (w *yamlWriter) members(n *yaml.Node, names map[string]bool, depth int) error {
	if depth > datasetfile.MaxDepth {
		return fmt.Errorf("nests more than %d deep", datasetfile.MaxDepth)
	}
	var own []string
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := w.count(); err != nil {
			return err
		}
		key, value := n.Content[i], n.Content[i+1]
		for k := 0; key.Kind == yaml.AliasNode && k < datasetfile.MaxDepth; k++ {
			key = key.Alias
		}
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a name is no text; a text that begins with { needs quotes", key.Line)
		}
		if names[key.Value] {
			continue
		}
		own = append(own, key.Value)
		w.separate()
		w.to = datasetfile.AppendString(w.to, []byte(key.Value))
		w.to = append(w.to, ':')
		if err := w.write(value, depth+1); err != nil {
			return err
		}
	}
	if len(merged) == 0 && names == nil {
		return nil
	}
	if names == nil {
		names = map[string]bool{}
	}
	for _, name := range own {
		names[name] = true
	}
	for _, from := range merged {
		if err := w.merge(from, names, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// merge writes the members of what follows after <<: a mapping, or a list of them, of which the first that has a name
// counts.
func (w *yamlWriter) merge(n *yaml.Node, names map[string]bool, depth int) error {
	if err := w.count(); err != nil {
		return err
	}
	for k := 0; n.Kind == yaml.AliasNode && k < datasetfile.MaxDepth; k++ {
		n = n.Alias
	}
	if n.Kind == yaml.MappingNode {
		return w.members(n, names, depth)
	}
	if n.Kind != yaml.SequenceNode || depth > datasetfile.MaxDepth {
		return fmt.Errorf("line %d: after << must be a mapping, or a list of mappings", n.Line)
	}
	for _, from := range n.Content {
		if err := w.merge(from, names, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// count counts a value, whether or not it is written.
func (w *yamlWriter) count() error {
	if w.values++; len(w.to) > datasetfile.MaxRow || w.values > datasetfile.MaxRow {
		return fmt.Errorf("the row, with what aliases repeat, is longer than %d MiB", datasetfile.MaxRow>>20)
	}
	return nil
}

// separate writes a comma before a member, unless it is the first.
func (w *yamlWriter) separate() {
	if last := w.to[len(w.to)-1]; last != '{' {
		w.to = append(w.to, ',')
	}
}

// notNumber is what YAML 1.1 reads as a number, and JSON cannot write as it stands: 01234, +49151, 1_000, 0b101. YAML 1.2 has these as
// texts (https://yaml.org/spec/1.2.2/#103-core-schema) but for the first two, of which the zero of a zip code and the plus of a telephone
// number would be lost.
var notNumber = regexp.MustCompile(`^\+\.?[0-9]|_|^0[0-9bBOX]|^-0\w`)

// scalar writes a scalar. Dates are texts.
func (w *yamlWriter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		w.to = append(w.to, datasetfile.Null...)
		return nil
	case "!!binary":
		return fmt.Errorf("line %d: binary values are no JSON: write a text", n.Line)
	case "!!bool", "!!int", "!!float":
		if datasetfile.JSONNumber.MatchString(n.Value) {
			w.to = append(w.to, n.Value...)
			return nil
		}
		asked := *n
		if notNumber.MatchString(n.Value) {
			if n.Style&yaml.TaggedStyle == 0 {
				break
			}
			asked.Value = leadingZeros.ReplaceAllString(n.Value, "$1$2") // not an octal number
		}
		var value any
		if err := asked.Decode(&value); err != nil {
			return fmt.Errorf("line %d: %s", n.Line, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("line %d: JSON has no %s: write null or a text", n.Line, n.Value)
		}
		w.to = append(w.to, raw...)
		return nil
	}
	w.to = datasetfile.AppendString(w.to, []byte(n.Value))
	return nil
}

// leadingZeros are those of a decimal number.
var leadingZeros = regexp.MustCompile(`^([-+]?)0+([0-9])`)
