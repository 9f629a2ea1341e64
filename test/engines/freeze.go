package engines

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Freeze halts the engine (SIGSTOP) until Thaw or the end of the test: the kernel still accepts connections, but
// nothing answers.
func (s *Server) Freeze(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("which processes an engine has is read from /proc")
	}
	tb.Cleanup(func() { s.Thaw(tb) })
	s.signal(tb, syscall.SIGSTOP)
}

// Thaw continues a frozen engine.
func (s *Server) Thaw(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

// signal signals the engine and all its descendants, parents first: a halted process starts no children.
func (s *Server) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil {
		return
	}
	text, err := os.ReadFile(filepath.Join(s.folder, enginePID))
	if err != nil {
		tb.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		tb.Fatal(err)
	}
	for family := []int{pid}; len(family) > 0; family = family[1:] {
		err := syscall.Kill(family[0], sig)
		if errors.Is(err, syscall.ESRCH) && family[0] != pid { // a worker of PostgreSQL that ended
			continue
		}
		if err != nil {
			tb.Fatalf("signal process %d of %s: %v", family[0], s.engine.name, err)
		}
		children, err := childrenOf(family[0])
		if err != nil {
			tb.Fatal(err)
		}
		family = append(family, children...)
	}
}

func childrenOf(parent int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var children []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid …". The name may contain any character.
		var (
			pid, of int
			state   string
		)
		after := bytes.LastIndexByte(text, ')') + 1
		if _, err := fmt.Sscan(string(text[:bytes.IndexByte(text, ' ')]), &pid); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if _, err := fmt.Sscan(string(text[after:]), &state, &of); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if of == parent {
			children = append(children, pid)
		}
	}
	return children, nil
}
