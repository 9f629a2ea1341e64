// Package engines provides real engines for integration tests: ClickHouse and PostgreSQL, on a free port and in a temporary
// folder. Every test gets its own database, so tests run in parallel on one engine.
//
// Each engine is started once per test binary and ended with it, or once for all test binaries of a command that Share
// runs, as `make test` does.
//
// The engines are those that `make engines` installs under _build/engines.
package engines

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout limits an engine's start. It is long, for machines that build and test many packages at once.
const startTimeout = 3 * time.Minute

// template is the migrated database whose schema each test's database has.
const template = "looptrace_template"

// Server is one engine process. It ends with the test binary, however that ends.
type Server struct {
	url    string // without a database
	folder string
	engine engine

	mu    sync.Mutex
	child *child
}

// engine describes the differences between the engines.
type engine struct {
	name string
	// command is the engine's command line, with "{folder}" for its folder.
	command []string
	// env is added to the environment.
	env []string
	// stopSignal ends the engine at once, like a crash.
	stopSignal string
	attr       *syscall.SysProcAttr
	ping       func(ctx context.Context, url string) error
}

// URL returns the address of the named database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf(s.url, database)
}

// Stop ends the engine at once and keeps its data and its port.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// Start restarts a stopped engine on the same port and data.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) stop() {
	if s.child == nil {
		return
	}
	s.child.end()
	s.child = nil
}

func (s *Server) start() error {
	if s.child != nil {
		return nil
	}
	child, err := startChild(s.engine, s.folder)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := child.waitReady(ctx, func() error { return s.engine.ping(ctx, s.url) }); err != nil {
		child.end()
		return fmt.Errorf("start %s: %w\n%s", s.engine.name, err, child.logTail())
	}
	s.child = child
	return nil
}

// child is an engine under a shell that outlives the test binary just long enough to end the engine: the shell waits
// for the end of its standard input, which the kernel closes with this process, even on kill -9. PR_SET_PDEATHSIG
// would require a locked thread, and would leave the folder behind.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	log    string
	folder string
}

// enginePID is the file in its folder with the engine's process id.
const enginePID = "engine.pid"

const supervise = `
exec 3<&0
"$@" </dev/null >"$LOG" 2>&1 3<&- &
engine=$!
echo $engine >"$FOLDER/engine.pid"
( cat <&3 >/dev/null; kill -"$SIGNAL" $engine 2>/dev/null; kill -CONT $engine 2>/dev/null ) &
watch=$!
wait $engine
kill $watch 2>/dev/null
[ -e "$FOLDER/keep" ] || rm -rf "$FOLDER"
`

func startChild(e engine, folder string) (*child, error) {
	stdin, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer stdin.Close() //nolint:errcheck // the child has its own copy

	c := &child{stdin: write, log: filepath.Join(folder, "engine.log"), folder: folder}
	args := []string{"-c", supervise, "sh"}
	for _, arg := range e.command {
		args = append(args, strings.ReplaceAll(arg, "{folder}", folder))
	}
	// No context: the process belongs to the test binary, not to one test.
	c.cmd = exec.Command("/bin/sh", args...)
	c.cmd.Dir = folder
	c.cmd.Env = append(append(os.Environ(), e.env...), "LOG="+c.log, "SIGNAL="+e.stopSignal, "FOLDER="+folder)
	c.cmd.Stdin = stdin
	c.cmd.SysProcAttr = e.attr
	if err := c.cmd.Start(); err != nil {
		write.Close() //nolint:errcheck // nothing was written
		return nil, fmt.Errorf("start %s: %w", e.name, err)
	}
	return c, nil
}

// end ends the engine, waits for it and keeps its folder.
func (c *child) end() {
	keep := filepath.Join(c.folder, "keep")
	_ = os.WriteFile(keep, nil, 0o644)
	_ = c.stdin.Close()
	_ = c.cmd.Wait()
	_ = os.Remove(keep)
}

// waitReady waits until ping succeeds.
func (c *child) waitReady(ctx context.Context, ping func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ping()
		if err == nil {
			return nil
		}
		if c.exited() {
			return errors.New("the process ended at once")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		case <-tick.C:
		}
	}
}

// exited reports whether the process has ended. It neither waits nor starts a goroutine that a leak check would find.
func (c *child) exited() bool {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WNOHANG, nil)
	return pid == c.cmd.Process.Pid || errors.Is(err, syscall.ECHILD)
}

func (c *child) logTail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// installed returns the path of an installed engine's file, or an error that says how to install it.
func installed(root, path string) (string, error) {
	full := filepath.Join(root, "_build", "engines", "node_modules", filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		return "", fmt.Errorf("an engine is missing, run `make engines`: %w", err)
	}
	return full, nil
}

// ownServer starts a server for one test.
func ownServer(tb testing.TB, start func() (*Server, error)) *Server {
	tb.Helper()
	server, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		server.Stop(tb)
		_ = os.RemoveAll(server.folder)
	})
	return server
}

// newDatabase makes a database on the shared server, and drops it when the test ends. create and drop are how, and admin is the database from
// which that is done.
func newDatabase(
	tb testing.TB, shared func() (*Server, error), admin string, exec func(ctx context.Context, url, statement string) error, create, drop string,
) (server *Server, database string) {
	tb.Helper()
	server, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	database = "test_" + strings.ToLower(rand.Text()[:16])
	if err := exec(tb.Context(), server.URL(admin), "CREATE DATABASE "+database+create); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), startTimeout)
		defer cancel()
		if err := exec(ctx, server.URL(admin), "DROP DATABASE IF EXISTS "+database+drop); err != nil {
			tb.Error(err)
		}
	})
	return server, database
}
