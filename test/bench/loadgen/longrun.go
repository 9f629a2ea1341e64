package loadgen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// spansPerEnvelope limits a request of a long run to about a megabyte.
const spansPerEnvelope = 2500

// longSpan is a span of a long run in the format of POST /v1/runs.
type longSpan struct {
	SpanID     string         `json:"span_id"`
	RunID      string         `json:"run_id"`
	ParentID   string         `json:"parent_span_id,omitempty"`
	Name       string         `json:"name"`
	Kind       string         `json:"kind"`
	Model      string         `json:"model,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
	Start      time.Time      `json:"start_time"`
	End        time.Time      `json:"end_time"`
	Inputs     string         `json:"inputs,omitempty"`
	Outputs    string         `json:"outputs,omitempty"`
	Tool       map[string]any `json:"tool,omitempty"`
	Usage      map[string]any `json:"usage,omitempty"`
	Error      map[string]any `json:"error,omitempty"`
}

// LongRun returns one run of so many spans, as bodies for POST /v1/runs in the order of sending: agents, each with
// turns of a model call and one to six tools, some of them concurrent, one in a hundred failing, and every tenth turn
// a nested agent. The same seed results in the same tree.
func LongRun(runID string, spans int, start time.Time, seed uint64) [][]byte {
	random := rand.New(rand.NewPCG(seed, 1))
	tools := []string{"search_flights", "read_file", "run_query", "book_hotel", "send_mail"}
	models := []string{"gpt-4o-mini", "claude-sonnet-4-5"}
	at := start
	pass := func(most time.Duration) time.Time {
		at = at.Add(time.Millisecond + time.Duration(random.Int64N(int64(most))))
		return at
	}
	all := make([]longSpan, 0, spans)
	add := func(s longSpan) *longSpan {
		s.RunID, s.SpanID = runID, fmt.Sprintf("%016x", len(all)+1)
		all = append(all, s)
		return &all[len(all)-1]
	}
	named := func(agent string) map[string]any { return map[string]any{"gen_ai.agent.name": agent} }
	add(longSpan{Name: "run of many steps", Kind: "agent", Start: at, Attributes: named("planner"), Inputs: "Plan a journey.", Outputs: "It is planned."})
	agents := []int{0} // the running agents, the innermost last
	for turn := 1; len(all) < spans; turn++ {
		if turn%10 == 0 && len(agents) < 6 {
			name := fmt.Sprintf("agent %d", len(agents))
			add(longSpan{ParentID: all[agents[len(agents)-1]].SpanID, Name: "invoke_agent " + name, Attributes: named(name), Kind: "agent", Start: at})
			agents = append(agents, len(all)-1)
		} else if turn%7 == 0 && len(agents) > 1 {
			all[agents[len(agents)-1]].End = at
			agents = agents[:len(agents)-1]
		}
		parent := all[agents[len(agents)-1]]
		model, begin := models[random.IntN(len(models))], at
		add(longSpan{
			ParentID: parent.SpanID, Name: "chat " + model, Kind: "llm", Model: model, Attributes: parent.Attributes, Start: begin, End: pass(400 * time.Millisecond),
			Inputs: fmt.Sprintf("What comes after step %d?", len(all)), Outputs: "Look further.",
			Usage: map[string]any{"input_tokens": 200 + random.IntN(4000), "output_tokens": 10 + random.IntN(300)},
		})
		begin = at
		for i := range min(1+random.IntN(6), spans-len(all)) {
			tool := tools[random.IntN(len(tools))]
			if i%2 == 0 {
				begin = at // the next one runs concurrently
			}
			s := add(longSpan{
				ParentID: parent.SpanID, Name: "execute_tool " + tool, Kind: "tool", Start: begin, End: pass(120 * time.Millisecond),
				Tool: map[string]any{"name": tool, "arguments": `{"q":"step"}`, "result": "nothing found"},
			})
			if random.IntN(100) == 0 {
				s.Error = map[string]any{"type": "Timeout", "message": "no answer within a second"}
			}
		}
	}
	for _, i := range agents {
		all[i].End = at
	}
	var bodies [][]byte
	for first := 0; first < len(all); first += spansPerEnvelope {
		envelope := map[string]any{"runs": []any{}, "spans": all[first:min(first+spansPerEnvelope, len(all))]}
		body, _ := json.Marshal(envelope) // texts, numbers and times always marshal
		bodies = append(bodies, body)
	}
	return bodies
}
