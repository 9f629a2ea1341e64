//go:build !linux

package product

import "syscall"

// endWithParent cannot do so: only Linux tells a child of its parent's death.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
