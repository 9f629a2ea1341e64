package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	// creatorName is the user that creates PostgreSQL's folder for root, as which it refuses to run. That needs an account.
	creatorName = "nobody"
	// The server runs as a user without an account, whose processes nobody but root may signal or trace. Systems give these numbers to nobody.
	firstUID, lastUID = 60787, 60987
)

// User is the operating system's user that runs PostgreSQL.
type User struct {
	// Attr holds the credentials for starting a process, zero for our own user. Processes must start from an OS thread
	// prepared by prepareThread.
	Attr syscall.SysProcAttr
	// creator is who creates the data folder, nil for our own user.
	creator *syscall.Credential
}

// Unprivileged returns the user that may run PostgreSQL: our own, or for root one that runs nothing else, who gets access to the given
// folders. The last one is that of the data.
func Unprivileged(folders ...string) (User, error) {
	if os.Geteuid() != 0 {
		return User{}, nil
	}
	account, err := user.Lookup(creatorName)
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
	creator := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	own, err := ownCredential(folders[len(folders)-1], creator)
	if err != nil {
		return User{}, err
	}
	u := User{Attr: syscall.SysProcAttr{Credential: own}, creator: creator}
	for _, folder := range folders {
		if !open(folder) {
			return u, allowEntry(&u.Attr)
		}
	}
	return u, nil
}

// ownCredential returns a user that runs nothing else, or the other one where this machine has none: a container may map few users.
func ownCredential(folder string, other *syscall.Credential) (*syscall.Credential, error) {
	probe, err := os.CreateTemp(folder, ".owner-")
	if err != nil {
		return nil, fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	defer func() { _ = errors.Join(probe.Close(), os.Remove(probe.Name())) }() // it is empty
	for uid := firstUID; uid <= lastUID; uid++ {
		if _, err := user.LookupId(strconv.Itoa(uid)); !errors.As(err, new(user.UnknownUserIdError)) {
			continue
		}
		if err := os.Chown(probe.Name(), uid, uid); err != nil {
			return other, nil
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, nil
	}
	return other, nil
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

// own makes a user the owner of a file or folder.
func own(path string, by *syscall.Credential) error {
	if by == nil {
		return nil
	}
	return os.Lchown(path, int(by.Uid), int(by.Gid))
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
		return own(path, u.Attr.Credential)
	})
	if err != nil {
		return err
	}
	return own(folder, u.Attr.Credential)
}
