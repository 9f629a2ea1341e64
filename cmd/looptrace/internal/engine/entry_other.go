//go:build !linux

package engine

import "syscall"

// allowEntry does nothing: only Linux has capabilities.
func allowEntry(*syscall.SysProcAttr) error { return nil }

func (User) prepareThread() error { return nil }
