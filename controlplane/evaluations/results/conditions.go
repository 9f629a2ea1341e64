package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// ConditionKind is what differs between the sides besides what the comparison is about.
type ConditionKind string

// The kinds of conditions.
const (
	ConditionProvider ConditionKind = "provider"
	ConditionModel    ConditionKind = "model"
	ConditionCache    ConditionKind = "provider_cache"
)

// Condition is a difference between the sides that may explain a result, though nobody asked for it.
type Condition struct {
	Kind ConditionKind `json:"kind"`
	Text string        `json:"text"`
}

const (
	// conditionLevel is that of the test whether the sides were answered by the same models. It is below level, as most comparisons have
	// nothing to say here.
	conditionLevel = 0.01
	// cachedApart is how far the shares of cached input tokens are apart that are worth saying.
	cachedApart = 0.1
	// maxConditions is how many models or fingerprints are named.
	maxConditions = 3
)

// inputTokens counts the input tokens of a side whose cached part is known.
type inputTokens struct{ all, cached int64 }

func (t *inputTokens) share() float64 { return float64(t.cached) / float64(t.all) }

// conditionsOf returns what differs between the sides. models counts outputs by side, model and fingerprint.
func conditionsOf(c *evaluations.Config, models map[modelKey]int64, input [2]inputTokens) ([]Condition, error) {
	list := []Condition{}
	a, b := &c.Sides[evaluations.SideA], &c.Sides[evaluations.SideB]
	sameModel := false
	if a.Calls() && b.Calls() {
		configA, err := a.ModelConfig()
		if err != nil {
			return nil, err
		}
		configB, err := b.ModelConfig()
		if err != nil {
			return nil, err
		}
		sameModel = configA.Model == configB.Model
		if sameModel && a.ProviderID != b.ProviderID {
			list = append(list, Condition{ConditionProvider, fmt.Sprintf(
				"Both sides ask for %s, A at %s and B at %s: what differs may be the provider.", configA.Model, a.ProviderName, b.ProviderName)})
		}
	}
	// Outputs are compared where both sides were to have the same model: the one they ask for, else each that answered on both sides.
	groups := map[string]map[modelKey]bool{}
	for key := range models {
		name := key.model
		if sameModel {
			name = ""
		}
		if groups[name] == nil {
			groups[name] = map[modelKey]bool{}
		}
		groups[name][modelKey{model: key.model, fingerprint: key.fingerprint}] = true
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if text := answersApart(models, groups[name]); text != "" {
			list = append(list, Condition{ConditionModel, text})
		}
	}
	if input[evaluations.SideA].all > 0 && input[evaluations.SideB].all > 0 {
		if shareA, shareB := input[evaluations.SideA].share(), input[evaluations.SideB].share(); max(shareA, shareB)-min(shareA, shareB) >= cachedApart {
			list = append(list, Condition{ConditionCache, fmt.Sprintf(
				"The provider had %.0f%% of A's input tokens in its cache, and %.0f%% of B's: cost and duration differ for that reason, too.", shareA*100, shareB*100)})
		}
	}
	return list, nil
}

// answersApart says that the sides were answered by different models or fingerprints of a group, or nothing if that may be chance: each
// has Fisher's exact test, with Bonferroni's correction.
func answersApart(models map[modelKey]int64, group map[modelKey]bool) string {
	count := func(side int, key modelKey) int {
		return int(models[modelKey{evaluations.SideNames[side], key.model, key.fingerprint}])
	}
	var all [2]int
	for side := range all {
		for key := range group {
			all[side] += count(side, key)
		}
	}
	var apart []string
	for _, key := range slices.SortedFunc(maps.Keys(group), func(x, y modelKey) int {
		return cmp.Compare(x.model+" "+x.fingerprint, y.model+" "+y.fingerprint)
	}) {
		a, b := count(evaluations.SideA, key), count(evaluations.SideB, key)
		p := stats.FisherExact(a, all[evaluations.SideA]-a, b, all[evaluations.SideB]-b).TwoSided.Value
		if p == nil || *p*float64(len(group)) >= conditionLevel {
			continue
		}
		name := key.model
		if key.fingerprint != "" {
			name += " with fingerprint " + key.fingerprint
		}
		apart = append(apart, fmt.Sprintf("%s answered %d of %d on side A and %d of %d on side B", name, a, all[evaluations.SideA], b, all[evaluations.SideB]))
	}
	if len(apart) == 0 {
		return ""
	}
	if more := len(apart) - maxConditions; more > 0 {
		apart = append(apart[:maxConditions], fmt.Sprintf("%d more models or fingerprints differ", more))
	}
	return strings.Join(apart, "; ") + ": what differs may be the model that answered."
}
