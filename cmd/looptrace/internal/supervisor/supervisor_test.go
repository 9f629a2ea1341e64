package supervisor_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/supervisor"
)

const (
	waitFor = 5 * time.Second
	tick    = 5 * time.Millisecond
)

// launcherVariable makes the test binary a launcher of one child, for the test that kills it.
const launcherVariable = "SUPERVISOR_TEST_LAUNCHER"

func TestMain(m *testing.M) {
	if os.Getenv(launcherVariable) != "" {
		child := supervisor.Start(shell("exec sleep 1000", os.Stderr), func(string) {})
		if err := child.WaitReady(context.Background()); err != nil {
			panic(err)
		}
		fmt.Println(child.PID())
		select {}
	}
	os.Exit(m.Run())
}

func shell(script string, output interface{ Write([]byte) (int, error) }) supervisor.Process {
	return supervisor.Process{
		Name: "child", Path: "/bin/sh", Args: []string{"sh", "-c", script}, Output: output,
		Ready:       func(context.Context) error { return nil },
		StopTimeout: 100 * time.Millisecond,
	}
}

// lines collects the output of children and the supervisor's reports.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) report(line string) { _, _ = l.Write([]byte(line + "\n")) }

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestStartsAgainWhatDies(t *testing.T) {
	t.Parallel()
	var out lines
	child := supervisor.Start(shell("exec sleep 1000", &out), out.report)
	t.Cleanup(func() { child.Stop(context.Background()) })
	require.NoError(t, child.WaitReady(t.Context()))

	for range 3 {
		before := child.PID()
		require.NoError(t, syscall.Kill(before, syscall.SIGKILL))
		require.Eventually(t, func() bool { pid := child.PID(); return pid != 0 && pid != before }, waitFor, tick)
	}
	assert.Contains(t, out.String(), "child ended (signal: killed), restarting it")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "child is back after") }, waitFor, tick)
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   string
	}{
		"a child that ends in order":    {"trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done", "bye"},
		"a child that does not want to": {"trap '' TERM; echo up; while :; do sleep 0.01; done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out lines
			child := supervisor.Start(shell(c.script, &out), out.report)
			require.Eventually(t, func() bool { return strings.Contains(out.String(), "up") }, waitFor, tick)
			pid := child.PID()
			child.Stop(context.Background())
			assert.True(t, gone(pid))
			assert.Contains(t, out.String(), c.want)
			assert.NotContains(t, out.String(), "restarting it")
		})
	}
}

func TestStopIsPreparedForAChildThatNeverStarts(t *testing.T) {
	t.Parallel()
	var out lines
	process := shell("", &out)
	process.Path = "/nowhere"
	child := supervisor.Start(process, out.report)
	require.ErrorContains(t, child.WaitReady(t.Context()), "child does not start")
	child.Stop(context.Background())
}

func TestALingeringGrandchildDoesNotDelayTheNextStart(t *testing.T) {
	t.Parallel()
	var out lines
	child := supervisor.Start(shell("setsid sleep 30 & exec sleep 1000", &out), out.report)
	t.Cleanup(func() { child.Stop(context.Background()) })
	require.NoError(t, child.WaitReady(t.Context()))
	before := child.PID()
	require.NoError(t, syscall.Kill(before, syscall.SIGKILL))
	require.Eventually(t, func() bool { pid := child.PID(); return pid != 0 && pid != before }, waitFor, tick)
}

func TestChildrenDieWithTheLauncher(t *testing.T) {
	t.Parallel()
	launcher := exec.CommandContext(t.Context(), os.Args[0])
	launcher.Env = append(os.Environ(), launcherVariable+"=1")
	output, err := launcher.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, launcher.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.False(t, gone(pid))

	require.NoError(t, launcher.Process.Kill())
	_ = launcher.Wait() // it was killed
	require.Eventually(t, func() bool { return gone(pid) || zombie(pid) }, waitFor, tick)
}

// zombie reports whether the process has ended and only waits for its new parent.
func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(raw), ") Z ")
}
