package engine_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/freeport"
	"github.com/looptrace/looptrace/test/product"
)

const (
	unknownDatabase      = 81
	accessDenied         = 497
	authenticationFailed = 516
)

func code(t *testing.T, err error) int32 {
	t.Helper()
	var exception *ch.Exception
	require.ErrorAs(t, err, &exception)
	return exception.Code
}

func TestClickHouseKnowsOneUserWhoHasOneDatabase(t *testing.T) {
	t.Parallel()
	needEngines(t)
	addr := freeport.Take(t, 1)[0]
	startClickHouse(t, filepath.Join(t.TempDir(), "clickhouse"), addr)
	conn := openClickHouse(t, addr)

	for name, login := range map[string]ch.Auth{
		"a wrong password":       {Username: "looptrace", Password: "wrong"},
		"no password":            {Username: "looptrace"},
		"default":                {Username: "default"},
		"nobody":                 {Username: "somebody", Password: "correct horse"},
		"another server's login": {Username: " INTERSERVER SECRET "},
	} {
		t.Run(name, func(t *testing.T) {
			stranger, err := ch.Open(&ch.Options{Addr: []string{addr}, Auth: login})
			require.NoError(t, err)
			defer stranger.Close()
			assert.EqualValues(t, authenticationFailed, code(t, stranger.Ping(t.Context())))
		})
	}

	absent, err := ch.Open(&ch.Options{Addr: []string{addr}, Auth: ch.Auth{Username: "looptrace", Password: "correct horse", Database: "absent"}})
	require.NoError(t, err)
	defer absent.Close()
	assert.EqualValues(t, unknownDatabase, code(t, absent.Ping(t.Context())))

	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (id UInt64) ENGINE = MergeTree ORDER BY id"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t VALUES (1)"))
	for _, statement := range []string{
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"INSERT INTO FUNCTION file('/tmp/looptrace-written', 'CSV', 'a String') VALUES ('a')",
		"SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString', 'a String')",
		"SELECT * FROM remote('" + addr + "', system, one)",
		"SELECT * FROM s3('http://127.0.0.1:1/bucket/key', 'CSV', 'a String')",
		"SYSTEM SHUTDOWN",
		"SYSTEM KILL",
		"SYSTEM STOP LISTEN TCP",
		"CREATE DATABASE other",
		"CREATE USER other",
		"CREATE FUNCTION other AS x -> x",
	} {
		err := conn.Exec(t.Context(), statement)
		require.Error(t, err, statement)
		assert.EqualValues(t, accessDenied, code(t, err), "%s: %v", statement, err)
	}
	require.NoError(t, conn.Ping(t.Context()))
}

// garbage opens a connection with bytes that no ClickHouse client sends, each of which could end the engine.
var garbage = map[string]string{
	"zeroes and ones":   "\x00\x01garbage",
	"TLS":               "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	"HTTP":              "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"a long text":       "\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
	"nothing":           "",
	"half a hello":      "\x00\x02py\x18",
	"another packet":    "\x02\x02py\x18\x01\x01\x01a\x01b\x01c",
	"stranger, garbage": "\x00\x02py\x18\x01\xae\xa9\x03\x00\x04evil\x00" + strings.Repeat("\xff", 1000),
	"login, garbage":    "\x00\x02py\x18\x01\xae\xa9\x03\x00\x09looptrace\x05wrong" + strings.Repeat("\xff", 1000),
}

func TestClickHouseOutlivesGarbage(t *testing.T) {
	t.Parallel()
	needEngines(t)
	addr := freeport.Take(t, 1)[0]
	process := startClickHouse(t, filepath.Join(t.TempDir(), "clickhouse"), addr)
	conn := openClickHouse(t, addr)
	listeners, err := product.Process{PID: process.Process.Pid}.Listeners()
	require.NoError(t, err)
	assert.Len(t, listeners, 2, "the front, and the engine behind it")
	assert.Contains(t, listeners, addr)

	t.Run("connections", func(t *testing.T) {
		for _, listener := range listeners {
			for name, bytes := range garbage {
				for _, reset := range []bool{false, true} {
					t.Run(fmt.Sprint(listener, " ", name, " ", reset), func(t *testing.T) {
						t.Parallel()
						if listener == addr {
							assertRefused(t, listener, name, bytes, reset)
						} else {
							assertHidden(t, listener)
						}
					})
				}
			}
		}
	})
	require.NoError(t, conn.Ping(t.Context()))
	require.NoError(t, process.Process.Signal(syscall.Signal(0)), "the same process")
}

// Too many clients end the engine. The front refuses them with an error.
func TestClickHouseOutlivesManyClients(t *testing.T) {
	t.Parallel()
	needEngines(t)
	addr := freeport.Take(t, 1)[0]
	process := startClickHouse(t, filepath.Join(t.TempDir(), "clickhouse"), addr)
	openClickHouse(t, addr)
	const tooManyQueries, many = 202, 400
	let, refused := 0, 0
	for range many {
		opts, err := ch.ParseDSN(server(addr).URL())
		require.NoError(t, err)
		opts.MaxOpenConns = 1
		client, err := ch.Open(opts)
		require.NoError(t, err)
		defer client.Close()
		if err := client.Ping(t.Context()); err == nil {
			let++
		} else {
			require.EqualValues(t, tooManyQueries, code(t, err))
			refused++
		}
	}
	assert.Greater(t, let, 200)
	assert.Equal(t, many-let, refused)
	require.NoError(t, process.Process.Signal(syscall.Signal(0)), "the same process")
}

// assertRefused sends the bytes and checks that it receives only a refusal.
func assertRefused(t *testing.T, addr, name, bytes string, reset bool) {
	t.Helper()
	client, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer client.Close()
	_, err = io.WriteString(client, bytes)
	require.NoError(t, err, name)
	if reset {
		require.NoError(t, client.(*net.TCPConn).SetLinger(0))
		return
	}
	require.NoError(t, client.(*net.TCPConn).CloseWrite())
	require.NoError(t, client.SetReadDeadline(time.Now().Add(waitFor)))
	answer, err := io.ReadAll(client)
	if !errors.Is(err, syscall.ECONNRESET) { // the rest was not read
		require.NoError(t, err, name)
	}
	if len(answer) > 0 {
		assert.Contains(t, string(answer), "Authentication failed", name)
	}
}

// assertHidden checks that the kernel accepts no connection there: it drops unsigned packets.
func assertHidden(t *testing.T, addr string) {
	t.Helper()
	client, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err == nil {
		_ = client.Close()
	}
	var failed net.Error
	if assert.ErrorAs(t, err, &failed) {
		assert.True(t, failed.Timeout(), "%v", err)
	}
}
