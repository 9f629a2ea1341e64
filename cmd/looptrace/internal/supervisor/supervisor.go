// Package supervisor keeps child processes running: it starts them, waits until they are ready, restarts them when
// they end, and stops them within a deadline. A child never outlives its supervisor.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	probeInterval = 50 * time.Millisecond
	probeTimeout  = 2 * time.Second
	maxBackoff    = 2 * time.Second
	// steadyAfter is how long a child must have run to be restarted without a delay.
	steadyAfter = 10 * time.Second
	// maxEarlyEnds is how often a child may end before it was ever ready. After that it is considered misconfigured.
	maxEarlyEnds = 10
	// outputGrace is how long to wait for the output of a child that has ended. A grandchild may hold the pipe open far
	// longer.
	outputGrace = 200 * time.Millisecond
)

// Process describes how to run a child.
type Process struct {
	// Name is the child's name in messages.
	Name string
	// Path is the executable, Args the whole argument vector, including the name.
	Path string
	Args []string
	// Env is the whole environment.
	Env []string
	Dir string
	// Output receives the child's stdout and stderr.
	Output io.Writer
	// Prepare runs before each start, on the OS thread that then starts the child. Its error counts as an end of the
	// child.
	Prepare func(context.Context) error
	// Ready returns nil once the child is ready.
	Ready func(context.Context) error
	// StopSignal asks the child to end, SIGTERM by default. After StopTimeout it is killed by SIGKILL.
	StopSignal  syscall.Signal
	StopTimeout time.Duration
	// DeathSignal is sent to the child when the supervisor dies, SIGKILL by default.
	DeathSignal syscall.Signal
	// Attr holds further attributes, such as credentials. The supervisor adds its own.
	Attr syscall.SysProcAttr
}

// Child is a process under supervision.
type Child struct {
	process Process
	report  func(string)

	ready    chan struct{}
	gaveUp   chan struct{}
	done     chan struct{}
	stopping context.Context // the child's lifetime, ended by Stop
	stop     context.CancelFunc

	mu      sync.Mutex
	running *os.Process
}

// Start starts the process and keeps it running until Stop. It reports events to report, one line at a time.
func Start(p Process, report func(string)) *Child {
	if p.StopSignal == 0 {
		p.StopSignal = syscall.SIGTERM
	}
	if p.DeathSignal == 0 {
		p.DeathSignal = syscall.SIGKILL
	}
	stopping, stop := context.WithCancel(context.Background())
	c := &Child{
		process: p, report: report,
		ready: make(chan struct{}), gaveUp: make(chan struct{}), done: make(chan struct{}),
		stopping: stopping, stop: stop,
	}
	go c.run()
	return c
}

// WaitReady waits until the child is ready for the first time.
func (c *Child) WaitReady(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.gaveUp:
		return fmt.Errorf("%s does not start", c.process.Name)
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", c.process.Name, context.Cause(ctx))
	}
}

// PID returns the process id of the running child, 0 if there is none.
func (c *Child) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		return 0
	}
	return c.running.Pid
}

// Stop stops the child and returns when it has ended: by its stop signal, or by SIGKILL after StopTimeout or when ctx
// ends.
func (c *Child) Stop(ctx context.Context) {
	c.stop()
	c.signal(c.process.StopSignal)
	ctx, cancel := context.WithTimeout(ctx, c.process.StopTimeout)
	defer cancel()
	select {
	case <-c.done:
		return
	case <-ctx.Done():
	}
	c.signal(syscall.SIGKILL)
	<-c.done
}

func (c *Child) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		_ = c.running.Signal(s) // it may have ended meanwhile
	}
}

// run runs the child until Stop. It keeps its OS thread, because Linux sends the death signal when the thread that
// forked ends, not the process.
func (c *Child) run() {
	runtime.LockOSThread()
	defer close(c.done)
	var backoff time.Duration
	for early := 0; ; {
		begin := time.Now()
		err := c.once()
		if c.stopping.Err() != nil {
			return
		}
		if !c.wasReady() {
			if early++; early == maxEarlyEnds {
				close(c.gaveUp)
			}
		}
		if time.Since(begin) >= steadyAfter {
			backoff = 0
		}
		c.report(fmt.Sprintf("%s ended (%v), restarting it", c.process.Name, err))
		select {
		case <-c.stopping.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(max(2*backoff, 100*time.Millisecond), maxBackoff)
	}
}

func (c *Child) wasReady() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// once runs the child once and returns why it ended.
func (c *Child) once() error {
	p := c.process
	begin := time.Now()
	if p.Prepare != nil {
		if err := p.Prepare(c.stopping); err != nil {
			return err
		}
	}
	attr := p.Attr
	attr.Setpgid = true // Ctrl-C in the terminal is the supervisor's to handle
	setDeathSignal(&attr, p.DeathSignal)
	cmd := &exec.Cmd{
		Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir,
		Stdout: p.Output, Stderr: p.Output, SysProcAttr: &attr, WaitDelay: outputGrace,
	}
	if err := c.start(cmd); err != nil {
		return err
	}
	probing, cancel := context.WithCancel(c.stopping)
	var probe sync.WaitGroup
	probe.Go(func() { c.probe(probing, begin) })
	err := cmd.Wait()
	cancel()
	probe.Wait()

	c.mu.Lock()
	c.running = nil
	c.mu.Unlock()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the rest of its process group
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		err = errors.New(cmd.ProcessState.String())
	}
	return err
}

func (c *Child) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stopping.Err(); err != nil { // Stop was called meanwhile and found nothing to signal
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	c.running = cmd.Process
	return nil
}

// probe calls Ready until it succeeds or ctx ends.
func (c *Child) probe(ctx context.Context, begin time.Time) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, probeTimeout)
		err := c.process.Ready(attempt)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && c.wasReady():
			c.report(fmt.Sprintf("%s is back after %.1f s", c.process.Name, time.Since(begin).Seconds()))
			return
		case err == nil:
			close(c.ready)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
