package engine

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
)

// FuzzReplay reads and replays runs whose spans and edits are random bytes.
func FuzzReplay(f *testing.F) {
	b, models, tools := recordedtest.Weather(f)
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, string(b.Spans[models[2]].InputMessages[3]), string(b.Spans[models[0]].OutputMessages[0]), `{"span_id":"`+b.ID(tools[0])+`"}`, `{"tool_result":1}`)
	f.Add([]byte{9, 9, 9, 0, 0}, `{"role":"user","parts":[]}`, `{}`, `"all"`, `{"params":{"x":1}}`)
	f.Fuzz(func(t *testing.T, seed []byte, input, output, target, set string) {
		random := rand.New(rand.NewPCG(uint64(len(seed)), 1))
		b := inventRun(t, random)
		for i, c := range seed {
			span := &b.Spans[int(c)%len(b.Spans)]
			switch i % 6 {
			case 0:
				span.ParentSpanID = uint64(c)
			case 1:
				span.StartTime = span.StartTime.Add(-1 << c)
			case 2:
				span.InputMessages = append(span.InputMessages, json.RawMessage(input))
			case 3:
				span.OutputMessages = []json.RawMessage{json.RawMessage(output)}
			case 4:
				span.ToolArguments, span.ToolResult = input, output
			case 5:
				span.Attributes = map[string]string{recorded.KeyProviderRequest: input, recorded.KeyProviderResponse: output}
			}
		}
		r := recorded.Read(b.Spans)
		var change edit.Edit
		var edits []edit.Edit
		if json.Unmarshal([]byte(target), &change.Target) == nil && json.Unmarshal([]byte(set), &change.Set) == nil {
			edits = []edit.Edit{change}
		}
		checked, err := edit.Check(r, edits, "edits")
		if err != nil {
			if checked, err = edit.Check(r, nil, "edits"); err != nil {
				t.Fatal(err)
			}
		}
		for _, executor := range []Executor{ExecutorCassette, ExecutorServer} {
			options := Options{Executor: executor, ForkSpanID: r.Steps[len(seed)%len(r.Steps)].SpanID}
			attempt, err := Replay(t.Context(), r, checked, options, wild(t, r, random))
			require.NoError(t, err)
			for _, step := range attempt.Steps {
				_, err := NewSpanWriter(r).Form(step)
				require.NoError(t, err)
			}
			_, err = MakePlan(r, checked, options)
			require.NoError(t, err)
		}
	})
}
