// Package freeport finds ports for servers that cannot use port 0: because their address must be known in advance,
// they have several ports, or they return on the same one. A port found by listening on port 0 and closing it may be
// taken by anyone before it is used: by the next listener on port 0 or by an outgoing connection. The ports of this
// package are used by neither, and are reserved for the process until it ends.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Lowest and Highest limit the ports: below those that systems use for outgoing connections and port 0.
const (
	Lowest  = 10000
	Highest = 32000
)

const attempts = 1000

// Take returns addresses of this machine that are reserved for the test binary.
func Take(tb testing.TB, count int) []string {
	tb.Helper()
	addresses, err := Find(count)
	if err != nil {
		tb.Fatal(err)
	}
	return addresses
}

// Find is Take for ports that do not belong to a single test.
func Find(count int) ([]string, error) {
	var addresses []string
	for range attempts {
		port := Lowest + rand.IntN(Highest-Lowest)
		held, err := Hold(port)
		if err != nil {
			return nil, err
		}
		if held {
			addresses = append(addresses, address(port))
		}
		if len(addresses) == count {
			return addresses, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports: too few in %d attempts", count, attempts)
}

// Hold reserves all of the ports, for as long as the process lives, or none.
func Hold(ports ...int) (bool, error) {
	folder := filepath.Join(os.TempDir(), "looptrace-test-ports")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return false, fmt.Errorf("make the folder of locks: %w", err)
	}
	var locks []int
	release := func() {
		for _, lock := range locks {
			_ = syscall.Close(lock) // unlocks it
		}
	}
	for _, port := range ports {
		// A descriptor, because an unreferenced os.File is closed.
		lock, err := syscall.Open(filepath.Join(folder, strconv.Itoa(port)), syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o666)
		if err != nil {
			release()
			return false, fmt.Errorf("open the lock of port %d: %w", port, err)
		}
		locks = append(locks, lock)
		err = syscall.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && !free(port) {
			release()
			return false, nil
		}
		if err != nil {
			release()
			return false, fmt.Errorf("lock port %d: %w", port, err)
		}
	}
	return true, nil
}

func free(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	_ = listener.Close() // nothing was received
	return true
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
