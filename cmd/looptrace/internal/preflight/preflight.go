// Package preflight finds what would prevent the product from running on this machine. Each problem is one line that
// says what to do.
package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
)

// MinFree is the free disk space needed for a start, in bytes.
const MinFree = 512 << 20

// Folder creates the data folder and checks that it is writable.
func Folder(dir string) error {
	const remedy = "; name another one with --data or LOOPTRACE_DATA"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data folder %s cannot be created: %w%s", dir, cause(err), remedy)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w%s", dir, cause(err), remedy)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Space checks the free disk space of the folder, or of its nearest existing parent.
func Space(dir string) error {
	var stat syscall.Statfs_t
	for {
		err := syscall.Statfs(dir, &stat)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return fmt.Errorf("the disk of %s cannot be measured: %w", dir, err)
		}
		dir = filepath.Dir(dir)
	}
	free := int64(stat.Bavail) * int64(stat.Bsize) //nolint:unconvert // types differ between systems
	if free < MinFree {
		return fmt.Errorf("the disk of %s has %d MiB left, %d MiB are needed; free some space or name another folder with --data",
			dir, free>>20, MinFree>>20)
	}
	return nil
}

// Port checks that a port is free.
func Port(p layout.Port) error {
	listener, err := net.Listen("tcp", p.Addr()) //nolint:noctx // closed at once
	if err == nil {
		return listener.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d, needed for %s, is in use by another program; end that or shift all ports, e.g. --port-offset 1000", p.Number, p.Use)
	}
	return fmt.Errorf("port %d, needed for %s, cannot be opened: %w; shift all ports with --port-offset", p.Number, p.Use, cause(err))
}

// Engines checks that the engines are installed.
func Engines(tree layout.Tree) error {
	err := engine.Folder(tree.Engines()).Check()
	if errors.Is(err, engine.ErrUnsupported) {
		return err
	}
	if err != nil {
		return fmt.Errorf("the engines are not in %s; run `make build`, which installs them with `npm ci`", tree.Engines())
	}
	return nil
}

// Parts checks that the product's own parts are built.
func Parts(tree layout.Tree) error {
	var missing []string
	for _, path := range []string{
		tree.Collector(), tree.ControlPlane(), tree.CollectorConfig(), filepath.Join(tree.UI(), "index.html"),
	} {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not built: %s; run `make build`", strings.Join(missing, ", "))
	}
	return nil
}

// cause removes the operation and the path, which the message has already.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
