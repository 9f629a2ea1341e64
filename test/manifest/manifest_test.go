// Package manifest compares the collector's manifest, its binary and its configuration.
package manifest

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/looptrace/looptrace/test/checkout"
)

const module = "github.com/looptrace/looptrace"

type component struct {
	GoMod  string `yaml:"gomod"`
	Import string `yaml:"import"`
}

// is returns the import path and, for third-party components, the version.
func (c component) is() (importPath, version string) {
	mod, version, _ := strings.Cut(c.GoMod, " ")
	if c.Import != "" {
		return c.Import, ""
	}
	return mod, version
}

type manifest struct {
	Dist struct {
		Module     string `yaml:"module"`
		OutputPath string `yaml:"output_path"`
	} `yaml:"dist"`
	Receivers  []component `yaml:"receivers"`
	Processors []component `yaml:"processors"`
	Exporters  []component `yaml:"exporters"`
	Connectors []component `yaml:"connectors"`
	Extensions []component `yaml:"extensions"`
	Providers  []component `yaml:"providers"`
}

func (m manifest) all() []component {
	return slices.Concat(m.Receivers, m.Processors, m.Exporters, m.Connectors, m.Extensions, m.Providers)
}

func read(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "builder-config.yaml"))
	require.NoError(t, err)
	var m manifest
	require.NoError(t, yaml.Unmarshal(text, &m))
	require.Equal(t, module, m.Dist.Module)
	return m
}

const root = "../.."

// The manifest has exactly the component folders.
func TestManifestNamesEveryComponent(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(root, "components", "*", "factory.go"))
	require.NoError(t, err)
	var want, got []string
	for _, folder := range folders {
		want = append(want, module+"/components/"+filepath.Base(filepath.Dir(folder)))
	}
	for _, c := range read(t).all() {
		if importPath, _ := c.is(); strings.HasPrefix(importPath, module) {
			assert.Equal(t, module+" v0.0.0", c.GoMod)
			got = append(got, importPath)
		}
	}
	assert.ElementsMatch(t, want, got)
}

// ocb ignores go.mod, which determines the compiled versions.
func TestManifestHasTheVersionsOfTheModule(t *testing.T) {
	t.Parallel()
	required := map[string]string{}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 {
			required[fields[0]] = fields[1]
		}
	}
	for _, c := range read(t).all() {
		if importPath, version := c.is(); version != "" {
			assert.Equal(t, required[importPath], version, importPath)
		}
	}
}

func TestBinaryHasWhatTheManifestNames(t *testing.T) {
	t.Parallel()
	m := read(t)
	got := components(t)
	for kind, listed := range map[string][]component{
		"receivers": m.Receivers, "processors": m.Processors, "exporters": m.Exporters, "connectors": m.Connectors, "extensions": m.Extensions,
	} {
		require.Len(t, got[kind], len(listed), kind)
		for _, c := range listed {
			importPath, _ := c.is()
			assert.Contains(t, got[kind], typeOf(t, importPath), kind)
		}
	}
}

// components asks the binary.
func components(t *testing.T) map[string][]string {
	t.Helper()
	var listed map[string]yaml.Node
	require.NoError(t, yaml.Unmarshal(run(t, nil, "components"), &listed))
	got := map[string][]string{}
	for _, kind := range []string{"receivers", "processors", "exporters", "connectors", "extensions"} {
		node := listed[kind]
		var entries []struct {
			Name string `yaml:"name"`
		}
		require.NoError(t, node.Decode(&entries))
		for _, entry := range entries {
			got[kind] = append(got[kind], entry.Name)
		}
	}
	return got
}

// typeOf reads a component's type from its metadata.yaml.
func typeOf(t *testing.T, importPath string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", importPath)
	cmd.Dir = root
	folder, err := cmd.Output()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "metadata.yaml"))
	require.NoError(t, err)
	var metadata struct {
		Type string `yaml:"type"`
	}
	require.NoError(t, yaml.Unmarshal(text, &metadata))
	require.NotEmpty(t, metadata.Type, path.Base(importPath))
	return metadata.Type
}

// The binary accepts every shipped configuration.
func TestConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	candidates, err := filepath.Glob(filepath.Join(root, "deploy", "*.yaml"))
	require.NoError(t, err)
	candidates = append(candidates, filepath.Join(root, "otelcol-config.yaml"))
	validated := 0
	for _, file := range candidates {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.Contains(string(text), "\nservice:\n") {
			continue // alert rules, not a collector's configuration
		}
		validated++
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			run(t, []string{
				"DATABASE_URL=postgres://looptrace@127.0.0.1:5432/looptrace",
				"CLICKHOUSE_URL=clickhouse://127.0.0.1:9000/looptrace",
				"KAFKA_BROKERS=127.0.0.1:9092,127.0.0.1:9093",
			}, "validate", "--config", file)
		})
	}
	require.GreaterOrEqual(t, validated, 3, "one machine, ingest, store")
}

func run(t *testing.T, env []string, arguments ...string) []byte {
	t.Helper()
	program, err := checkout.Build("looptrace-collector")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Env = append(os.Environ(), env...)
	var output strings.Builder
	cmd.Stderr = &output
	out, err := cmd.Output()
	require.NoError(t, err, output.String())
	return out
}
