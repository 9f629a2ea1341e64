package broker

import (
	"fmt"
	"syscall"
)

// smallDisk is the size of a disk that fills quickly.
const smallDisk = 32 << 20

// mountSmall mounts a small disk at a folder, which needs root.
func mountSmall(dir string) error {
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprint("size=", smallDisk))
}

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
