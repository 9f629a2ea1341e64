package product

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Child is a process that a test has started. On Linux it ends with the test binary, however that ends.
type Child struct {
	name    string
	log     string
	process *os.Process
	exited  chan struct{}
	state   *os.ProcessState // once exited is closed
}

// StartChild starts a command whose output is appended to the file named log. Ctrl-C in the terminal does not reach
// it: the test ends it.
func StartChild(cmd *exec.Cmd, name, log string) (*Child, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the %s: %w", name, err)
	}
	defer func() { _ = output.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = output, output, endWithParent()
	c := &Child{name: name, log: log, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux signals a child when the thread that forked it ends.
		runtime.LockOSThread()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start the %s (make build builds it): %w", name, err)
			return
		}
		c.process = cmd.Process
		started <- nil
		_ = cmd.Wait() // the state has the result
		c.state = cmd.ProcessState
		close(c.exited)
	}()
	return c, <-started
}

// Process returns the child as a process that can be measured.
func (c *Child) Process() Process {
	return Process{PID: c.process.Pid, Parent: os.Getpid(), Name: c.name}
}

// Ended returns an error with the end of the log if the child has ended.
func (c *Child) Ended() error {
	select {
	case <-c.exited:
		return fmt.Errorf("the %s ended: %s\n%s", c.name, c.state, tail(c.log))
	default:
		return nil
	}
}

// Stop ends the child in order, and returns an error if that takes longer than within. It does nothing for a child
// that has ended.
func (c *Child) Stop(within time.Duration) error {
	select {
	case <-c.exited:
		return nil // a test that killed it knows
	default:
	}
	if err := c.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the %s: %w", c.name, err)
	}
	select {
	case <-c.exited:
	case <-time.After(within):
		c.Kill()
		return fmt.Errorf("the %s did not stop within %s", c.name, within)
	}
	if code := c.state.ExitCode(); code != 0 {
		return fmt.Errorf("the %s ended with %s\n%s", c.name, c.state, tail(c.log))
	}
	return nil
}

// Kill kills the child and returns when it has ended.
func (c *Child) Kill() {
	_ = c.process.Kill() // it may have ended
	<-c.exited
}
