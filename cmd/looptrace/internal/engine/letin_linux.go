package engine

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// letIn gives the process to start the weakest capability that we hold for entering closed folders.
func letIn(attr *syscall.SysProcAttr) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	if err := unix.Capget(&header, &held[0]); err != nil {
		return fmt.Errorf("read the own capabilities: %w", err)
	}
	for _, capability := range []uintptr{unix.CAP_DAC_READ_SEARCH, unix.CAP_DAC_OVERRIDE} {
		if held[0].Permitted&(1<<capability) != 0 {
			attr.AmbientCaps = []uintptr{capability}
			return nil
		}
	}
	return errors.New("PostgreSQL cannot run as root, and another user cannot enter the folders here: " +
		"run looptrace as an ordinary user, or place the checkout and the data (--data) in folders that are open to all")
}

// keepCapabilities is SECBIT_NO_SETUID_FIXUP: a change of user takes no capability away, and access(2), by
// which PostgreSQL looks for its parts, counts them.
const keepCapabilities = 1 << 2

// prepareThread lets processes that start from this OS thread keep the capability that they are given. The
// thread must be locked to its goroutine for good.
func (u User) prepareThread() error {
	if len(u.Attr.AmbientCaps) == 0 {
		return nil
	}
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("read the own secure bits: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, uintptr(bits|keepCapabilities), 0, 0, 0); err != nil {
		return fmt.Errorf("let PostgreSQL into closed folders: %w", err)
	}
	return nil
}
