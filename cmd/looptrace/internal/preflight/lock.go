package preflight

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Lock is the exclusive right to run a data folder. The kernel releases it when the process ends, however it ends.
type Lock struct {
	file *os.File
	// Unclean is true if the previous holder did not call Release.
	Unclean bool
}

// Acquire locks the data folder. The error names the process that holds the lock.
func Acquire(dir string) (*Lock, error) {
	file, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be locked: %w", dir, cause(err))
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = file.Close() }() // the lock is not ours
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("looptrace is already running with the data folder %s (process %s); stop it first or name another folder with --data",
				dir, holder(file))
		}
		return nil, fmt.Errorf("the data folder %s cannot be locked: %w", dir, err)
	}
	lock := &Lock{file: file, Unclean: holder(file) != unknown}
	if err := lock.write(strconv.Itoa(os.Getpid())); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the data folder %s cannot be locked: %w", dir, cause(err))
	}
	return lock, nil
}

// Release releases the lock and records a clean end.
func (l *Lock) Release() error {
	return errors.Join(l.write(""), l.file.Close())
}

func (l *Lock) write(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

// Running returns the id of the process that runs the data folder, if any.
func Running(dir string) (pid string, running bool) {
	file, err := os.Open(lockPath(dir))
	if err != nil {
		return "", false
	}
	defer func() { _ = file.Close() }() // opened for reading
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return "", false // closing the file releases the lock
	}
	return holder(file), true
}

const unknown = "unknown"

func holder(file io.ReaderAt) string {
	raw := make([]byte, 20)
	n, _ := file.ReadAt(raw, 0) // the file is shorter than 20 bytes
	if pid := strings.TrimSpace(string(raw[:n])); pid != "" {
		return pid
	}
	return unknown
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }
