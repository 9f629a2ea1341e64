package conformance

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// otherAgents are the failing programs whose agent is another one in a mode.
var otherAgents = map[string]bool{
	"openinference-autogen-agentchat-0.1.22/interrupt": true, // it has a tool that asks a person, instead of the one that fails
}

// noAnswerNoModel are the programs whose calls say their model with the answer only. A run without any answer has no release.
var noAnswerNoModel = map[string]bool{"openinference-openai-agents-2.6.0": true, "openinference-smolagents-0.1.43": true}

// TestAgentReleaseOfFailingRuns holds that a program has one release whatever happens in its run: a tool or the provider fails, a call is
// made again, or the run waits for a person.
func TestAgentReleaseOfFailingRuns(t *testing.T) {
	t.Parallel()
	var programs map[string]failingProgram
	readJSON(t, "failing.json", &programs)
	require.NotEmpty(t, programs)
	for name, program := range programs {
		releases := map[string]string{}
		for _, mode := range failingModes {
			if program.Lacks[mode.name] != "" {
				continue
			}
			received, _ := receive(t, readPayload(t, filepath.Join("testdata", "failing", name, mode.name+".json"), ""))
			for _, r := range received {
				if r.totals.LLMCallCount == 0 { // the making of an agent is a run of its own in AutoGen
					continue
				}
				if r.totals.AgentRelease == "" && noAnswerNoModel[name] {
					assert.Equal(t, runmodel.NoModel, r.totals.AgentReleaseMissing(), "%s/%s", name, mode.name)
					continue
				}
				require.NotEmpty(t, r.totals.AgentRelease, "%s/%s: %s", name, mode.name, r.totals.AgentReleaseMissing())
				if !otherAgents[name+"/"+mode.name] {
					releases[r.totals.AgentRelease] = mode.name
				}
			}
		}
		assert.Len(t, releases, 1, name)
	}
}
