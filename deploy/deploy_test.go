// Package deploy contains configurations for servers. Its tests compare them with the code.
package deploy

import (
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	root   = ".."
	single = "otelcol-config.yaml"
)

// split are the configurations that divide the work of the single one.
var split = []string{"ingest.yaml", "store.yaml"}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// parts returns the settings of a collector's configuration as text, with comments, by their paths.
func parts(t *testing.T, path string) map[string]string {
	t.Helper()
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal(read(t, path), &document))
	found := map[string]string{}
	for section, components := range pairs(document.Content[0]) {
		for component, settings := range pairs(components.value) {
			at := section.Value + "/" + component.Value
			if settings.value.Kind != yaml.MappingNode {
				found[at] = text(t, settings)
			}
			for name, setting := range pairs(settings.value) {
				found[at+"/"+name.Value] = text(t, setting)
			}
		}
	}
	return found
}

// pair is a member of a mapping. A comment above it belongs to its key.
type pair struct{ key, value *yaml.Node }

func pairs(node *yaml.Node) iter.Seq2[*yaml.Node, pair] {
	return func(yield func(*yaml.Node, pair) bool) {
		if node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i], pair{node.Content[i], node.Content[i+1]}) {
				return
			}
		}
	}
}

func text(t *testing.T, p pair) string {
	t.Helper()
	raw, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{p.key, p.value}})
	require.NoError(t, err)
	return string(raw)
}

// own is what differs between the processes: their description, the batch sizes of a store-only process, which has
// more memory, and the usage shared by several ingest processes.
var own = []string{
	"extensions/ratelimit/usage",
	"service/extensions", "service/telemetry/resource",
	"receivers/kafkabatch/max_batch_spans", "receivers/kafkabatch/max_batch_bytes",
}

// Ingest and store together have the same lines as the single configuration, comments included.
func TestSplitEqualsSingle(t *testing.T) {
	t.Parallel()
	want := parts(t, filepath.Join(root, single))
	all := map[string]bool{}
	for _, file := range split {
		for path, got := range parts(t, file) {
			all[path] = true
			if !slices.Contains(own, path) {
				assert.Equal(t, want[path], got, "%s in %s", path, file)
			}
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(all)), "nothing is left out")
}

// The built collector accepts them.
func TestConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	collector, err := filepath.Abs(filepath.Join(root, "_build", "looptrace-collector"))
	require.NoError(t, err)
	if _, err := os.Stat(collector); err != nil {
		t.Skip("the collector is not built: `make collector`")
	}
	for file, env := range map[string][]string{
		"ingest.yaml": {"DATABASE_URL=postgres://looptrace@db/looptrace", "KAFKA_BROKERS=a:9092,b:9092,c:9092"},
		"store.yaml":  {"CLICKHOUSE_URL=clickhouse://ch:9000/looptrace", "KAFKA_BROKERS=a:9092,b:9092,c:9092"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), collector, "validate", "--config", file)
			cmd.Env = env // nothing else
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
