// Package programs installs test programs in other languages, with their locked packages, in _build and runs them.
package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/checkout"
)

// Node copies scripts with their package.json and lock file to a folder of that name, installs, and returns the
// folder.
func Node(t *testing.T, name string, source fs.FS) string {
	t.Helper()
	dir := installed(t, name)
	defer hold(t, dir)()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	files, err := fs.Glob(source, "*")
	require.NoError(t, err)
	for _, file := range files {
		if file == "node_modules" {
			continue
		}
		content, err := fs.ReadFile(source, file)
		require.NoError(t, err)
		path := filepath.Join(dir, file)
		// Another test binary may be running it.
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
			continue
		}
		require.NoError(t, os.WriteFile(path, content, 0o644))
	}
	once(t, filepath.Join(dir, "package-lock.json"), filepath.Join(dir, "node_modules"), func() {
		run := Command(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
		run.Dir = dir
		Output(t, run)
	})
	return dir
}

// Python creates a virtual environment with the packages of a requirements file and returns its interpreter.
func Python(t *testing.T, name, requirements string) string {
	t.Helper()
	dir := installed(t, name)
	defer hold(t, dir)()
	interpreter := filepath.Join(dir, "bin", "python")
	once(t, requirements, dir, func() {
		Output(t, Command(t.Context(), "python3", "-m", "venv", "--clear", dir))
		Output(t, Command(t.Context(), interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--requirement", requirements))
	})
	return interpreter
}

// Java fetches the packages of a folder's pom.xml, compiles its sources, and returns the class path.
func Java(t *testing.T, name, source string) string {
	t.Helper()
	dir := installed(t, name)
	defer hold(t, dir)()
	packages, classes, pom := filepath.Join(dir, "packages"), filepath.Join(dir, "classes"), filepath.Join(source, "pom.xml")
	once(t, pom, packages, func() {
		require.NoError(t, os.RemoveAll(packages))
		Output(t, Command(t.Context(), "mvn", "--quiet", "--batch-mode", "--file", pom,
			"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+packages))
	})
	sources, err := filepath.Glob(filepath.Join(source, "*.java"))
	require.NoError(t, err)
	classPath := filepath.Join(packages, "*")
	Output(t, Command(t.Context(), "javac", append([]string{"-cp", classPath, "-d", classes}, sources...)...))
	return classPath + string(filepath.ListSeparator) + classes
}

// Rust builds the package of a folder with its locked dependencies and returns the folder of its programs.
func Rust(t *testing.T, name, source string) string {
	t.Helper()
	dir := installed(t, name)
	Output(t, Command(t.Context(), "cargo", "build", "--quiet", "--locked", "--manifest-path", filepath.Join(source, "Cargo.toml"), "--target-dir", dir))
	return filepath.Join(dir, "debug")
}

// Command returns a program that ends with ctx and uses no proxy for this machine.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost")
	return cmd
}

// Output runs the program and returns its standard output.
func Output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	output, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it unwrapped
			stderr = exit.Stderr
		}
		require.NoError(t, err, "%s\n%s%s", cmd, output, stderr)
	}
	return output
}

// installed is the folder of the programs of that name. make clean removes it.
func installed(t *testing.T, name string) string {
	t.Helper()
	root, err := checkout.Root()
	require.NoError(t, err)
	return filepath.Join(root, "_build", "test-"+name)
}

// hold keeps other test binaries from installing into the folder until the returned function is called.
func hold(t *testing.T, dir string) (unlock func()) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	file, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	return func() { _ = file.Close() } // which unlocks it
}

// once installs into target unless the packages of the lock file are installed.
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
