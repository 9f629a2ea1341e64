package e2e

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRunList looks for a run in a list that is longer than a page.
func TestRunList(t *testing.T) {
	t.Parallel()
	const others = 300
	p := newProject(t)
	p.sendRuns(t, others)
	needle, _ := p.sendNativeRun(t)
	assert.Len(t, p.listed(t), others+1)
	p.play(t, "list", map[string]any{"needle": needle.RunID, "needleName": nativeName, "needleWords": "canton lakes"}, nil)
	p.play(t, "columns", map[string]any{"needle": needle.RunID, "runs": others + 1}, nil)
}

// TestLiveRuns watches runs that the scenario sends while pages are open.
func TestLiveRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.play(t, "live", map[string]any{"key": p.ingestKey}, nil)
}

// TestHiddenTraces sends a health check and then an agent's run. The list hides the first and says so.
func TestHiddenTraces(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	send := func(root tripStep) string {
		id := runID(t, record(t, p.ingestClient(), "e2e-web", root))
		p.awaitRun(t, id, ofSpans(1))
		return id
	}
	plain := send(tripStep{Name: "GET /healthz", Attributes: map[string]json.RawMessage{"http.request.method": json.RawMessage(`"GET"`)}})
	p.play(t, "hidden", map[string]any{"plain": plain, "names": []string{"GET /healthz"}}, nil)
	send(tripStep{Name: "invoke_agent support", Attributes: map[string]json.RawMessage{"gen_ai.operation.name": json.RawMessage(`"invoke_agent"`)}})
	p.play(t, "hidden", map[string]any{"plain": plain, "agent": "invoke_agent support", "names": []string{"invoke_agent support", "GET /healthz"}}, nil)
}

// TestSources sends a run of the application and one of an evaluation. The list shows the second only if asked.
func TestSources(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	send := func(name string, attributes map[string]json.RawMessage) string {
		attributes["gen_ai.operation.name"] = json.RawMessage(`"invoke_agent"`)
		id := runID(t, record(t, p.ingestClient(), "e2e-web", tripStep{Name: name, Attributes: attributes}))
		p.awaitRun(t, id, ofSpans(1))
		return id
	}
	send("invoke_agent support", map[string]json.RawMessage{})
	evaluation := send("invoke_agent judged", map[string]json.RawMessage{"looptrace.source": json.RawMessage(`"evaluation"`)})
	p.play(t, "source", map[string]any{"evaluation": evaluation}, nil)
}

// listed returns all runs of the list by id, with traces that have no GenAI span.
func (p *project) listed(t *testing.T) map[string]run {
	t.Helper()
	listed := map[string]run{}
	for _, r := range p.runs(t, url.Values{"traces": {"all"}, "source": {"all"}}) {
		assert.NotContains(t, listed, r.RunID, "the list shows a run once")
		listed[r.RunID] = r
	}
	return listed
}
