package deploy

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const composeFile = "docker-compose.yml"

type compose struct {
	Services map[string]struct {
		Build struct {
			Dockerfile string `yaml:"dockerfile"`
			Target     string `yaml:"target"`
		} `yaml:"build"`
		Environment map[string]string `yaml:"environment"`
		NetworkMode string            `yaml:"network_mode"`
		Volumes     []string          `yaml:"volumes"`
		DependsOn   map[string]any    `yaml:"depends_on"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	require.NoError(t, yaml.Unmarshal(read(t, filepath.Join(root, composeFile)), &c))
	return c
}

// variable matches environment variables in the files that use them.
var variable = regexp.MustCompile(`(?:etenv|parseURL)\("([A-Z_]+)"\)|\$\{env:([A-Z_]+)`)

func variables(t *testing.T, files ...string) []string {
	t.Helper()
	// Go's own variables.
	names := []string{"GOMEMLIMIT", "GOGC"}
	for _, file := range files {
		for _, match := range variable.FindAllStringSubmatch(string(read(t, filepath.Join(root, file))), -1) {
			names = append(names, match[1]+match[2])
		}
	}
	return names
}

// A variable that nobody reads is a setting without effect.
func TestComposeSetsWhatIsRead(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	const allowed = "internal/allowedhost/allowedhost.go"
	reads := map[string][]string{
		"collector": variables(t, single),
		"api":       variables(t, "controlplane/config.go", allowed),
		"web":       variables(t, "cmd/looptrace/internal/command/command.go", allowed),
		"migrate":   variables(t, "cmd/looptrace/internal/command/command.go"),
	}
	for service, names := range reads {
		require.Greater(t, len(names), 3, "%s: the names were found", service)
		for name := range c.Services[service].Environment {
			assert.Contains(t, names, name, service)
		}
	}
	for _, service := range []string{"api", "web"} { // both must know the same names
		for _, name := range []string{"PUBLIC_URL", "ALLOWED_HOSTS"} {
			assert.Equal(t, "${"+name+":-}", c.Services[service].Environment[name], service)
		}
	}
	// Variables without a default are set.
	for service, names := range map[string][]string{
		"collector": {"DATABASE_URL", "CLICKHOUSE_URL", "KAFKA_BROKERS"},
		"api":       {"DATABASE_URL", "CLICKHOUSE_URL", "SESSION_SECRET"},
		"web":       {"WEB_ADDR", "API_URL", "INGEST_URL", "UI_DIR"},
		"migrate":   {"DATABASE_URL", "CLICKHOUSE_URL", "KAFKA_BROKERS"},
	} {
		for _, name := range names {
			assert.NotEmpty(t, c.Services[service].Environment[name], "%s: %s", service, name)
		}
	}
}

// Nothing starts with a well-known secret.
func TestComposeHasNoSecrets(t *testing.T) {
	t.Parallel()
	for name, service := range readCompose(t).Services {
		for variable, value := range service.Environment {
			switch {
			case strings.HasSuffix(variable, "SECRET"), strings.HasSuffix(variable, "PASSWORD"):
				assert.Regexp(t, `^\$\{[A-Z_]+:\?[^}]+\}$`, value, "%s: %s", name, variable)
			case strings.HasSuffix(variable, "_URL") && strings.Contains(value, "@"):
				assert.Regexp(t, `^[a-z]+://looptrace(_app)?:(\$\{[A-Z_]+:-)?\$\{[A-Z_]+:\?[^}]+\}\}?@`, value, "%s: %s", name, variable)
			}
		}
	}
}

// memory_limiter counts garbage: with a higher GOMEMLIMIT, garbage would cause refusals.
func TestComposeCollectsBeforeItRefuses(t *testing.T) {
	t.Parallel()
	var config struct {
		Processors struct {
			MemoryLimiter struct {
				Limit int `yaml:"limit_mib"`
				Spike int `yaml:"spike_limit_mib"`
			} `yaml:"memory_limiter"`
		} `yaml:"processors"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, filepath.Join(root, single)), &config))
	limiter := config.Processors.MemoryLimiter
	require.Positive(t, limiter.Limit-limiter.Spike)
	text, found := strings.CutSuffix(readCompose(t).Services["collector"].Environment["GOMEMLIMIT"], "MiB")
	require.True(t, found, "in MiB")
	limit, err := strconv.Atoi(text)
	require.NoError(t, err)
	assert.Less(t, limit, limiter.Limit-limiter.Spike)
}

// A service in the network of another is cut off when the other is killed: that one comes back with a new network.
func TestComposeSharesNoNetwork(t *testing.T) {
	t.Parallel()
	for name, service := range readCompose(t).Services {
		assert.Empty(t, service.NetworkMode, name)
	}
}

// What the programs import is sent to the builder of the images.
func TestImagesGetTheirSources(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}{{end}}",
		"./cmd/...", "./components/...", "./controlplane")
	command.Dir = root
	list, err := command.Output()
	require.NoError(t, err)
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	patterns := strings.Fields(string(read(t, filepath.Join(root, "deploy", "Dockerfile.dockerignore"))))
	folders := strings.Fields(string(list))
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		path, err := filepath.Rel(here, folder)
		require.NoError(t, err)
		ignored := false
		for _, pattern := range patterns { // the last one that matches decides
			name, kept := strings.CutPrefix(pattern, "!")
			if path == name || strings.HasPrefix(path, name+"/") {
				ignored = !kept
			}
		}
		assert.False(t, ignored, path)
	}
}

// All named files exist.
func TestComposeNamesWhatExists(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for name, service := range c.Services {
		for dependency := range service.DependsOn {
			assert.Contains(t, c.Services, dependency, name)
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, ".") {
				assert.FileExists(t, filepath.Join(root, source), name)
			} else {
				assert.Contains(t, c.Volumes, source, name)
			}
		}
		if service.Build.Dockerfile == "" {
			continue
		}
		stages := regexp.MustCompile(`(?m)^FROM \S+ AS (\S+)$`).FindAllStringSubmatch(string(read(t, filepath.Join(root, service.Build.Dockerfile))), -1)
		assert.True(t, slices.ContainsFunc(stages, func(stage []string) bool { return stage[1] == service.Build.Target }), "%s: %s", name, service.Build.Target)
	}
}
