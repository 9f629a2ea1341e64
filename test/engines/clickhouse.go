package engines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/freeport"
)

const clickhousePassword = "test"

var sharedClickHouse = sync.OnceValues(func() (*Server, error) { return given(clickhouseVariable, startClickHouse) })

// ClickHouse returns the address, clickhouse://host:port/database, of a new database with the newest schema and no rows.
// The database is dropped when the test ends.
func ClickHouse(tb testing.TB) (url string) {
	tb.Helper()
	server, database := newClickHouseDatabase(tb)
	tables, err := clickhouseSchema()
	if err == nil {
		err = execClickHouse(tb.Context(), server.URL(database), tables(database)...)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return server.URL(database)
}

// EmptyClickHouse is ClickHouse without a schema.
func EmptyClickHouse(tb testing.TB) (url string) {
	tb.Helper()
	server, database := newClickHouseDatabase(tb)
	return server.URL(database)
}

// ClickHouseServer starts a ClickHouse for one test, which may stop and start it, and returns it with the name of a
// migrated database on it.
func ClickHouseServer(tb testing.TB) (server *Server, database string) {
	tb.Helper()
	return ownServer(tb, startClickHouse), template
}

func newClickHouseDatabase(tb testing.TB) (server *Server, database string) {
	tb.Helper()
	exec := func(ctx context.Context, url, statement string) error { return execClickHouse(ctx, url, statement) }
	return newDatabase(tb, sharedClickHouse, "default", exec, " ENGINE = Atomic", " SYNC")
}

// clickhouseSchema reads the schema of the template once. The function that it returns gives the statements that make the
// same tables in another database, which takes a fraction of the time of the migrations.
var clickhouseSchema = sync.OnceValues(func() (func(database string) []string, error) {
	server, err := sharedClickHouse()
	if err != nil {
		return nil, err
	}
	conn, err := openClickHouse(server.URL(template))
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the statement's error matters
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var tables []struct {
		Name   string `ch:"name"`
		Create string `ch:"create_table_query"`
	}
	if err := conn.Select(ctx, &tables, "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name"); err != nil {
		return nil, fmt.Errorf("read the schema of ClickHouse: %w", err)
	}
	return func(database string) []string {
		var statements []string
		for _, table := range tables {
			statements = append(statements, strings.ReplaceAll(table.Create, template+".", database+"."))
			if table.Name == "schema_migrations" {
				statements = append(statements, "INSERT INTO schema_migrations SELECT * FROM "+template+".schema_migrations")
			}
		}
		return statements
	}, nil
})

func startClickHouse() (*Server, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	if _, err := installed(root, "@chdb/"+chdbPackage()+"/libchdb.so"); err != nil {
		return nil, err
	}
	// Tests use the same engine as `looptrace up`. The program looks for the engines next to itself.
	program, err := checkout.Build("looptrace")
	if err != nil {
		return nil, err
	}
	addresses, err := freeport.Find(1)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "looptrace-clickhouse-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for ClickHouse: %w", err)
	}
	server := &Server{
		url:    fmt.Sprintf("clickhouse://looptrace:%s@%s/%%s", clickhousePassword, addresses[0]),
		folder: folder,
		engine: engine{
			name: "ClickHouse",
			command: []string{
				program,
				"clickhouse",
				"--data", filepath.Join("{folder}", "data"),
				"--addr", addresses[0],
				// Each test has its own database.
				"--database", "*",
			},
			env:        []string{"CLICKHOUSE_PASSWORD=" + clickhousePassword},
			stopSignal: "KILL",
			// A separate process group, so that Ctrl-C ends the engine through its supervisor, which removes the folder.
			attr: &syscall.SysProcAttr{Setpgid: true},
			ping: func(ctx context.Context, url string) error {
				return execClickHouse(ctx, fmt.Sprintf(url, "default"), "SELECT 1")
			},
		},
	}
	if err := server.start(); err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	if err := migrateClickHouse(program, server.URL(template)); err != nil {
		server.stop()
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return server, nil
}

// migrateClickHouse makes a database with the program's own schema: the tests of internal/clickhouse use this package, so
// it cannot use theirs.
func migrateClickHouse(program, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "migrate")
	cmd.Env = append(os.Environ(), "CLICKHOUSE_URL="+url, "DATABASE_URL=", "KAFKA_BROKERS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate ClickHouse: %w\n%s", err, out)
	}
	return nil
}

// chdbPackage is the npm package with the engine for this platform.
func chdbPackage() string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS == "linux" {
		return "lib-linux-" + arch + "-gnu"
	}
	return "lib-" + runtime.GOOS + "-" + arch
}

func execClickHouse(ctx context.Context, url string, statements ...string) error {
	conn, err := openClickHouse(url)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the statement's error matters
	for _, statement := range statements {
		if err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("run %q: %w", statement, err)
		}
	}
	return nil
}

func openClickHouse(url string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(url)
	if err != nil {
		return nil, fmt.Errorf("parse the ClickHouse address: %w", err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	return conn, nil
}
