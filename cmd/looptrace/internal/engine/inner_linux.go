package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// acceptTime limits how long the engine may take to accept a connection of the front.
const acceptTime = 10 * time.Second

// Prefix lengths of peer addresses. A connection inherits its listener's key for its own peer.
const anyPeer, onePeer = 0, 32

// guard keeps other processes from the engine's port: the kernel drops packets that are not signed with its key (RFC
// 2385). Only the handshake is signed. Nobody else can send on an established connection, and signing its data would
// cost 3 s of processor time per gigabyte.
type guard struct{ key []byte }

// await returns once the engine listens and its port is guarded.
func (p *innerPort) await(ctx context.Context) error {
	var listening int
	err := until(ctx, func() (found bool, err error) {
		listening, found, err = p.findSocket(func(fd int) bool {
			accepts, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
			address, _ := unix.Getsockname(fd)
			return err == nil && accepts == 1 && portOf(address) == p.number
		})
		return found, err
	})
	if err != nil {
		return fmt.Errorf("wait for ClickHouse to listen: %w", err)
	}
	key := []byte(rand.Text())
	err = sign(listening, anyPeer, key)
	if errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EPERM) {
		slog.WarnContext(ctx, "this kernel cannot sign connections (CONFIG_TCP_MD5SIG): any process on this machine that finds ClickHouse's inner port can end ClickHouse", "port", p.number)
		return nil
	}
	if err != nil {
		return fmt.Errorf("guard the port of ClickHouse: %w", err)
	}
	p.guard.key = key
	return nil
}

// dial connects to the engine.
func (p *innerPort) dial(ctx context.Context) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, acceptTime)
	defer cancel()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error { return signConn(raw, p.guard.key) }}
	conn, err := dialer.DialContext(ctx, "tcp", p.addr())
	if err != nil {
		return nil, fmt.Errorf("connect to ClickHouse: %w", err)
	}
	tcp := conn.(*net.TCPConn)
	if p.guard.key == nil {
		return tcp, nil
	}
	if err := p.endSigning(ctx, tcp); err != nil {
		_ = tcp.Close() // nothing was sent
		return nil, err
	}
	return tcp, nil
}

// endSigning ends the signing at both ends, while no data is in flight.
func (p *innerPort) endSigning(ctx context.Context, conn *net.TCPConn) error {
	from := conn.LocalAddr().(*net.TCPAddr).Port
	var accepted int
	err := until(ctx, func() (found bool, err error) {
		accepted, found, err = p.findSocket(func(fd int) bool {
			address, _ := unix.Getsockname(fd)
			peer, _ := unix.Getpeername(fd)
			return portOf(address) == p.number && portOf(peer) == from
		})
		return found, err
	})
	if err != nil {
		return fmt.Errorf("wait for ClickHouse to accept: %w", err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("end signing: %w", err)
	}
	if err := errors.Join(sign(accepted, onePeer, nil), signConn(raw, nil)); err != nil {
		return fmt.Errorf("end signing: %w", err)
	}
	return nil
}

// findSocket finds a socket among the open files of this process, which the engine shares.
func (*innerPort) findSocket(is func(fd int) bool) (fd int, found bool, err error) {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, false, fmt.Errorf("list the open files: %w", err)
	}
	for _, file := range files {
		if fd, err := strconv.Atoi(file.Name()); err == nil && is(fd) {
			return fd, true, nil
		}
	}
	return 0, false, nil
}

func portOf(address unix.Sockaddr) int {
	if address, ok := address.(*unix.SockaddrInet4); ok {
		return address.Port
	}
	return 0
}

func signConn(raw syscall.RawConn, key []byte) error {
	var err error
	return errors.Join(raw.Control(func(fd uintptr) { err = sign(int(fd), onePeer, key) }), err)
}

// sign makes a socket accept only peers that sign with key and whose address matches the first prefix bits of
// 127.0.0.1. Without a key it removes that restriction for the same prefix.
func sign(fd int, prefix uint8, key []byte) error {
	signature := unix.TCPMD5Sig{Flags: unix.TCP_MD5SIG_FLAG_PREFIX, Prefixlen: prefix, Keylen: uint16(len(key))}
	signature.Addr.Family = unix.AF_INET
	copy(signature.Addr.Data[2:], []byte{127, 0, 0, 1}) // after the port
	copy(signature.Key[:], key)
	return os.NewSyscallError("setsockopt", unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG_EXT, &signature))
}
