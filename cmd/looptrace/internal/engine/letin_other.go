//go:build !linux

package engine

import "syscall"

// letIn does nothing: only Linux has capabilities.
func letIn(*syscall.SysProcAttr) error { return nil }

func (User) prepareThread() error { return nil }
