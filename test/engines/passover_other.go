//go:build !linux

package engines

import "syscall"

// passOver does nothing: only Linux lets one capability pass to a child.
func passOver(*syscall.SysProcAttr, string) {}
