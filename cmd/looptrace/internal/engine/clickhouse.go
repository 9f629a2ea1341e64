package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ClickHouse is a ClickHouse server in this process. It speaks the native protocol only: a web page can send HTTP to
// any address of the machine that its reader sits at.
type ClickHouse struct {
	// Library is the path of libchdb.so.
	Library string
	// DataDir holds the databases.
	DataDir string
	// Addr is where the server listens, on this machine alone.
	Addr string
	// Password is that of the one user, looptrace.
	Password string
	// Database is made, and is the only one that this user may use. With "*" none is made, and all may be used; a client
	// that names an absent one then ends the server.
	Database string
	// MaxMemory bounds what the server allocates, in bytes.
	MaxMemory uint64
}

// keepFree is the free space on the disk, in bytes, below which nothing is inserted or merged. On a disk without any
// left, a part was seen to become active whose marks had not been written, and which could not be read.
const keepFree = 256 << 20

// settings keep a server small that shares a laptop with everything else: few background threads, small
// caches. It has no system log tables, since none are configured. The users are in a file beside it: a path may have
// what XML reads as its own.
const settings = `<clickhouse>
  <users_config>users.xml</users_config>
  <listen_reuse_port>1</listen_reuse_port>
  <max_server_memory_usage>%d</max_server_memory_usage>
  <mark_cache_size>67108864</mark_cache_size>
  <index_mark_cache_size>16777216</index_mark_cache_size>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <index_uncompressed_cache_size>0</index_uncompressed_cache_size>
  <mmap_cache_size>0</mmap_cache_size>
  <compiled_expression_cache_size>16777216</compiled_expression_cache_size>
  <max_connections>256</max_connections>
  <background_pool_size>2</background_pool_size>
  <background_merges_mutations_concurrency_ratio>2</background_merges_mutations_concurrency_ratio>
  <background_move_pool_size>1</background_move_pool_size>
  <background_fetches_pool_size>1</background_fetches_pool_size>
  <background_common_pool_size>2</background_common_pool_size>
  <background_schedule_pool_size>4</background_schedule_pool_size>
  <background_buffer_flush_schedule_pool_size>1</background_buffer_flush_schedule_pool_size>
  <background_message_broker_schedule_pool_size>1</background_message_broker_schedule_pool_size>
  <background_distributed_schedule_pool_size>1</background_distributed_schedule_pool_size>
  <asynchronous_metrics_update_period_s>30</asynchronous_metrics_update_period_s>
  <asynchronous_heavy_metrics_update_period_s>600</asynchronous_heavy_metrics_update_period_s>
  <storage_configuration>
    <disks><default><keep_free_space_bytes>%d</keep_free_space_bytes></default></disks>
  </storage_configuration>
  <merge_tree>
    <number_of_free_entries_in_pool_to_execute_mutation>1</number_of_free_entries_in_pool_to_execute_mutation>
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>1</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
    <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>1</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>
</clickhouse>
`

// users are default, which the engine runs its own statements as and which nobody can log in as, and looptrace. What
// looptrace is not granted it cannot do: read files and addresses, stop the server, see other databases.
const users = `<clickhouse>
  <profiles><default></default></profiles>
  <quotas><default></default></quotas>
  <users>
    <default>
      <no_password/>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT CREATE DATABASE ON *.*</query>
        <query>GRANT TABLE ENGINE ON Atomic</query>
        <query>GRANT SYSTEM LISTEN ON *.*</query>
        <query>GRANT SELECT ON system.numbers</query>
        <query>GRANT CREATE TEMPORARY TABLE ON *.*</query>
      </grants>
    </default>
    <looptrace>
      <password_sha256_hex>%x</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT ALL ON %s.*</query>
        <query>GRANT SELECT ON system.*</query>
        <query>GRANT TABLE ENGINE ON *</query>
      </grants>
    </looptrace>
  </users>
</clickhouse>
`

// Database is the database of the product.
const Database = "looptrace"

// allDatabases stands for them in a grant.
const allDatabases = "*"

// clickhouseUser is the name of the one user.
const clickhouseUser = "looptrace"

// statements start the server; the last of them keeps it up.
const statements = "SYSTEM START LISTEN TCP;" +
	"SELECT sleepEachRow(3) FROM numbers(1000000000) SETTINGS max_block_size = 1, " +
	"function_sleep_max_microseconds_per_block = 0 FORMAT Null"

// URL is the address of the database.
func (c ClickHouse) URL() string {
	address := url.URL{Scheme: "clickhouse", User: url.UserPassword(clickhouseUser, c.Password), Host: c.Addr, Path: c.Database}
	return address.String()
}

// Serve runs the server until ctx ends. The engine cannot be started twice in one process, and it lives on
// until the process ends: the caller must end it. That is an orderly end, since the engine has no queue of
// inserts (an asynchronous one is written at once) and no acknowledged insert is only in memory; to unwind
// the engine instead crashes now and then.
func (c ClickHouse) Serve(ctx context.Context) error {
	if c.Password == "" {
		return errors.New("ClickHouse needs a password")
	}
	front, err := newFront(ctx, c.Addr, c.Password, c.Database)
	if err != nil {
		return err
	}
	defer front.close()
	args, err := c.arguments(front.port())
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- run(c.Library, args) }()
	go func() { ended <- front.serve(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (c ClickHouse) arguments(port int) ([]string, error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	config, usersConfig := filepath.Join(c.DataDir, "server.xml"), filepath.Join(c.DataDir, "users.xml")
	if err := os.WriteFile(usersConfig, fmt.Appendf(nil, users, sha256.Sum256([]byte(c.Password)), c.Database), 0o600); err != nil {
		return nil, fmt.Errorf("write the users: %w", err)
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, c.MaxMemory, keepFree), 0o600); err != nil {
		return nil, fmt.Errorf("write the settings: %w", err)
	}
	query := statements
	if c.Database != allDatabases {
		query = "CREATE DATABASE IF NOT EXISTS " + c.Database + " ENGINE = Atomic;" + query
	}
	return []string{
		"clickhouse",
		"--config-file=" + config,
		"--path=" + c.DataDir,
		"--listen_host=" + loopback,
		"--tcp_port=" + strconv.Itoa(port),
		"--query=" + query,
	}, nil
}

// run loads the library and returns when the engine has ended.
func run(library string, args []string) error {
	runtime.LockOSThread() // the engine keeps state in its thread
	if err := setUTC(); err != nil {
		return err
	}
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("load ClickHouse: %w", err)
	}
	argv := make([]*byte, len(args)+1) // C wants a null at the end
	for i, arg := range args {
		argv[i] = unsafe.SliceData(append([]byte(arg), 0)) //nolint:gosec // what C calls a string
	}
	var cmdline func(argc int32, argv **byte) unsafe.Pointer
	purego.RegisterLibFunc(&cmdline, handle, "chdb_query_cmdline")
	cmdline(int32(len(args)), &argv[0])
	runtime.KeepAlive(argv)
	return errors.New("ClickHouse ended by itself")
}

// setUTC makes UTC the server's time zone. The engine reads it from the C environment, which Go's Setenv
// does not reach.
func setUTC() error {
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return fmt.Errorf("set the time zone: %w", err)
	}
	var call func(name, value string, overwrite int32) int32
	purego.RegisterFunc(&call, setenv)
	if call("TZ", "UTC", 1) != 0 {
		return errors.New("set the time zone: setenv refused")
	}
	return nil
}
