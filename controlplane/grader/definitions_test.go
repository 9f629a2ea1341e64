package grader

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// definitionsOf are the definitions of a type that forms make, without name and type: what a form starts with, absent if something must
// be filled in first, one with every member, and the words of the members that have a choice of them.
type definitionsOf struct {
	Start map[string]json.RawMessage `json:"start"`
	Full  map[string]json.RawMessage `json:"full"`
	Words map[string][]string        `json:"words"`
}

// TestDefinitions parses the definitions that the UI's tests compare with those of its forms.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/definitions.json")
	require.NoError(t, err)
	var all map[string]definitionsOf
	require.NoError(t, json.Unmarshal(raw, &all))
	assert.Equal(t, Types(), slices.Sorted(maps.Keys(all)))
	for kind, of := range all {
		if of.Start != nil {
			_, err := Parse(definitionJSON(t, kind, of.Start), "body")
			require.NoError(t, err, kind)
		}
		grader, err := Parse(definitionJSON(t, kind, of.Full), "body")
		require.NoError(t, err, kind)

		d := &definition{path: "body", members: of.Full}
		types[kind](d)
		members := d.known
		if !grader.Binary() {
			members = append(members, "pass_threshold")
		}
		slices.Sort(members)
		assert.Equal(t, slices.Compact(members), slices.Sorted(maps.Keys(of.Full)), "the members of %s", kind)

		for member, words := range of.Words {
			for _, word := range append(slices.Clone(words), "no such word") {
				changed := maps.Clone(of.Full)
				changed[member] = json.RawMessage(`"` + word + `"`)
				if word == "valid" {
					delete(changed, "reference")
				}
				_, err := Parse(definitionJSON(t, kind, changed), "body")
				if slices.Contains(words, word) {
					assert.NoError(t, err, "%s %s %s", kind, member, word)
				} else {
					assert.ErrorContains(t, err, "must be "+jsonvalue.List(words), "%s %s has other words", kind, member)
				}
			}
		}
	}
}

func definitionJSON(t *testing.T, kind string, members map[string]json.RawMessage) json.RawMessage {
	t.Helper()
	all := maps.Clone(members)
	all["name"], all["type"] = json.RawMessage(`"grader"`), json.RawMessage(`"`+kind+`"`)
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	return raw
}
