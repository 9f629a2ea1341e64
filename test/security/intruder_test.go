package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/looptrace/looptrace/test/product"
)

// intruderVariable has the plan of a process that the test runs as a different user.
const intruderVariable = "SECURITY_INTRUDER"

// plan is what the intruder knows.
type plan struct {
	Data                       string
	PIDs                       map[string]int
	ClickHouse, Broker, Hidden string
	Postgres                   int
}

// testOtherUser tries what an ordinary user of the system can do, as nobody.
func testOtherUser(t *testing.T, p *product.Product) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	require.NoError(t, err)
	// For root, PostgreSQL runs as nobody here. Otherwise one ordinary user runs the whole product, and the intruder is
	// a different one.
	stranger := uint32(uid) - 1

	known := plan{Data: p.Data, PIDs: pids(t, p), ClickHouse: p.Ports.Addr(product.ClickHouse), Broker: p.Ports.Addr(product.Broker), Postgres: product.Postgres + p.Ports.Offset}
	listeners, err := product.Process{PID: known.PIDs[product.ClickHouseProcess]}.Listeners()
	require.NoError(t, err)
	for _, address := range listeners {
		if address != known.ClickHouse {
			known.Hidden = address
		}
	}
	text, err := json.Marshal(known)
	require.NoError(t, err)

	// The folders of tests and of go test's builds are closed to others.
	folder, err := os.MkdirTemp("", "looptrace-intruder-") //nolint:usetesting // those are closed to others
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	require.NoError(t, os.Chmod(folder, 0o755))
	program := filepath.Join(folder, "intruder")
	output, err := exec.CommandContext(t.Context(), "cp", os.Args[0], program).CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoError(t, os.Chmod(program, 0o755))
	// Only the data folder's own mode must keep them out.
	for dir := filepath.Dir(p.Data); dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(dir, info.Mode().Perm()|0o005))
	}

	command := exec.CommandContext(t.Context(), program)
	command.Env = []string{intruderVariable + "=" + string(text)}
	command.Dir = folder
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	output, err = command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	var reached []string
	require.NoError(t, json.Unmarshal(output, &reached), "%s", output)
	assert.Empty(t, reached)
}

// intrude tries everything and prints what it reached.
func intrude(text string) error {
	var known plan
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reached := []string{}
	try := func(what string, err error) {
		if err == nil {
			reached = append(reached, what)
		}
	}
	for _, name := range []string{"session-secret", "postgres-password", "clickhouse-password", "queue-password", "clickhouse/users.xml", "logs/collector.log", "lock"} {
		_, err := os.ReadFile(filepath.Join(known.Data, name))
		try("the file "+name, err)
	}
	for name, pid := range known.PIDs {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		try("the environment of "+name, err)
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return err
		}
		if regexp.MustCompile(`[0-9a-f]{64}`).Match(line) {
			reached = append(reached, "a secret in the command line of "+name)
		}
	}
	for _, login := range []clickhouse.Auth{{}, {Username: "default"}, {Username: "looptrace"}, {Username: "looptrace", Password: "looptrace"}} {
		conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{known.ClickHouse}, Auth: login})
		if err != nil {
			return err
		}
		err = conn.Ping(ctx)
		var exception *clickhouse.Exception
		if err != nil && !errors.As(err, &exception) {
			return fmt.Errorf("ask ClickHouse: %w", err)
		}
		try("ClickHouse as "+strconv.Quote(login.Username), err)
		_ = conn.Close() // nothing is pending
	}
	hidden, err := net.DialTimeout("tcp", known.Hidden, 2*time.Second)
	try("ClickHouse's inner port", err)
	if err == nil {
		_ = hidden.Close() // nothing is pending
	}
	for _, login := range []string{"looptrace", "postgres", "nobody"} {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s:wrong@127.0.0.1:%d/postgres?sslmode=disable", login, known.Postgres))
		try("PostgreSQL as "+login, err)
		if err == nil {
			_ = conn.Close(ctx) // nothing is pending
		}
	}
	for what, options := range map[string][]kgo.Opt{
		"no login": nil,
		"a guess":  {kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism())}, // kfake's default
	} {
		client, err := kgo.NewClient(append(options, kgo.SeedBrokers(known.Broker), kgo.RequestRetries(0), kgo.RetryTimeout(time.Second))...)
		if err != nil {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, 3*time.Second)
		try("the queue with "+what, client.Ping(asking))
		cancel()
		client.Close()
	}
	return json.NewEncoder(os.Stdout).Encode(reached)
}
