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

// ClickHouse is a ClickHouse server in this process. It speaks the native protocol only, because a web page can send
// HTTP to any address of its reader's machine.
type ClickHouse struct {
	// Library is the path of libchdb.so.
	Library string
	// DataDir holds the databases.
	DataDir string
	// Addr is the address to listen on, on this machine only.
	Addr string
	// Password is the password of the only user, looptrace.
	Password string
	// Database is created, and is the only one that this user may use. With "*" none is created and all may be used.
	// Then a client that names an unknown database ends the server.
	Database string
	// MaxMemory limits the server's memory, in bytes.
	MaxMemory uint64
}

// keepFree is the free disk space, in bytes, below which nothing is inserted or merged. On a full disk ClickHouse has
// activated a part without its marks, which could not be read.
const keepFree = 256 << 20

// settings keep the server small, because it shares a laptop with other programs: few background threads, small
// caches, no system log tables. The users are in a separate file: a path may contain XML syntax.
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

// users are default, which the engine runs its own statements as and which cannot log in, and looptrace. Without
// grants looptrace cannot read files and addresses, stop the server, or see other databases.
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

// allDatabases stands for all databases in a grant.
const allDatabases = "*"

// clickhouseUser is the name of the only user.
const clickhouseUser = "looptrace"

// statements start the server. The last of them blocks.
const statements = "SYSTEM START LISTEN TCP;" +
	"SELECT sleepEachRow(3) FROM numbers(1000000000) SETTINGS max_block_size = 1, " +
	"function_sleep_max_microseconds_per_block = 0 FORMAT Null"

// URL returns the address of the database.
func (c ClickHouse) URL() string {
	address := url.URL{Scheme: "clickhouse", User: url.UserPassword(clickhouseUser, c.Password), Host: c.Addr, Path: c.Database}
	return address.String()
}

// Serve runs the server until ctx ends. The engine cannot be started twice in one process and runs until the process
// ends: the caller must end it. That is safe, because acknowledged inserts are on the disk and asynchronous ones are
// written at once. Unwinding the engine instead crashes now and then.
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
		return nil, fmt.Errorf("create the data folder: %w", err)
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
	argv := make([]*byte, len(args)+1) // C expects a null pointer at the end
	for i, arg := range args {
		argv[i] = unsafe.SliceData(append([]byte(arg), 0)) //nolint:gosec // a C string
	}
	var cmdline func(argc int32, argv **byte) unsafe.Pointer
	purego.RegisterLibFunc(&cmdline, handle, "chdb_query_cmdline")
	cmdline(int32(len(args)), &argv[0])
	runtime.KeepAlive(argv)
	return errors.New("ClickHouse ended by itself")
}

// setUTC makes UTC the server's time zone. The engine reads it from the C environment, which Go's Setenv does not
// change.
func setUTC() error {
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return fmt.Errorf("set the time zone: %w", err)
	}
	var call func(name, value string, overwrite int32) int32
	purego.RegisterFunc(&call, setenv)
	if call("TZ", "UTC", 1) != 0 {
		return errors.New("set the time zone: setenv failed")
	}
	return nil
}
