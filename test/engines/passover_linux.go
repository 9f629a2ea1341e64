package engines

import (
	"os"
	"path/filepath"
	"syscall"
)

// capDACOverride is CAP_DAC_OVERRIDE of capabilities(7).
const capDACOverride = 1

// passOver lets the unprivileged child reach the programs in bin where a folder
// above them is closed to it, as root's home usually is. The capability takes
// effect with the child's exec and so not for that exec itself: what the child
// runs first must be open to all, such as /bin/sh.
func passOver(attr *syscall.SysProcAttr, bin string) {
	for folder := bin; ; folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&0o001 == 0 {
			attr.AmbientCaps = []uintptr{capDACOverride}
			return
		}
		if folder == filepath.Dir(folder) {
			return
		}
	}
}
