package engine

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// postgresUser is the superuser, and appUser the product's role.
	postgresUser, appUser = "looptrace", "looptrace_app"
	// orphanTime limits the wait for a PostgreSQL that an earlier launcher has left running.
	orphanTime = 5 * time.Second
)

// Postgres is a PostgreSQL server in separate processes.
type Postgres struct {
	// Home is the folder of its bin, lib and share.
	Home string
	// DataDir holds the databases. It is created completely or not at all.
	DataDir string
	// Port is the loopback port.
	Port int
	// Password is the password of the superuser. That of the product's role is derived from it.
	Password string
	// User is the operating system's user for the server.
	User User
}

// URL returns the address of the product's database, for a role that owns it and is no superuser.
func (p Postgres) URL() string {
	mac := hmac.New(sha256.New, []byte(p.Password))
	_, _ = mac.Write([]byte(appUser)) // a hash.Hash never returns an error
	return p.url(appUser, hex.EncodeToString(mac.Sum(nil)), Database)
}

// AdminURL returns an address for the superuser, who makes the database and the role of URL.
func (p Postgres) AdminURL() string { return p.url(postgresUser, p.Password, "postgres") }

func (p Postgres) url(user, password, database string) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", user, password, p.Port, database)
}

// Command returns the executable and arguments of the server, sized for a laptop. Acknowledged transactions survive a
// power cut (fsync stays on).
func (p Postgres) Command() (path string, args []string) {
	path = filepath.Join(p.Home, "bin", "postgres")
	args = []string{path, "-D", p.DataDir}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(p.Port),
		"unix_socket_directories=",
		"max_connections=50",
		"shared_buffers=32MB",
		"maintenance_work_mem=32MB",
		"max_wal_size=256MB",
		"wal_level=minimal",
		"max_wal_senders=0",
		"io_method=sync", // no processes for reading ahead
		"max_parallel_workers=2",
		"autovacuum_max_workers=1",
		"jit=off",
		"timezone=UTC",
		"log_timezone=UTC",
		"log_min_messages=warning",
	} {
		args = append(args, "-c", setting)
	}
	return path, args
}

// Prepare creates the databases at the first start and removes what a killed server has left. The server must then be
// started from the same OS thread, which must stay locked to its goroutine.
func (p Postgres) Prepare(ctx context.Context) error {
	if err := p.User.prepareThread(); err != nil {
		return err
	}
	if err := p.link(); err != nil {
		return err
	}
	if _, err := os.Stat(p.DataDir); errors.Is(err, fs.ErrNotExist) {
		return p.initialise(ctx)
	}
	if err := p.User.takeOver(p.DataDir); err != nil {
		return fmt.Errorf("give PostgreSQL its data folder: %w", err)
	}
	return p.clearStale(ctx)
}

// link creates the symbolic links between libraries, which npm packages cannot contain. The package's own install
// script would create them.
func (p Postgres) link() error {
	raw, err := os.ReadFile(filepath.Join(p.Home, "pg-symlinks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the list of PostgreSQL's libraries: %w", err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(raw, &links); err != nil {
		return fmt.Errorf("read the list of PostgreSQL's libraries: %w", err)
	}
	for _, link := range links {
		// Both paths are relative to the package, the parent of Home.
		target := filepath.Join(filepath.Dir(p.Home), link.Target)
		source, err := filepath.Rel(filepath.Dir(link.Target), link.Source)
		if err != nil {
			return fmt.Errorf("link a library of PostgreSQL: %w", err)
		}
		if err := os.Symlink(source, target); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("link a library of PostgreSQL: %w", err)
		}
	}
	return nil
}

// initialise creates the databases in a temporary folder and renames it when it is complete, so that a killed start
// leaves nothing that looks like data.
func (p Postgres) initialise(ctx context.Context) error {
	unfinished, password := p.DataDir+".new", p.DataDir+".password"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove PostgreSQL's unfinished data folder: %w", err)
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return fmt.Errorf("create PostgreSQL's data folder: %w", err)
	}
	if err := os.WriteFile(password, []byte(p.Password+"\n"), 0o600); err != nil {
		return fmt.Errorf("give PostgreSQL its password: %w", err)
	}
	defer func() { _ = os.Remove(password) }() // nobody else can read it
	if err := errors.Join(own(unfinished, p.User.creator), own(password, p.User.creator)); err != nil {
		return fmt.Errorf("give PostgreSQL its data folder: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.Home, "bin", "initdb"), //nolint:gosec // our own engine and folders
		"-D", unfinished, "-U", postgresUser, "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions")
	cmd.Env = PostgresEnv()
	attr := p.User.Attr
	attr.Credential = p.User.creator
	cmd.SysProcAttr = &attr
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("create the PostgreSQL databases: %w: %s", err, bytes.TrimSpace(output))
	}
	if err := p.User.takeOver(unfinished); err != nil {
		return fmt.Errorf("give PostgreSQL its data folder: %w", err)
	}
	if err := os.Rename(unfinished, p.DataDir); err != nil {
		return fmt.Errorf("rename PostgreSQL's data folder: %w", err)
	}
	return nil
}

// PostgresEnv is the environment of PostgreSQL. Its variables (PGDATA, PGPORT, …) would change its behaviour.
func PostgresEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// clearStale removes what a killed server has left. The launcher's lock guarantees that nobody else runs this data
// folder, so processes that still use it are orphans, and a new server would refuse to start until they end. An
// unrelated program with the killed server's process id must not block the start.
func (p Postgres) clearStale(ctx context.Context) error {
	deadline, cancel := context.WithTimeout(ctx, orphanTime)
	defer cancel()
	for orphans := p.orphans(); len(orphans) > 0; orphans = p.orphans() {
		for _, pid := range orphans {
			_ = syscall.Kill(pid, syscall.SIGQUIT) // immediate shutdown; it may have ended meanwhile
		}
		select {
		case <-deadline.Done():
			return fmt.Errorf("end the remaining processes %v of a killed PostgreSQL: %w", orphans, deadline.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	lock := p.lockFile()
	raw, err := os.ReadFile(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read PostgreSQL's lock file: %w", err)
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 0 || !exists(pid) {
		return nil // PostgreSQL handles this itself
	}
	if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove PostgreSQL's stale lock file: %w", err)
	}
	return nil
}

// orphans finds the processes of PostgreSQL that use the data folder, on systems with /proc.
func (p Postgres) orphans() []int {
	var found []int
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, folder := range folders {
		cwd, err := os.Readlink(filepath.Join(folder, "cwd"))
		if err != nil || cwd != p.DataDir {
			continue
		}
		exe, err := os.Readlink(filepath.Join(folder, "exe"))
		pid, notNumber := strconv.Atoi(filepath.Base(folder))
		if err == nil && notNumber == nil && strings.HasPrefix(filepath.Base(exe), "postgres") {
			found = append(found, pid)
		}
	}
	return found
}

func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// errStarting means that the server does not accept connections yet.
var errStarting = errors.New("PostgreSQL is starting")

// Ready reports whether the server accepts connections. It first reads the server's state from its lock file, because
// an early connection is logged as an error.
func (p Postgres) Ready(ctx context.Context) error {
	const pidLine, stateLine = 0, 7
	raw, err := os.ReadFile(p.lockFile())
	if err != nil {
		return fmt.Errorf("read PostgreSQL's state: %w", err)
	}
	lines := strings.Split(string(raw), "\n")
	if len(lines) <= stateLine || strings.TrimSpace(lines[stateLine]) != "ready" {
		return errStarting
	}
	if pid, err := strconv.Atoi(lines[pidLine]); err != nil || !exists(pid) {
		return errStarting // a killed server has left the file
	}
	conn, err := pgx.Connect(ctx, p.AdminURL())
	if err != nil {
		return fmt.Errorf("ask PostgreSQL: %w", err)
	}
	return conn.Close(ctx)
}

func (p Postgres) lockFile() string { return filepath.Join(p.DataDir, "postmaster.pid") }
