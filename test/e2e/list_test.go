package e2e

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRunList looks for a run in a list that is longer than a page.
func TestRunList(t *testing.T) {
	const others = 300
	p := newProject(t)
	p.sendRuns(t, others)
	needle, _ := p.sendNativeRun(t)
	assert.Len(t, p.listed(t), others+1)
	p.play(t, "list", map[string]any{"needle": needle.RunID, "needleName": nativeName, "needleWords": "canton lakes Graubünden"}, nil)
}

// TestLiveRuns watches runs that the scenario sends while pages are open.
func TestLiveRuns(t *testing.T) {
	p := newProject(t)
	p.play(t, "live", map[string]any{"key": p.ingestKey}, nil)
}

// listed returns all runs of the list by id.
func (p *project) listed(t *testing.T) map[string]run {
	t.Helper()
	listed := map[string]run{}
	for _, r := range p.runs(t, url.Values{}) {
		assert.NotContains(t, listed, r.RunID, "the list shows a run once")
		listed[r.RunID] = r
	}
	return listed
}
