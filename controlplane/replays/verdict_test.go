package replays_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/replays/verdict"
)

// document is the contract.
var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(contract.Document) })

// schemaOf returns a schema of the contract.
func schemaOf(t *testing.T, name string) *openapi3.SchemaRef {
	t.Helper()
	doc, err := document()
	require.NoError(t, err)
	schema := doc.Components.Schemas[name]
	require.NotNil(t, schema, name)
	return schema
}

// requireFits fails if JSON is not what a schema of the contract says.
func requireFits(t *testing.T, schema string, text []byte) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	require.NoError(t, schemaOf(t, schema).Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()), "%s", text)
}

// made is an attempt of a replay, with what it decided and how it ended.
func made(role verdict.Role, index int, decisions string, outcome, cost float64) verdict.Attempt {
	return verdict.Attempt{
		Run:  verdict.Run{Outcome: &outcome, CostUSD: &cost, Bytes: decisions, Decisions: decisions},
		Role: role, Index: index, ReachedEdit: true, DownstreamCalls: 2, DownstreamLive: 2, Exposure: verdict.Exposure{Reissued: 2},
	}
}

// judged is a replay of a run that decided "a" and went well.
func judged(mode verdict.Mode, attempts ...verdict.Attempt) verdict.Input {
	good := 1.
	in := verdict.Input{Mode: mode, Recorded: verdict.Run{Outcome: &good, Bytes: "a", Decisions: "a"}, Attempts: attempts, DiffEmpty: true}
	step := verdict.Step{ID: "a000000000000002", Name: "step 2", Signatures: []string{"a"}}
	in.Structure = make([][]float64, len(attempts)+1)
	for i := range in.Structure {
		in.Structure[i] = make([]float64, len(attempts)+1)
		for j := range in.Structure[i] {
			of := func(at int) string {
				if at == 0 {
					return "a"
				}
				return attempts[at-1].Decisions
			}
			if of(i) != of(j) {
				in.Structure[i][j] = 1
			}
		}
	}
	in.Answer = in.Structure
	for i := range attempts {
		step.Signatures = append(step.Signatures, attempts[i].Decisions)
		in.DiffEmpty = in.DiffEmpty && (attempts[i].Role == verdict.Control || attempts[i].Decisions == "a")
	}
	in.Steps = []verdict.Step{step}
	return in
}

// several are attempts of both roles, each like its model.
func several(controls, treatments int, control, treatment verdict.Attempt) (list []verdict.Attempt) {
	for i := range controls {
		control.Role, control.Index = verdict.Control, i+1
		list = append(list, control)
	}
	for i := range treatments {
		treatment.Role, treatment.Index = verdict.Treatment, i+1
		list = append(list, treatment)
	}
	return list
}

// quiet is an attempt that called nothing.
func quiet(a verdict.Attempt) verdict.Attempt {
	a.DownstreamLive, a.Exposure = 0, verdict.Exposure{}
	return a
}

// TestVerdictsFitTheContract: what is stored is what the contract says, in verdicts of each kind of evidence.
func TestVerdictsFitTheContract(t *testing.T) {
	t.Parallel()
	same, other := made(verdict.Control, 0, "a", 1, .01), made(verdict.Treatment, 0, "b", 0, .02)
	drifted := made(verdict.Control, 0, "c", 1, .01)
	for want, in := range map[verdict.Kind]verdict.Input{
		verdict.Invalid:               judged(verdict.Server, same),
		verdict.DeterministicNoEffect: judged(verdict.Cassette, several(1, 1, quiet(same), quiet(same))...),
		verdict.DeterministicEffect:   judged(verdict.Cassette, several(1, 1, quiet(same), quiet(other))...),
		verdict.EffectAttributable:    judged(verdict.Server, several(6, 6, same, other)...),
		verdict.EffectLikely:          judged(verdict.Server, several(6, 6, drifted, other)...),
		verdict.NoEffectDetected:      judged(verdict.Server, several(60, 60, same, same)...),
		verdict.WithinNoise:           judged(verdict.Server, several(5, 5, same, same)...),
		verdict.Underpowered:          judged(verdict.Server, several(2, 2, same, other)...),
		verdict.Drift:                 judged(verdict.Server, several(5, 5, drifted, drifted)...),
	} {
		t.Run(string(want), func(t *testing.T) {
			found := verdict.Of(in)
			require.Equal(t, want, found.Verdict, found.Sentence)
			text, err := json.Marshal(found)
			require.NoError(t, err)
			requireFits(t, "ReplayVerdict", text)
		})
	}
	for _, wrong := range []string{`{}`, `{"verdict":"perhaps","sentence":""}`, `{"verdict":"drift","sentence":"","more":1}`} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(wrong), &value))
		assert.Error(t, schemaOf(t, "ReplayVerdictSummary").Value.VisitJSON(value, openapi3.EnableJSONSchema2020()), wrong)
	}
}

// TestVerdictSchemaHasEveryMember of a verdict, and no other but those of earlier versions: those that are always there are required.
func TestVerdictSchemaHasEveryMember(t *testing.T) {
	t.Parallel()
	requireMembers(t, "ReplayVerdict", reflect.TypeFor[verdict.Verdict](), schemaOf(t, "ReplayVerdict").Value, "looks") // which the first version did not store
}

func requireMembers(t *testing.T, at string, of reflect.Type, schema *openapi3.Schema, optional ...string) {
	t.Helper()
	for _, one := range schema.OneOf { // or null
		if !one.Value.Type.Is("null") {
			schema = one.Value
		}
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Slice {
		require.NotNil(t, schema.Items, at)
		requireMembers(t, at+"[]", of.Elem(), schema.Items.Value)
		return
	}
	if of.Kind() != reflect.Struct {
		return
	}
	var members, required []string
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || !field.IsExported() || name == "-" {
			continue
		}
		members = append(members, name)
		if options != "omitempty" && !slices.Contains(optional, name) {
			required = append(required, name)
		}
		require.Contains(t, schema.Properties, name, at)
		requireMembers(t, at+"."+name, field.Type, schema.Properties[name].Value)
	}
	documented := make([]string, 0, len(schema.Properties))
	for name, property := range schema.Properties {
		if property.Value.Description != "Only in verdicts of earlier versions." {
			documented = append(documented, name)
		}
	}
	assert.ElementsMatch(t, members, documented, at)
	assert.ElementsMatch(t, required, schema.Required, at)
	require.NotNil(t, schema.AdditionalProperties.Has, at)
	assert.False(t, *schema.AdditionalProperties.Has, at)
}
