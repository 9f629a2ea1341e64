// Package compose starts the real docker-compose.yml in a Docker engine and kills each of its services. `make
// test-compose` runs it; the images that it does not build are stand-ins, which standins makes.
package compose

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	// patience distinguishes a slow part from one that never recovers.
	patience = 5 * time.Minute
	// room is what a machine of 4 GiB has beside its system, in MiB.
	room = 4096 - 512
	// redpanda is what Redpanda takes at its start, whatever its stand-in takes.
	redpanda = 1024
)

// ports are those of docker-compose.yml: the network of the engine has nothing else.
var ports = product.Ports{}

// services are those that stay, in the order in which they are killed.
var services = []string{"postgres", "clickhouse", "redpanda", "collector", "api", "web"}

func TestCompose(t *testing.T) {
	if reason := os.Getenv("COMPOSE_SKIPPED"); reason != "" {
		t.Skip("docker-compose.yml was not started, because " + reason)
	}
	if os.Getenv("COMPOSE_ENGINE") == "" {
		t.Skip("docker-compose.yml is started by make test-compose")
	}
	c := newComposition(t)

	begin := time.Now()
	c.docker(t, "compose", "build", "--quiet")
	t.Logf("images built after %s", since(begin))
	begin = time.Now()
	c.start(t)
	t.Logf("healthy %s after `%s`", since(begin), c.up)

	account, err := product.Setup(t.Context(), ports.URL(product.Web))
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "compose", "ingest:write", "runs:read")
	require.NoError(t, err)
	s := &site{
		composition: c, project: account.ProjectID,
		reader: product.Reader{Base: ports.URL(product.Web), Key: key},
		client: &load.Client{Ports: []product.Ports{ports}, Key: key, SpansPerSecond: 200, Shape: load.Shape{Spans: 10, Parts: 2}, Ledger: &load.Ledger{}},
	}
	t.Cleanup(func() { assert.NoError(t, s.client.Close()) })
	for _, endpoint := range load.Endpoints() {
		require.NoError(t, s.client.One(t.Context(), endpoint))
	}
	s.sendThroughWeb(t)
	s.readPage(t)
	s.verify(t)

	sending, stop := context.WithCancel(t.Context())
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.client.Send(sending)
	}()
	t.Cleanup(func() { stop(); <-sent })
	for _, name := range services {
		t.Run("kill "+name, func(t *testing.T) { s.kill(t, name) })
	}
	stop()
	<-sent
	s.verify(t)
	begin = time.Now()
	c.docker(t, "compose", "run", "--rm", "-T", "migrate", "prices", "reprice", "--dry-run", "--from", begin.AddDate(0, 0, -1).UTC().Format(time.RFC3339), "--project", s.project)
	t.Logf("repriced after %s", since(begin))
	require.Empty(t, s.client.Ledger.Refusals(), "a valid request was refused for good")
	c.weigh(t)

	begin = time.Now()
	c.docker(t, "compose", "down")
	t.Logf("down after %s", since(begin))
	c.forward(t)
	begin = time.Now()
	c.start(t)
	t.Logf("healthy again, with a queue for forwarding in a new volume, after %s", since(begin))
	s.verify(t)
	require.NoError(t, s.client.One(t.Context(), load.NativeJSON))
	s.verify(t)
}

// site is the running product and a client's ledger.
type site struct {
	*composition

	project string
	reader  product.Reader
	client  *load.Client
}

// kill ends a service's process from outside, so that its restart policy acts, and waits until everything works again.
func (s *site) kill(t *testing.T, name string) {
	before := s.containers(t)
	pid := s.pid(t, before[name].ID)
	begin := time.Now()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	wait(t, func() error {
		if now := s.pid(t, before[name].ID); now == 0 || now == pid {
			return fmt.Errorf("%s is not started again", name)
		}
		return nil
	})
	s.awaitHealthy(t)
	for _, endpoint := range load.Endpoints() {
		wait(t, func() error { return s.client.One(t.Context(), endpoint) })
	}
	s.verify(t)
	t.Logf("all is healthy and read back %s after kill -9 of %s", since(begin), name)
}

// verify reads back, through web, all that was acknowledged until now: once and as it was sent.
func (s *site) verify(t *testing.T) {
	t.Helper()
	runs := s.client.Ledger.Runs(0)
	require.NoError(t, load.Verify(t.Context(), s.reader, s.project, runs, patience))
	t.Logf("%d acknowledged runs are there, each once", len(runs))
}

// sendThroughWeb sends a run to the port that people have open, and reads it there.
func (s *site) sendThroughWeb(t *testing.T) {
	t.Helper()
	id := uuid.NewString()
	body, err := json.Marshal(map[string]any{"runs": []any{map[string]any{"run_id": id, "name": "through web", "start_time": time.Now()}}})
	require.NoError(t, err)
	answer, err := product.Post(t.Context(), ports.URL(product.Web)+"/v1/runs", s.client.Key, product.JSON, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	wait(t, func() error {
		if _, found, err := s.reader.Run(t.Context(), id); err != nil || !found {
			return errors.Join(err, errors.New("the run that was sent through web is not there"))
		}
		return nil
	})
}

// readPage reads the index page of the UI and a script that it names.
func (s *site) readPage(t *testing.T) {
	t.Helper()
	page, err := product.Do(t.Context(), http.MethodGet, ports.URL(product.Web)+"/", nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, page.Status)
	script := regexp.MustCompile(`src="(/assets/[^"]+\.js)"`).FindSubmatch(page.Body)
	require.NotNil(t, script, "the page has no script: %s", page.Body)
	answer, err := product.Do(t.Context(), http.MethodGet, ports.URL(product.Web)+string(script[1]), nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
}

// composition is the project of docker-compose.yml.
type composition struct {
	root string
	// up is the command at the top of docker-compose.yml.
	up string
	// files are the flags with the .env file, docker-compose.yml and what this machine needs.
	files []string
}

// newComposition makes the .env file by the command at the top of docker-compose.yml. Nothing is left of it after the test.
func newComposition(t *testing.T) *composition {
	t.Helper()
	root, err := checkout.Root()
	require.NoError(t, err)
	c := &composition{root: root}
	file := filepath.Join(root, "docker-compose.yml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	secrets := regexp.MustCompile(`(?m)^#   (.* > \.env\))$`).FindSubmatch(text)
	require.NotNil(t, secrets, "docker-compose.yml names no command that makes .env")
	up := regexp.MustCompile(`(?m)^#   (docker compose up [^#\n]*[^# \n])`).FindSubmatch(text)
	require.NotNil(t, up, "docker-compose.yml names no command that starts it")
	c.up = string(up[1])

	folder := t.TempDir()
	generate := func() ([]byte, error) {
		command := exec.CommandContext(t.Context(), "sh", "-c", string(secrets[1]))
		command.Dir = folder
		return command.CombinedOutput()
	}
	out, err := generate()
	require.NoError(t, err, "%s", out)
	_, err = generate()
	require.Error(t, err, "passwords that are in use are overwritten")
	c.files = []string{"--env-file", filepath.Join(folder, ".env"), "--file", file, "--file", c.override(t, folder)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
		c.docker(t, "compose", "down", "--volumes", "--timeout", "5")
	})
	return c
}

// override writes a Compose file of what this machine forces: images of binaries that are built already, and fewer
// open files if it forbids so many.
func (c *composition) override(t *testing.T, folder string) string {
	t.Helper()
	c.generateDockerfile(t)
	build := map[string]any{"build": map[string]any{"dockerfile": "_build/compose/Dockerfile"}}
	override := map[string]any{"migrate": build, "collector": build, "api": build, "web": build}
	limit := syscall.Rlimit{Cur: 262144, Max: 262144}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
		override["clickhouse"] = map[string]any{"ulimits": map[string]any{"nofile": map[string]any{"soft": limit.Max, "hard": limit.Max}}}
		t.Logf("this machine allows %d open files only", limit.Max)
	}
	text, err := yaml.Marshal(map[string]any{"services": override})
	require.NoError(t, err)
	file := filepath.Join(folder, "override.yml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// ready are stages instead of those that build.
var ready = map[string]string{
	"ui": "FROM scratch AS ui\nCOPY ui/dist /src/ui/dist\n\n",
	"go": "FROM scratch AS go\nCOPY _build/looptrace _build/looptrace-collector _build/looptrace-controlplane /src/_build/\n\n",
}

// generateDockerfile writes deploy/Dockerfile with ready instead of its first stages.
func (c *composition) generateDockerfile(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, "deploy", "Dockerfile"))
	require.NoError(t, err)
	starts := regexp.MustCompile(`(?m)^(#.*\n)*FROM .* AS (\S+)$`).FindAllSubmatchIndex(text, -1)
	var generated bytes.Buffer
	replaced := 0
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if stage, ok := ready[string(text[at[4]:at[5]])]; ok {
			generated.WriteString(stage)
			replaced++
			continue
		}
		generated.Write(text[at[0]:end])
	}
	require.Equal(t, len(ready), replaced, "deploy/Dockerfile has the stages that build")
	file := filepath.Join(c.root, "_build", "compose", "Dockerfile")
	require.NoError(t, os.WriteFile(file, generated.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(file+".dockerignore", []byte("*\n!_build/looptrace*\n!ui/dist\n!otelcol-config.yaml\n!deploy\n"), 0o600))
}

// forward adds the example of docs/collector.md. The collector starts only if it can write to its volume; the destination need not exist.
func (c *composition) forward(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, "docs", "collector.md"))
	require.NoError(t, err)
	example := regexp.MustCompile("(?s)```yaml\n(services:\n.*?)```\n").FindSubmatch(text)
	require.NotNil(t, example, "docs/collector.md has no example for Compose")
	file := filepath.Join(t.TempDir(), "forward.yml")
	require.NoError(t, os.WriteFile(file, example[1], 0o600))
	c.files = append(c.files, "--file", file)
}

// start runs the command at the top of docker-compose.yml and waits until all is healthy.
func (c *composition) start(t *testing.T) {
	t.Helper()
	c.docker(t, strings.Fields(c.up)[1:]...)
	c.awaitHealthy(t)
}

// docker runs a command of Docker. Those of Compose get the project's files.
func (c *composition) docker(t *testing.T, args ...string) string {
	t.Helper()
	if args[0] == "compose" {
		args = slices.Concat(args[:1], c.files, args[1:])
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "docker", args...)
	command.Dir = c.root
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	require.NoError(t, command.Run(), "%s\n%s", command, &stderr)
	return stdout.String()
}

// container is a line of `docker compose ps`.
type container struct {
	ID, Service, State, Health string
	ExitCode                   int
}

// containers returns those of the project by service.
func (c *composition) containers(t *testing.T) map[string]container {
	t.Helper()
	found := map[string]container{}
	lines := bufio.NewScanner(strings.NewReader(c.docker(t, "compose", "ps", "--all", "--format", "json")))
	for lines.Scan() {
		var one container
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one), "%s", lines.Bytes())
		found[one.Service] = one
	}
	return found
}

func (c *composition) awaitHealthy(t *testing.T) {
	t.Helper()
	wait(t, func() error {
		found := c.containers(t)
		for _, name := range services {
			if found[name].Health != "healthy" {
				return fmt.Errorf("%s: %+v", name, found[name])
			}
		}
		if migrate := found["migrate"]; migrate.State != "exited" || migrate.ExitCode != 0 {
			return fmt.Errorf("migrate: %+v", migrate)
		}
		return nil
	})
}

// pid is the container's first process, 0 if it has none.
func (c *composition) pid(t *testing.T, id string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(c.docker(t, "inspect", "--format", "{{.State.Pid}}", id)))
	require.NoError(t, err)
	return pid
}

// weigh logs the memory of each container and checks that all have room on a small server. Redpanda takes what it is
// told to, which its stand-in does not.
func (c *composition) weigh(t *testing.T) {
	t.Helper()
	table := c.docker(t, "stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}")
	t.Logf("memory used, and limits:\n%s", table)
	var sum float64
	for _, name := range services {
		row := regexp.MustCompile(`(?m)^looptrace-` + name + `-1 ([0-9.]+)MiB / `).FindStringSubmatch(table)
		require.NotNil(t, row, name)
		used, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		if name == "redpanda" {
			used = redpanda
		}
		sum += used
	}
	t.Logf("%.0f MiB in all, with %d of Redpanda", sum, redpanda)
	assert.Less(t, sum, float64(room))
}

func (c *composition) logs() string {
	command := exec.Command("docker", slices.Concat([]string{"compose"}, c.files, []string{"logs", "--no-color", "--timestamps", "--tail", "20"})...)
	command.Dir = c.root
	out, err := command.CombinedOutput()
	return fmt.Sprintf("%s\n%v", out, err)
}

func wait(t *testing.T, condition func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, func(context.Context) error { return condition() }))
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(100 * time.Millisecond) }
