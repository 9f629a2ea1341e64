package up_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/command"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/preflight"
	"github.com/looptrace/looptrace/test/product"
)

const (
	waitFor = 30 * time.Second
	// backWithin is how soon the product must be back after a kill.
	backWithin = 5 * time.Second
	tick       = 20 * time.Millisecond
	engines    = engine.Folder("../../../../_build/engines")
)

// TestMain makes the test binary any executable of a tree: the launcher itself, and stand-ins for the collector and
// the control plane, which have their own tests.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "looptrace":
		if err := command.New().ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "looptrace-collector":
		standIn(os.Getenv("HEALTH_ADDR"))
	case "looptrace-controlplane":
		standIn(os.Getenv("API_ADDR"))
	}
	os.Exit(m.Run())
}

// standIn answers with its environment until it is stopped.
func standIn(addr string) {
	go func() {
		panic(http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Join(os.Environ(), "\n"))
		})))
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	<-ctx.Done()
	stop()
	fmt.Println("WARNING: ended in order")
	os.Exit(0)
}

// newTree creates the layout of a build.
func newTree(t *testing.T) layout.Tree {
	t.Helper()
	if err := engines.Check(); err != nil {
		t.Skipf("the engines are not installed (npm ci in _build/engines): %v", err)
	}
	tree := layout.Tree{Root: t.TempDir()}
	for _, dir := range []string{"_build", "ui/dist"} {
		require.NoError(t, os.MkdirAll(filepath.Join(tree.Root, dir), 0o750))
	}
	for _, path := range []string{filepath.Join(tree.Root, "_build", "looptrace"), tree.Collector(), tree.ControlPlane()} {
		// A different process copies it: a file that this process has open for writing is inherited by the commands that
		// parallel tests start, and cannot be executed meanwhile.
		output, err := exec.CommandContext(t.Context(), "cp", os.Args[0], path).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	for path, content := range map[string]string{
		tree.CollectorConfig():                 "",
		filepath.Join(tree.UI(), "index.html"): "<html>the UI</html>",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	installed, err := filepath.Abs(string(engines))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(installed, tree.Engines()))
	return tree
}

// freeOffset finds a port offset at which every port is free.
func freeOffset(t *testing.T) int {
	t.Helper()
	ports, err := product.FreePorts()
	require.NoError(t, err)
	return ports.Offset
}

// launcher is a running `looptrace up`.
type launcher struct {
	*exec.Cmd
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *launcher) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *launcher) output() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

func (l *launcher) waitFor(t *testing.T, within time.Duration, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(l.output(), text) }, within, tick, "%q in:\n%s", text, l)
}

func (l *launcher) String() string { return l.output() }

func up(t *testing.T, tree layout.Tree, data string, offset int) *launcher {
	t.Helper()
	l := &launcher{Cmd: exec.CommandContext(t.Context(), filepath.Join(tree.Root, "_build", "looptrace"),
		"up", "--data", data, "--port-offset", strconv.Itoa(offset))}
	l.Stdout, l.Stderr = l, l
	l.Env = append(os.Environ(), "SESSION_SECRET=", "OPENAI_API_KEY=handed-on", "ALLOWED_HOSTS=looptrace.test")
	require.NoError(t, l.Start())
	t.Cleanup(func() {
		_ = l.Process.Signal(syscall.SIGINT)
		_ = l.Wait()
	})
	return l
}

// looptrace runs a command and returns its output, whatever its exit code.
func looptrace(t *testing.T, tree layout.Tree, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(tree.Root, "_build", "looptrace"), args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return string(output)
}

// children returns the process ids of the launcher's children by the name of their executable and part.
func children(t *testing.T, launcher int) map[string]int {
	t.Helper()
	found := make(map[string]int)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if fields[1] != strconv.Itoa(launcher) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		args := strings.Split(string(line), "\x00")
		name := filepath.Base(args[0])
		if name == "looptrace" {
			name = args[1]
		}
		found[strings.TrimPrefix(name, "looptrace-")], err = strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
	}
	return found
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

var readyLine = regexp.MustCompile(`Looptrace is ready after [0-9.]+ s: http://127\.0\.0\.1:\d+`)

func TestUp(t *testing.T) {
	t.Parallel()
	tree, offset := newTree(t), freeOffset(t)
	data := filepath.Join(t.TempDir(), "data") // closed to other users, like root's home
	ports := layout.NewPorts(offset)

	first := up(t, tree, data, offset)
	first.waitFor(t, waitFor, "is ready")
	assert.Regexp(t, readyLine, first.output())
	assert.Contains(t, get(t, "http://"+ports.Web.Addr()+"/runs"), "the UI")

	named, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ports.Web.Addr()+"/runs", http.NoBody)
	require.NoError(t, err)
	named.Host = "looptrace.test"
	page, err := http.DefaultClient.Do(named)
	require.NoError(t, err)
	require.NoError(t, page.Body.Close())
	assert.Equal(t, http.StatusOK, page.StatusCode, "web has ALLOWED_HOSTS")

	environment := get(t, "http://"+ports.API.Addr()+"/")
	assert.Regexp(t, `(?m)^SESSION_SECRET=[0-9a-f]{64}$`, environment)
	assert.Regexp(t, `(?m)^DATABASE_URL=postgres://looptrace_app:[0-9a-f]{64}@127\.0\.0\.1:\d+/looptrace\?sslmode=disable$`, environment)
	assert.Contains(t, environment, "OPENAI_API_KEY=handed-on")
	assert.Contains(t, environment, "ALLOWED_HOSTS=looptrace.test")
	collector := get(t, "http://"+ports.CollectorHealth.Addr()+"/")
	assert.NotContains(t, collector, "SESSION_SECRET")
	for _, name := range []string{
		"INGEST_ADDR", "OTLP_GRPC_ADDR", "OTLP_HTTP_ADDR", "HEALTH_ADDR", "METRICS_HOST", "METRICS_PORT",
		"KAFKA_BROKERS", "CLICKHOUSE_URL", "DATABASE_URL",
	} {
		assert.Regexp(t, `(?m)^`+name+`=.+$`, collector)
	}
	assert.Regexp(t, `(?m)^CLICKHOUSE_URL=clickhouse://looptrace:[0-9a-f]{64}@127\.0\.0\.1:\d+/looptrace$`, collector)
	assert.Regexp(t, `(?m)^KAFKA_SASL={mechanism: SCRAM-SHA-256, username: "looptrace", password: "[0-9a-f]{64}"}$`, collector)
	for name, pid := range children(t, first.Process.Pid) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		require.NoError(t, err)
		assert.NotRegexp(t, `[0-9a-f]{64}`, string(line), "%s: every user sees command lines", name)
	}
	environ := looptrace(t, tree, "env", "--data", data, "--port-offset", strconv.Itoa(offset))
	for _, name := range []string{"DATABASE_URL", "CLICKHOUSE_URL", "KAFKA_BROKERS", "KAFKA_SASL"} {
		value := regexp.MustCompile(`(?m)^` + name + `=(.+)$`).FindStringSubmatch(collector)[1]
		assert.Contains(t, environ, "export "+name+"='"+value+"'\n")
	}
	assert.Regexp(t, `(?m)^credentials +ok`, looptrace(t, tree, "doctor", "--data", data, "--port-offset", strconv.Itoa(offset)))

	for _, name := range []string{"postgres", "clickhouse", "broker", "collector", "controlplane", "web"} {
		pid := children(t, first.Process.Pid)[name]
		require.NotZero(t, pid, name)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		first.waitFor(t, backWithin, name+" is back after")
	}

	second := up(t, tree, data, offset)
	require.Error(t, second.Wait())
	assert.Contains(t, second.output(), "already running")

	orphans := children(t, first.Process.Pid)
	require.Len(t, orphans, 6)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	third := up(t, tree, data, offset)
	third.waitFor(t, waitFor, "is ready")
	for name, pid := range orphans {
		assert.NotEqual(t, pid, children(t, third.Process.Pid)[name])
	}
	assert.Contains(t, get(t, "http://"+ports.API.Addr()+"/"), regexp.MustCompile(`SESSION_SECRET=\w+`).FindString(environment),
		"the secret is kept")

	require.NoError(t, third.Process.Signal(syscall.SIGINT))
	require.NoError(t, third.Wait())
	out := third.output()
	assert.NotContains(t, out, "restarting it")
	assert.Less(t, strings.Index(out, "controlplane │ WARNING: ended in order"), strings.Index(out, "collector    │ WARNING: ended in order"))
	for _, port := range ports.All() {
		require.NoError(t, preflight.Port(port))
	}
	assert.NoFileExists(t, filepath.Join(data, "postgres", "postmaster.pid"), "PostgreSQL ended in order")
}

// TestUpRefusesTheFolderOfAnOlderBuild creates a folder like that of a build that recorded its migrations in a
// different table.
func TestUpRefusesTheFolderOfAnOlderBuild(t *testing.T) {
	t.Parallel()
	tree, offset, data := newTree(t), freeOffset(t), t.TempDir()
	l := up(t, tree, data, offset)
	l.waitFor(t, waitFor, "is ready")
	environ := looptrace(t, tree, "env", "--data", data, "--port-offset", strconv.Itoa(offset))
	conn, err := pgx.Connect(t.Context(), regexp.MustCompile(`DATABASE_URL='(.+)'`).FindStringSubmatch(environ)[1])
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER TABLE schema_migrations RENAME TO goose_db_version")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, l.Process.Signal(syscall.SIGINT))
	require.NoError(t, l.Wait())

	l = up(t, tree, data, offset)
	var exit *exec.ExitError
	require.ErrorAs(t, l.Wait(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Contains(t, l.output(), "the data folder "+data+" was created by an older build of Looptrace and cannot be upgraded; move it away, or name a new folder with --data\n")
}

func TestUpSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tree, offset := newTree(t), freeOffset(t)
	data := t.TempDir()
	require.NoError(t, os.Remove(tree.Engines()))
	require.NoError(t, os.Remove(tree.ControlPlane()))
	taken, err := net.Listen("tcp", layout.NewPorts(offset).Broker.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })

	l := up(t, tree, data, offset)
	var exit *exec.ExitError
	require.ErrorAs(t, l.Wait(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	lines := strings.Split(strings.TrimSpace(l.output()), "\n")
	require.Len(t, lines, 3, l.output())
	assert.Contains(t, lines[0], "engines")
	assert.Contains(t, lines[1], "not built")
	assert.Contains(t, lines[2], fmt.Sprintf("port %d, needed for the queue, is in use", 7084+offset))
}

func TestUpRefusesCredentialsThatOthersCanRead(t *testing.T) {
	t.Parallel()
	tree, offset, data := newTree(t), freeOffset(t), t.TempDir()
	path := filepath.Join(data, "clickhouse-password")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("ab", 32)), 0o600))
	require.NoError(t, os.Chmod(path, 0o644))
	l := up(t, tree, data, offset)
	require.Error(t, l.Wait())
	assert.Contains(t, l.output(), "chmod 600 '"+path+"'")
	assert.Regexp(t, `(?m)^credentials +problem +.*chmod 600 `, looptrace(t, tree, "doctor", "--data", data, "--port-offset", strconv.Itoa(offset)))
}
