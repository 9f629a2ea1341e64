package engine

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// unprivilegedName is whom PostgreSQL, which refuses to run as root, runs as when root starts it.
const unprivilegedName = "nobody"

// User is who runs PostgreSQL.
type User struct {
	// Attr holds the credentials to start a process with; it is zero for who we are already.
	Attr syscall.SysProcAttr
}

// Unprivileged returns who may run PostgreSQL: ourselves, or when we are root an ordinary user, who is
// then let into the folders that he has to reach.
func Unprivileged(folders ...string) (User, error) {
	if os.Geteuid() != 0 {
		return User{}, nil
	}
	account, err := user.Lookup(unprivilegedName)
	if err != nil {
		return User{}, fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return User{}, fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return User{}, fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	u := User{Attr: syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}}
	for _, folder := range folders {
		if !open(folder) {
			letIn(&u.Attr)
			break
		}
	}
	return u, nil
}

// open tells whether everybody may enter the folder and those above it; root's home, for one, is closed.
func open(folder string) bool {
	for {
		info, err := os.Stat(folder)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		above := filepath.Dir(folder)
		if above == folder {
			return true
		}
		folder = above
	}
}

// own makes the file or folder the user's.
func (u User) own(path string) error {
	if u.Attr.Credential == nil {
		return nil
	}
	return os.Lchown(path, int(u.Attr.Credential.Uid), int(u.Attr.Credential.Gid)) //nolint:wrapcheck // os errors name operation and path
}

// Executable returns how the user can start this program, and the files to pass along from descriptor 3 on,
// which the caller closes. Between dropping root and the start of the program a process has no capability,
// so a program in a closed folder is started through an open file.
func (u User) Executable(path string) (string, []*os.File, error) {
	if len(u.Attr.AmbientCaps) == 0 {
		return path, nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return "/proc/self/fd/3", []*os.File{file}, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // opened for reading
	}
}
