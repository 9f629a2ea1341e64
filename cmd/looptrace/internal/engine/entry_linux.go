package engine

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// allowEntry gives the process to start the weakest of our capabilities that lets it enter closed folders.
func allowEntry(attr *syscall.SysProcAttr) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	if err := unix.Capget(&header, &held[0]); err != nil {
		return fmt.Errorf("read our own capabilities: %w", err)
	}
	for _, capability := range []uintptr{unix.CAP_DAC_READ_SEARCH, unix.CAP_DAC_OVERRIDE} {
		if held[0].Permitted&(1<<capability) != 0 {
			attr.AmbientCaps = []uintptr{capability}
			return nil
		}
	}
	return errors.New("PostgreSQL cannot run as root, and another user cannot enter the folders here: " +
		"run looptrace as an ordinary user, or put the checkout and the data (--data) into folders that every user can enter")
}

// keepCapabilities is SECBIT_NO_SETUID_FIXUP: a change of user keeps capabilities, and access(2), with which
// PostgreSQL finds its parts, respects them.
const keepCapabilities = 1 << 2

// prepareThread lets processes that start from this OS thread keep their capability. The thread must stay locked to
// its goroutine.
func (u User) prepareThread() error {
	if len(u.Attr.AmbientCaps) == 0 {
		return nil
	}
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("read our own secure bits: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, uintptr(bits|keepCapabilities), 0, 0, 0); err != nil {
		return fmt.Errorf("let PostgreSQL enter closed folders: %w", err)
	}
	return nil
}
