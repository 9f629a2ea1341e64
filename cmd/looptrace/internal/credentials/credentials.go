// Package credentials keeps the secrets of an instance on one machine: the passwords of its stores, and the secret
// that signs its sessions. Each is a file in the data folder that only its owner can read.
package credentials

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// secretBytes is the length of a secret. Its file has it in hexadecimal.
const secretBytes = 32

// Names of the files.
const (
	sessionSecret      = "session-secret"
	postgresPassword   = "postgres-password"
	clickhousePassword = "clickhouse-password"
	queuePassword      = "queue-password"
)

// Credentials are the secrets of an instance.
type Credentials struct {
	SessionSecret string
	// Postgres, ClickHouse and Queue are passwords.
	Postgres, ClickHouse, Queue string
}

// credential is a secret and the name of its file.
type credential struct {
	file  string
	value *string
}

func (c *Credentials) all() []credential {
	return []credential{
		{sessionSecret, &c.SessionSecret},
		{postgresPassword, &c.Postgres},
		{clickhousePassword, &c.ClickHouse},
		{queuePassword, &c.Queue},
	}
}

// Read reads the credentials of the data folder at dir. Its error has a line for each invalid file, or says what to
// do if there are none.
func Read(dir string) (Credentials, error) {
	var c Credentials
	if err := Check(dir); err != nil {
		return c, err
	}
	for _, one := range c.all() {
		var err error
		if *one.value, err = read(dir, one.file); err != nil {
			return Credentials{}, fmt.Errorf("%s has no credentials yet: start it with looptrace up, or name another folder with --data or LOOPTRACE_DATA: %w", dir, err)
		}
	}
	return c, nil
}

// Open reads the credentials and creates those that are missing.
func Open(dir string) (Credentials, error) {
	var c Credentials
	for _, one := range c.all() {
		var err error
		*one.value, err = read(dir, one.file)
		if errors.Is(err, fs.ErrNotExist) {
			*one.value, err = create(dir, one.file)
		}
		if err != nil {
			return Credentials{}, err
		}
	}
	return c, nil
}

// Check returns the problems of the credentials in a data folder, a line each. Credentials that the next start
// creates are no problem.
func Check(dir string) error {
	var problems []error
	for _, one := range new(Credentials).all() {
		if _, err := read(dir, one.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	// Each start passes the others to their stores. PostgreSQL stores its password when its folder is created.
	_, absent := os.Lstat(filepath.Join(dir, postgresPassword))
	if _, err := os.Lstat(filepath.Join(dir, "postgres")); err == nil && errors.Is(absent, fs.ErrNotExist) {
		problems = append(problems, fmt.Errorf("%s is missing, and PostgreSQL's data cannot be read without it: restore the file from the backup of the folder",
			filepath.Join(dir, postgresPassword)))
	}
	return errors.Join(problems...)
}

func read(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("read a credential: %w", err)
	}
	stat, isUnix := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not an ordinary file: move it away and restore the file from the backup of the folder", path)
	case isUnix && os.Geteuid() != 0 && int(stat.Uid) != os.Geteuid():
		return "", fmt.Errorf("%s belongs to another user: run looptrace as that user, or change the owner of the folder with: sudo chown -R $USER '%s'", path, dir)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s can be read by other users of this machine: chmod 600 '%s'", path, path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read a credential: %w", err)
	}
	text := strings.TrimSpace(string(raw))
	if secret, err := hex.DecodeString(text); err != nil || len(secret) != secretBytes {
		return "", fmt.Errorf("%s is damaged, it must have %d hexadecimal digits: restore it from the backup of the folder", path, 2*secretBytes)
	}
	return text, nil
}

// create creates a secret. The file is renamed when it is completely on the disk, so that a killed start leaves no
// part of it.
func create(dir, name string) (string, error) {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails
	text := hex.EncodeToString(random)
	path := filepath.Join(dir, name)
	if err := writeSynced(path+".new", text+"\n"); err != nil {
		return "", fmt.Errorf("store a credential: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("store a credential: %w", err)
	}
	return text, nil
}

func writeSynced(path, text string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(text); err != nil {
		return err
	}
	return file.Sync()
}
