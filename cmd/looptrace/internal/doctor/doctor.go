// Package doctor examines a machine and says how to fix each problem.
package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/credentials"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/preflight"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/readiness"
)

// askTime limits a request to a part of a running instance.
const askTime = 5 * time.Second

// Options say what to examine.
type Options struct {
	Tree    layout.Tree
	DataDir string
	Ports   layout.Ports
}

// finding is one line of the table.
type finding struct {
	subject string
	err     error
	detail  string
}

// Examine prints its findings as a table and reports whether there are no problems. It asks the parts of a running
// instance for their readiness.
func Examine(ctx context.Context, out io.Writer, o Options) (healthy bool, err error) {
	healthy = true
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range examine(ctx, o) {
		state, detail := "ok", f.detail
		if f.err != nil {
			healthy, state, detail = false, "problem", strings.ReplaceAll(f.err.Error(), "\n", "; ")
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.subject, state, detail) // Flush reports
	}
	if err := table.Flush(); err != nil {
		return false, fmt.Errorf("print the findings: %w", err)
	}
	return healthy, nil
}

func examine(ctx context.Context, o Options) []finding {
	pid, running := preflight.Running(o.DataDir)
	findings := []finding{
		{subject: "system", detail: system()},
		dataFolder(o.DataDir),
		{subject: "credentials", err: credentials.Check(o.DataDir), detail: "only the owner of the data folder can read them"},
		{subject: "disk", err: preflight.Space(o.DataDir), detail: fmt.Sprintf("more than %d MiB free", preflight.MinFree>>20)},
		{subject: "engines", err: preflight.Engines(o.Tree), detail: engines(o.Tree)},
		{subject: "built parts", err: preflight.Parts(o.Tree), detail: filepath.Join(o.Tree.Root, "_build")},
	}
	if running {
		// A running instance uses its own ports.
		return append(append(findings, finding{subject: "instance", detail: "running, process " + pid}), work(ctx, o.Ports)...)
	}
	findings = append(findings, finding{subject: "instance", detail: "not running"})
	for _, port := range o.Ports.All() {
		findings = append(findings, finding{
			subject: fmt.Sprintf("port %d", port.Number), err: preflight.Port(port), detail: "free for " + port.Use,
		})
	}
	return findings
}

// work asks the parts of a running instance for their readiness.
func work(ctx context.Context, ports layout.Ports) []finding {
	var findings []finding
	for _, part := range readiness.Parts(ports) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		degraded, err := part.Ask(ctx)
		cancel()
		findings = append(findings, finding{subject: part.Name, err: err, detail: strings.Join(append([]string{"ready"}, degraded...), "; ")})
	}
	return findings
}

// dataFolder does not create the folder: an examination changes nothing.
func dataFolder(dir string) finding {
	f := finding{subject: "data folder", detail: dir}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		f.detail += ", created at the first start"
		return f
	}
	f.err = preflight.Folder(dir)
	return f
}

// system describes what the engines depend on.
func system() string {
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		parts = append(parts, "kernel "+strings.TrimSpace(string(release)))
	}
	if libc, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output(); err == nil { //nolint:noctx // answers at once
		parts = append(parts, strings.TrimSpace(string(libc)))
	}
	return strings.Join(append(parts, runtime.Version()), ", ")
}

func engines(tree layout.Tree) string {
	path := filepath.Join(engine.Folder(tree.Engines()).Postgres(), "bin", "postgres")
	version, err := exec.Command(path, "--version").Output() //nolint:gosec,noctx // our own engine, answers at once
	if err != nil {
		return tree.Engines()
	}
	return "ClickHouse, " + string(bytes.TrimSpace(version))
}
