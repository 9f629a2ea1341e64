package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/programs"
)

// TestLauncherRefusals checks that each error at start is one clear line and exit code 1.
func TestLauncherRefusals(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, p *product.Product) (words []string){
		"taken port": func(t *testing.T, p *product.Product) []string {
			t.Helper()
			listener, err := net.Listen("tcp", p.Ports.Addr(product.API))
			require.NoError(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			_, port, _ := net.SplitHostPort(p.Ports.Addr(product.API))
			return []string{"port " + port, "the API", "in use"}
		},
		"read-only folder": func(t *testing.T, p *product.Product) []string {
			t.Helper()
			p.Data = filepath.Join(mount(t, "ro,size=1m"), "data")
			return []string{p.Data, "read-only", "--data"}
		},
		"full disk": func(t *testing.T, p *product.Product) []string {
			t.Helper()
			p.Data = filepath.Join(mount(t, "size=64m"), "data")
			return []string{p.Data, "MiB left", "free some space"}
		},
		"missing engine": func(t *testing.T, p *product.Product) []string {
			t.Helper()
			p.Root = withoutEngines(t, p.Root)
			return []string{filepath.Join(p.Root, "_build", "engines"), "make build"}
		},
		"short secret": func(t *testing.T, p *product.Product) []string {
			t.Helper()
			p.Env = append(p.Env, "SESSION_SECRET=0123456789abcdef")
			return []string{"SESSION_SECRET", "64 hex digits"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := product.New(t.TempDir())
			require.NoError(t, err)
			words := prepare(t, p)
			var output bytes.Buffer
			cmd := programs.Command(t.Context(), filepath.Join(p.Root, "_build", "looptrace"), "up", "--data", p.Data, "--port-offset", fmt.Sprint(p.Ports.Offset))
			cmd.Env = append(cmd.Env, p.Env...)
			cmd.Stdout, cmd.Stderr = &output, &output
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Run(), &exit, "it exits with an error: %s", &output)
			assert.Equal(t, 1, exit.ExitCode())
			lines := strings.Split(strings.TrimSpace(output.String()), "\n")
			assert.Len(t, lines, 1, "one line: %s", &output)
			for _, word := range words {
				assert.Contains(t, lines[0], word)
			}
			t.Log(lines[0])
		})
	}
}

// mount mounts a file system in memory, whose limits apply to root too.
func mount(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount the file system that this test needs")
	}
	dir := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system: %s", output)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// withoutEngines creates a checkout with every built part except the engines.
func withoutEngines(t *testing.T, root string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "_build"), 0o755))
	for _, part := range []string{"_build/looptrace-collector", "_build/looptrace-controlplane", "otelcol-config.yaml", "ui"} {
		require.NoError(t, os.Symlink(filepath.Join(root, part), filepath.Join(dir, part)))
	}
	// A separate process copies the binary. This process would leak its open file to children of parallel tests, and an
	// open file cannot be executed.
	output, err := exec.CommandContext(t.Context(), "cp", filepath.Join(root, "_build", "looptrace"), filepath.Join(dir, "_build")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return dir
}
