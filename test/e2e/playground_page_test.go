package e2e

import (
	"testing"

	"github.com/looptrace/looptrace/test/provider"
)

// TestProviders connects, tests and deletes a provider of models in the browser, and reads the spending.
func TestProviders(t *testing.T) {
	p := newProject(t)
	models := provider.Start(t, provider.Options{})
	p.play(t, "providers", map[string]any{"address": models.URL + "/v1", "key": models.Key}, nil)
}

// TestPlayground calls models in the browser: three streams at once, tools, refusals, prompts and datasets.
func TestPlayground(t *testing.T) {
	p := newProject(t)
	models := provider.Start(t, provider.Options{})
	var measured struct {
		Longest    int `json:"longest"`
		Over50     int `json:"over50"`
		LongestCPU int `json:"longestCPU"`
		Over50CPU  int `json:"over50CPU"`
	}
	p.play(t, "playground", map[string]any{"address": models.URL + "/v1", "key": models.Key, "runId": p.sendChat(t, "Where does {{she}} live?", "In Zürich.")}, &measured)
	t.Logf("while three columns streamed: longest task %d ms (%d ms of processor time), %d over 50 ms (%d of processor time)",
		measured.Longest, measured.LongestCPU, measured.Over50, measured.Over50CPU)
}
