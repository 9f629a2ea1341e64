// Package product runs the built product for tests: `looptrace up` with its own data folder and ports. It also has
// helpers for its processes, a first user with keys, and requests to ingest and API.
package product

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looptrace/looptrace/test/checkout"
)

const (
	// readyTime limits a start. The first one creates the databases, on a machine that may be under load.
	readyTime = 2 * time.Minute
	// stopTime limits an orderly stop.
	stopTime = time.Minute
	// Tick is the interval of checking a condition.
	Tick = 50 * time.Millisecond
)

// Product is one instance on this machine.
type Product struct {
	// Root is the checkout whose built parts run.
	Root string
	// Data is the data folder. The launcher's own output goes to launcher.log next to it.
	Data  string
	Ports Ports
	// Env is added to the launcher's environment.
	Env []string
	// CollectorConfigs are files for --collector-config.
	CollectorConfigs []string

	launcher atomic.Pointer[Child]
}

// New prepares an instance below dir, on free ports. It starts nothing.
func New(dir string) (*Product, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	ports, err := FreePorts()
	if err != nil {
		return nil, err
	}
	return &Product{Root: root, Data: filepath.Join(dir, "data"), Ports: ports}, nil
}

// Start starts an instance for one test and stops it when the test ends. A failed test prints the logs.
func Start(tb testing.TB) *Product {
	tb.Helper()
	p, err := New(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Down(); err != nil {
			tb.Errorf("stop the product: %v", err)
		}
		if tb.Failed() {
			tb.Log(p.Logs())
		}
	})
	if err := p.Up(tb.Context()); err != nil {
		tb.Fatalf("start the product: %v", err)
	}
	return p
}

// Up starts the launcher and waits until every part is ready.
func (p *Product) Up(ctx context.Context) error {
	if err := p.Launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return p.WaitReady(ctx)
}

// Launch starts the launcher without waiting.
func (p *Product) Launch() error {
	args := []string{"looptrace", "up", "--data", p.Data, "--port-offset", fmt.Sprint(p.Ports.Offset)}
	for _, file := range p.CollectorConfigs {
		args = append(args, "--collector-config", file)
	}
	launcher, err := StartChild(&exec.Cmd{
		Path: filepath.Join(p.Root, "_build", "looptrace"),
		Args: args,
		Env:  append(os.Environ(), p.Env...),
	}, LauncherProcess, p.launcherLog())
	if err != nil {
		return err
	}
	p.launcher.Store(launcher)
	return nil
}

// Launched returns the launcher's process id, 0 if there is none.
func (p *Product) Launched() int {
	if launcher := p.launcher.Load(); launcher != nil {
		return launcher.Process().PID
	}
	return 0
}

// WaitReady waits until every part reports that it is ready.
func (p *Product) WaitReady(ctx context.Context) error {
	launcher := p.launcher.Load()
	return Wait(ctx, func(ctx context.Context) error {
		if err := launcher.Ended(); err != nil {
			return Permanent(err)
		}
		return p.Ready(ctx)
	})
}

// Ready returns an error unless everything is ready: collector, control plane with its stores, web.
func (p *Product) Ready(ctx context.Context) error {
	for _, url := range []string{
		p.Ports.URL(CollectorHealth) + "/readyz", p.Ports.URL(API) + "/readyz", p.Ports.URL(Web) + "/readyz",
	} {
		answer, err := Do(ctx, http.MethodGet, url, nil, nil)
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK {
			return fmt.Errorf("%s answers %d: %s", url, answer.Status, answer.Body)
		}
	}
	return nil
}

// Down stops the product in order, and returns an error if it does not end by itself. It does nothing if the product
// does not run.
func (p *Product) Down() error {
	launcher := p.launcher.Swap(nil)
	if launcher == nil {
		return nil
	}
	return launcher.Stop(stopTime)
}

// Kill kills the launcher and returns when it has ended.
func (p *Product) Kill() { p.launcher.Load().Kill() }

// Logs returns the end of every log.
func (p *Product) Logs() string {
	var all bytes.Buffer
	files, _ := filepath.Glob(filepath.Join(p.Data, "logs", "*.log")) // the pattern is valid
	for _, file := range append([]string{p.launcherLog()}, files...) {
		fmt.Fprintf(&all, "--- %s\n%s", filepath.Base(file), tail(file))
	}
	return all.String()
}

func (p *Product) launcherLog() string { return filepath.Join(filepath.Dir(p.Data), "launcher.log") }

// tail returns the last lines of a file, or the error.
func tail(path string) string {
	const most = 8 << 10
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error() + "\n"
	}
	if len(raw) > most {
		raw = raw[len(raw)-most:]
	}
	return string(raw)
}
