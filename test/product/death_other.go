//go:build !linux

package product

import "syscall"

// endWithParent does nothing: only Linux can signal a child when its parent dies.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
