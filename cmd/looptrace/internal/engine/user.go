package engine

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// unprivilegedName is the user that runs PostgreSQL for root, as which it refuses to run.
const unprivilegedName = "nobody"

// User is the operating system's user that runs PostgreSQL.
type User struct {
	// Attr holds the credentials for starting a process, zero for our own user. Processes must start from an OS thread
	// prepared by prepareThread.
	Attr syscall.SysProcAttr
}

// Unprivileged returns the user that may run PostgreSQL: our own, or for root an ordinary user, who gets access to
// the given folders.
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
			return u, allowEntry(&u.Attr)
		}
	}
	return u, nil
}

// open reports whether everybody may enter the folder and its parents. Root's home, for one, is closed.
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

// own makes the user the owner of a file or folder.
func (u User) own(path string) error {
	if u.Attr.Credential == nil {
		return nil
	}
	return os.Lchown(path, int(u.Attr.Credential.Uid), int(u.Attr.Credential.Gid))
}

// takeOver makes the user the owner of a folder and its content, for example of a copy that root has made.
func (u User) takeOver(folder string) error {
	if u.Attr.Credential == nil {
		return nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid == u.Attr.Credential.Uid {
		return nil
	}
	// The folder itself is last, so that an interrupted call is repeated at the next start.
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		return u.own(path)
	})
	if err != nil {
		return err
	}
	return u.own(folder)
}
