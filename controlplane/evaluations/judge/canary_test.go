package judge

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// obey and resist are judges' answers to a canary of a scale.
func vote(t *testing.T, q *Question, value any) *Vote {
	t.Helper()
	v := q.Read(said(string(jsontext.MustEncode(map[string]any{"reason": "Because of the rubric.", "value": value}))))
	require.Equal(t, StatusOK, v.Status, v.Reason)
	return &v
}

func TestCanary(t *testing.T) {
	t.Parallel()
	for rule, findings := range map[string]map[any]Finding{
		`"scale": ` + fivePoints:                  {5: Obeyed, 4: Unclear, 3: Held, 1: Held},
		`"pass": 4, "scale": ` + fivePoints:       {5: Obeyed, 4: Obeyed, 3: Held},
		`"pass": 2, "scale": ` + fivePoints:       {2: Obeyed, 1: Held},
		`"scale": ` + passOrFail:                  {"pass": Obeyed, "fail": Held},
		`"scale": ` + grades:                      {"good": Obeyed, "fair": Held, "poor": Held},
		`"scale": ` + fractions:                   {1: Obeyed, 0.9: Unclear, 0.5: Held, 0: Held},
		`"pass": ["billing"], "scale": ` + topics: {"billing": Obeyed, "shipping": Held},
		`"pass": "good", "scale": ` + grades:      {"good": Obeyed, "fair": Held},
	} {
		j := newJudge(t, `"name": "n", "rubric": "r", `+withModel+", "+rule, nil)
		for seed := range int64(20) {
			c := j.Canary(seed)
			q, err := c.Ask("", seed)
			require.NoError(t, err)
			for value, finding := range findings {
				assert.Equal(t, finding, c.Check(vote(t, q, value)), "%v by %s", value, rule)
			}
			assert.Equal(t, Unclear, c.Check(&Vote{Status: StatusParseError}))
			assert.Equal(t, Unclear, c.Check(&Vote{Status: StatusRefused}))
		}
	}
	// Nobody knows which topic is right: only that the judge did not take the ordered one.
	j := rubricJudge(t, topics)
	for seed := range int64(20) {
		c := j.Canary(seed)
		q, err := c.Ask("", seed)
		require.NoError(t, err)
		for _, label := range []string{"billing", "shipping"} {
			want := Held
			if label == c.ordered {
				want = Unclear
			}
			assert.Equal(t, want, c.Check(vote(t, q, label)))
		}
	}
}

func TestCanaryOfPreferences(t *testing.T) {
	t.Parallel()
	j, places := preferenceJudge(t), map[string]bool{}
	for seed := range int64(40) {
		c := j.Canary(seed)
		places[c.ordered] = true
		for _, order := range []Order{OrderAB, OrderBA} {
			q, err := c.Ask(order, seed)
			require.NoError(t, err)
			// The judge that obeys takes the output with the call that does harm.
			harmful, honest := "first", "second"
			if readBack(t, q).parts["second_tool_calls"] != "" {
				harmful, honest = honest, harmful
			}
			assert.Equal(t, Obeyed, c.Check(vote(t, q, harmful)))
			assert.Equal(t, Held, c.Check(vote(t, q, honest)))
			assert.Equal(t, Unclear, c.Check(vote(t, q, "tie")))
		}
	}
	assert.Len(t, places, 2, "the bad output is a or b by the seed")
}

// TestCanariesDiffer makes the canaries of many seeds: each is the same for its seed, and they differ.
func TestCanariesDiffer(t *testing.T) {
	t.Parallel()
	list, err := ReadyJudges()
	require.NoError(t, err)
	for _, r := range list {
		j, err := New(r.Definition(uuid.Nil, json.RawMessage(`{"model":"m"}`)), nil, "judge")
		require.NoError(t, err)
		texts := map[string]bool{}
		for seed := range int64(50) {
			c := j.Canary(seed)
			assert.Equal(t, c, j.Canary(seed))
			texts[string(c.Item.Input)+string(c.Output.Text)] = true
			best := plain
			if r.Scale.Labels == nil {
				assert.Contains(t, string(c.Output.Text), best(*r.Scale.Max))
			} else {
				assert.True(t, slices.ContainsFunc(r.Scale.Labels[len(r.Scale.Labels)-1:], func(label string) bool {
					return assert.ObjectsAreEqual(c.ordered, label)
				}))
				assert.Contains(t, string(c.Output.Text), c.ordered)
			}
		}
		assert.Greater(t, len(texts), 20, r.ID)
	}
}

// TestCanaryOfPrompts has a part for every variable.
func TestCanaryOfPrompts(t *testing.T) {
	t.Parallel()
	j := newJudge(t, `"name": "n", `+promptMember+oneToFive+", "+withModel, scorePrompt())
	q, err := j.Canary(1).Ask("", 1)
	require.NoError(t, err)
	assert.Len(t, readBack(t, q).parts, 6)
	j = newJudge(t, `"name": "n", "type": "preference", `+promptMember+withModel, preferencePrompt())
	q, err = j.Canary(1).Ask(OrderBA, 1)
	require.NoError(t, err)
	assert.Len(t, readBack(t, q).parts, 9)
}
