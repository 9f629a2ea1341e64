package engine

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	loopback = "127.0.0.1"
	// innerTick is the interval of polling the engine.
	innerTick = 2 * time.Millisecond
)

// innerPort is the port between front and engine. It stays bound from the start, so that no other process gets it
// before the engine: both sockets use SO_REUSEPORT, and this one does not listen.
type innerPort struct {
	number int
	bound  *os.File
	guard  guard
}

func reserveInnerPort() (*innerPort, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket for ClickHouse: %w", err)
	}
	syscall.CloseOnExec(fd)
	p := &innerPort{bound: os.NewFile(uintptr(fd), "port of ClickHouse")}
	if err := p.bind(fd); err != nil {
		p.close()
		return nil, fmt.Errorf("find a port for ClickHouse: %w", err)
	}
	return p, nil
}

func (p *innerPort) bind(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.number = address.(*syscall.SockaddrInet4).Port
	return nil
}

func (p *innerPort) addr() string { return net.JoinHostPort(loopback, strconv.Itoa(p.number)) }

func (p *innerPort) close() { _ = p.bound.Close() } // nothing was written

// until calls ask until it returns true.
func until(ctx context.Context, ask func() (bool, error)) error {
	tick := time.NewTicker(innerTick)
	defer tick.Stop()
	for {
		if done, err := ask(); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
