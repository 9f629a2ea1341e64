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

// unprivilegedName is whom PostgreSQL, which refuses to run as root, runs as when root starts it.
const unprivilegedName = "nobody"

// User is who runs PostgreSQL.
type User struct {
	// Attr holds the credentials to start a process with; it is zero for who we are already. Processes
	// start from an OS thread that was prepared.
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
			return u, letIn(&u.Attr)
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
	return os.Lchown(path, int(u.Attr.Credential.Uid), int(u.Attr.Credential.Gid))
}

// takeOver gives a folder and all in it to the user, where it is another's: a copy that root has made is root's.
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
	// The folder itself comes last: were this interrupted, the next start would go on.
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
