// Package checkout finds the checkout of the tests, and builds its programs.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Root is the folder of the go.mod above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the checkout: no go.mod above the working directory")
		}
	}
}

// Build makes a program as `make` does, unless it is up to date, and returns its path: name is looptrace,
// looptrace-collector or looptrace-controlplane. Test binaries that run at once build one after the other.
func Build(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(root, "_build"), 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	lock, err := os.OpenFile(filepath.Join(root, "_build", "test.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	defer lock.Close() //nolint:errcheck // closing is unlocking
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", "--silent", filepath.Join("_build", name))
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // not those of the make that runs the tests
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return filepath.Join(root, "_build", name), nil
}
