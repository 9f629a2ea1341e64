package results

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/prompts"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	calls := func(provider byte, model string) evaluations.Side {
		return evaluations.Side{ProviderID: uuid.UUID{provider}, ProviderName: string(provider), Content: prompts.Content{
			Messages: []json.RawMessage{json.RawMessage(`{}`)}, ModelConfig: json.RawMessage(`{"model":"` + model + `"}`),
		}}
	}
	recorded := evaluations.Side{EvalRunID: new(uuid.New())}
	for name, c := range map[string]struct {
		a, b   evaluations.Side
		models map[modelKey]int64
		input  [2]inputTokens
		want   []Condition
	}{
		"nothing": {a: calls('x', "m"), b: calls('x', "m"), models: map[modelKey]int64{{"a", "m", "f"}: 40, {"b", "m", "f"}: 40}},
		"fingerprints that differ by chance": {
			a: calls('x', "m"), b: calls('x', "m"), models: map[modelKey]int64{{"a", "m", "f"}: 35, {"a", "m", "g"}: 5, {"b", "m", "f"}: 40},
		},
		"other models, as asked for": {a: calls('x', "m"), b: calls('y', "n"), models: map[modelKey]int64{{"a", "m", "f"}: 40, {"b", "n", "g"}: 40}},
		"other models of eval-runs":  {a: recorded, b: recorded, models: map[modelKey]int64{{"a", "m", "f"}: 40, {"b", "n", "g"}: 40}},
		"other fingerprints of eval-runs": {
			a: recorded, b: recorded, models: map[modelKey]int64{{"a", "m", "f"}: 40, {"b", "m", "f"}: 20, {"b", "m", "g"}: 20},
			want: []Condition{{ConditionModel, "m with fingerprint f answered 40 of 40 on side A and 20 of 40 on side B; m with fingerprint g answered 0 of 40 on side A and " +
				"20 of 40 on side B: what differs may be the model that answered."}},
		},
		"a model that was not asked for": {
			a: calls('x', "m"), b: calls('x', "m"), models: map[modelKey]int64{{"a", "m-1", ""}: 9, {"b", "m-2", ""}: 9},
			want: []Condition{{ConditionModel, "m-1 answered 9 of 9 on side A and 0 of 9 on side B; m-2 answered 0 of 9 on side A and 9 of 9 on side B: " +
				"what differs may be the model that answered."}},
		},
		"providers": {
			a: calls('x', "m"), b: calls('y', "m"),
			want: []Condition{{ConditionProvider, "Both sides ask for m, A at x and B at y: what differs may be the provider."}},
		},
		"provider's cache": {
			a: calls('x', "m"), b: calls('x', "m"), input: [2]inputTokens{{1000, 900}, {1000, 100}},
			want: []Condition{{ConditionCache, "The provider had 90% of A's input tokens in its cache, and 10% of B's: cost and duration differ for that reason, too."}},
		},
		"provider's cache of a side unknown": {a: calls('x', "m"), b: calls('x', "m"), input: [2]inputTokens{{1000, 900}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := evaluations.Config{Sides: [2]evaluations.Side{c.a, c.b}}
			got, err := conditionsOf(&config, c.models, c.input)
			require.NoError(t, err)
			assert.ElementsMatch(t, c.want, got)
		})
	}
}
