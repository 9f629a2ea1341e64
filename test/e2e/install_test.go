package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// buildDir is where what the tests install lies; make clean removes it.
func buildDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "_build", name))
	require.NoError(t, err)
	return dir
}

// installNode brings a folder of scripts with its locked packages to _build and returns the place.
func installNode(t *testing.T, source string) string {
	t.Helper()
	dir := buildDir(t, "e2e-"+source)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	files, err := filepath.Glob(filepath.Join(source, "*"))
	require.NoError(t, err)
	for _, file := range append(files, filepath.Join(source, ".npmrc")) {
		if filepath.Base(file) == "node_modules" {
			continue
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o644))
	}
	once(t, filepath.Join(dir, "package-lock.json"), filepath.Join(dir, "node_modules"), func() {
		run := command(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
		run.Dir = dir
		mustRun(t, run)
	})
	return dir
}

// installPython makes a virtual environment with the packages of requirements.txt and returns its interpreter.
func installPython(t *testing.T) string {
	t.Helper()
	dir := buildDir(t, "e2e-venv")
	interpreter := filepath.Join(dir, "bin", "python")
	requirements := filepath.Join("python", "requirements.txt")
	once(t, requirements, dir, func() {
		mustRun(t, command(t.Context(), "python3", "-m", "venv", "--clear", dir))
		mustRun(t, command(t.Context(), interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--requirement", requirements))
	})
	return interpreter
}

// once installs into target unless what the lock file names is there already.
func once(t *testing.T, lock, target string, install func()) {
	t.Helper()
	content, err := os.ReadFile(lock)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(target, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return
	}
	install()
	require.NoError(t, os.WriteFile(stamp, []byte(want), 0o644))
}

// command is a program that ends with ctx and asks no proxy for this machine.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost")
	return cmd
}

// mustRun runs the program and returns what it wrote to its standard output.
func mustRun(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	output, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
			stderr = exit.Stderr
		}
		require.NoError(t, err, "%s\n%s%s", cmd, output, stderr)
	}
	return output
}
