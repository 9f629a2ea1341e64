package broker

import (
	"fmt"
	"syscall"
)

// smallDisk is the size of a disk that is soon full.
const smallDisk = 32 << 20

// mountSmall puts a small disk over a folder, which takes root.
func mountSmall(dir string) error {
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprint("size=", smallDisk))
}

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
