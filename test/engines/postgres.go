package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/freeport"
)

var sharedPostgres = sync.OnceValues(func() (*Server, error) { return given(postgresVariable, startPostgres) })

// Postgres returns the address of a new database with the newest schema and no rows. The database is dropped when the
// test ends.
func Postgres(tb testing.TB) (url string) {
	tb.Helper()
	return newPostgresDatabase(tb, template)
}

// EmptyPostgres is Postgres without a schema.
func EmptyPostgres(tb testing.TB) (url string) {
	tb.Helper()
	return newPostgresDatabase(tb, "template0")
}

// PostgresServer starts a PostgreSQL for one test, which may stop and start it, and returns it with the name of a
// migrated database on it.
func PostgresServer(tb testing.TB) (server *Server, database string) {
	tb.Helper()
	return ownServer(tb, startPostgres), template
}

func newPostgresDatabase(tb testing.TB, source string) string {
	tb.Helper()
	// Without fsync, copying files takes a third of the time of writing the copy to the log.
	server, database := newDatabase(tb, sharedPostgres, "postgres", execPostgres, " TEMPLATE "+source+" STRATEGY FILE_COPY", " WITH (FORCE)")
	return server.URL(database)
}

func startPostgres() (*Server, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	bin, err := installPostgres(root)
	if err != nil {
		return nil, err
	}
	addresses, err := freeport.Find(1)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return nil, fmt.Errorf("read a port: %w", err)
	}
	folder, err := os.MkdirTemp("", "looptrace-postgres-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	server, err := startPostgresIn(folder, bin, port)
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return server, nil
}

func startPostgresIn(folder, bin, port string) (*Server, error) {
	attr, err := unprivileged(folder)
	if err != nil {
		return nil, err
	}
	if attr.Credential != nil && !openToAll(bin) {
		if bin, err = moveIn(folder, bin, attr.Credential); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	data := filepath.Join(folder, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"),
		"--pgdata", data, "--username", "looptrace", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync")
	initdb.Dir = folder
	initdb.SysProcAttr = attr
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a PostgreSQL cluster: %w\n%s", err, out)
	}
	server := &Server{
		url:    fmt.Sprintf("postgres://looptrace@127.0.0.1:%s/%%s?sslmode=disable", port),
		folder: folder,
		engine: engine{
			name: "PostgreSQL",
			command: []string{
				filepath.Join(bin, "postgres"),
				"-D", filepath.Join("{folder}", "data"),
				"-p", port,
				"-c", "listen_addresses=127.0.0.1",
				"-c", "unix_socket_directories=",
				"-c", "max_connections=600",
				// Only a power cut could lose data without fsync. A commit must still reach the log before its answer, so
				// Stop loses none.
				"-c", "fsync=off", "-c", "full_page_writes=off",
			},
			// Immediate shutdown: connections are closed without notice, and the next start recovers from the log, like
			// after a crash. SIGKILL would orphan the backends.
			stopSignal: "QUIT",
			attr:       attr,
			ping: func(ctx context.Context, url string) error {
				return execPostgres(ctx, fmt.Sprintf(url, "postgres"), "SELECT 1")
			},
		},
	}
	if err := server.start(); err != nil {
		return nil, err
	}
	if err := makeTemplate(ctx, server); err != nil {
		server.stop()
		return nil, err
	}
	return server, nil
}

func makeTemplate(ctx context.Context, server *Server) error {
	if err := execPostgres(ctx, server.URL("postgres"), "CREATE DATABASE "+template); err != nil {
		return err
	}
	return postgres.Migrate(ctx, server.URL(template))
}

// installPostgres returns the folder of PostgreSQL's programs. npm packages cannot contain symbolic links and their
// scripts are disabled, so the links are created here from the package's list.
func installPostgres(root string) (string, error) {
	list, err := installed(root, "@embedded-postgres/"+postgresPackage()+"/native/pg-symlinks.json")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return "", fmt.Errorf("read PostgreSQL's links: %w", err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return "", fmt.Errorf("read PostgreSQL's links: %w", err)
	}
	native := filepath.Dir(list)
	for _, link := range links {
		target := filepath.Join(filepath.Dir(native), link.Target)
		source, err := filepath.Rel(filepath.Dir(target), filepath.Join(filepath.Dir(native), link.Source))
		if err != nil {
			return "", fmt.Errorf("make PostgreSQL's links: %w", err)
		}
		if err := os.Symlink(source, target); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make PostgreSQL's links: %w", err)
		}
	}
	return filepath.Join(native, "bin"), nil
}

// postgresPackage is the npm package with PostgreSQL for this platform.
func postgresPackage() string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return runtime.GOOS + "-" + arch
}

// unprivileged runs PostgreSQL, which refuses to run as root, as nobody if this process is root, and gives it the
// folder.
func unprivileged(folder string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("find an unprivileged user for PostgreSQL: %w", err)
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		return nil, fmt.Errorf("find an unprivileged user for PostgreSQL: %w", err)
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		return nil, fmt.Errorf("find an unprivileged user for PostgreSQL: %w", err)
	}
	if err := os.Chown(folder, uid, gid); err != nil {
		return nil, fmt.Errorf("give PostgreSQL its folder: %w", err)
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}

// openToAll reports whether every user may enter the folder. Root's home is usually closed.
func openToAll(folder string) bool {
	for {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return true
		}
		folder = parent
	}
}

// moveIn copies the programs into the folder and gives them to the user, who removes them with it.
func moveIn(folder, bin string, to *syscall.Credential) (string, error) {
	native := filepath.Join(folder, "native")
	if err := os.CopyFS(native, os.DirFS(filepath.Dir(bin))); err != nil {
		return "", fmt.Errorf("copy PostgreSQL to where its user can read it: %w", err)
	}
	err := filepath.WalkDir(native, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(to.Uid), int(to.Gid))
	})
	if err != nil {
		return "", fmt.Errorf("give PostgreSQL's programs to its user: %w", err)
	}
	return filepath.Join(native, "bin"), nil
}

func execPostgres(ctx context.Context, url, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // the statement's error matters
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("run %q: %w", statement, err)
	}
	return nil
}
