package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Difference is a difference between two versions.
type Difference struct {
	// Path is the place in the other version, or in the first one for what was removed.
	Path string
	// Before and After are nil for what was added or removed.
	Before, After json.RawMessage
}

// Diff returns what the version b changes in a: by message and member, by tool, parameter and variable.
func Diff(a, b *Version) ([]Difference, error) {
	changes, err := diffMessages(a.Messages, b.Messages)
	if err != nil {
		return nil, err
	}
	changes = append(changes, diffTools(a.Tools, b.Tools)...)
	if !bytes.Equal(a.ResponseFormat, b.ResponseFormat) {
		changes = append(changes, Difference{"response_format", a.ResponseFormat, b.ResponseFormat})
	}
	for _, part := range []struct {
		path string
		a, b json.RawMessage
	}{{"model_config.", a.ModelConfig, b.ModelConfig}, {"variables.", a.Variables, b.Variables}} {
		members, err := diffMembers(part.path, part.a, part.b)
		if err != nil {
			return nil, err
		}
		changes = append(changes, members...)
	}
	for _, setting := range []struct{ path, a, b string }{
		{"template_format", a.TemplateFormat, b.TemplateFormat}, {"missing", string(a.Missing), string(b.Missing)},
	} {
		if setting.a != setting.b {
			changes = append(changes, Difference{setting.path, json.RawMessage(`"` + setting.a + `"`), json.RawMessage(`"` + setting.b + `"`)})
		}
	}
	return changes, nil
}

// diffMessages aligns the messages that are equal. Between them, it pairs messages by their order.
func diffMessages(a, b []json.RawMessage) ([]Difference, error) {
	texts := func(list []json.RawMessage) ([]string, error) {
		canonical := make([]string, len(list))
		for i, item := range list {
			value, err := decode(item)
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("encode a message: %w", err)
			}
			canonical[i] = string(text)
		}
		return canonical, nil
	}
	before, err := texts(a)
	if err != nil {
		return nil, err
	}
	after, err := texts(b)
	if err != nil {
		return nil, err
	}
	var changes []Difference
	i, j := 0, 0
	for _, pair := range append(longestCommon(before, after), [2]int{len(a), len(b)}) {
		for ; i < pair[0] && j < pair[1]; i, j = i+1, j+1 {
			members, err := diffMembers(fmt.Sprintf("messages[%d].", j), a[i], b[j])
			if err != nil {
				return nil, err
			}
			changes = append(changes, members...)
		}
		for ; i < pair[0]; i++ {
			changes = append(changes, Difference{fmt.Sprintf("messages[%d]", i), a[i], nil})
		}
		for ; j < pair[1]; j++ {
			changes = append(changes, Difference{fmt.Sprintf("messages[%d]", j), nil, b[j]})
		}
		i, j = pair[0]+1, pair[1]+1
	}
	return changes, nil
}

// longestCommon returns the pairs of indexes of a longest common subsequence.
func longestCommon(a, b []string) [][2]int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

func diffTools(a, b []json.RawMessage) []Difference {
	named := func(list []json.RawMessage) (map[string]json.RawMessage, []string) {
		byName, names := map[string]json.RawMessage{}, []string(nil)
		for i, item := range list {
			var tool struct {
				Type     string                `json:"type"`
				Function struct{ Name string } `json:"function"`
			}
			name := strconv.Itoa(i)
			if err := json.Unmarshal(item, &tool); err == nil && tool.Function.Name != "" {
				name = tool.Function.Name
			}
			byName[name] = item
			names = append(names, name)
		}
		return byName, names
	}
	before, order := named(a)
	after, names := named(b)
	for _, name := range names {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	var changes []Difference
	for _, name := range order {
		if !bytes.Equal(before[name], after[name]) {
			changes = append(changes, Difference{"tools[" + name + "]", before[name], after[name]})
		}
	}
	return changes
}

func diffMembers(path string, a, b json.RawMessage) ([]Difference, error) {
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal(a, &before); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(b, &after); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var changes []Difference
	for _, name := range names {
		if !bytes.Equal(before[name], after[name]) {
			changes = append(changes, Difference{path + name, before[name], after[name]})
		}
	}
	return changes, nil
}
