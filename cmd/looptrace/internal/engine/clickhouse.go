package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ClickHouse is a ClickHouse server in this process.
type ClickHouse struct {
	// Library is the path of libchdb.so.
	Library string
	// DataDir holds the databases.
	DataDir string
	// TCPAddr and HTTPAddr are where the server listens; both on this machine alone.
	TCPAddr, HTTPAddr string
	// MaxMemory bounds what the server allocates, in bytes.
	MaxMemory uint64
}

// keepFree is the free space on the disk, in bytes, below which nothing is inserted or merged. On a disk without any
// left, a part was seen to become active whose marks had not been written, and which could not be read.
const keepFree = 256 << 20

// settings keep a server small that shares a laptop with everything else: few background threads, small
// caches. It has no system log tables, since none are configured.
const settings = `<clickhouse>
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

// The last statement keeps the server up.
const statements = "CREATE DATABASE IF NOT EXISTS looptrace ENGINE = Atomic;" +
	"SYSTEM START LISTEN TCP;SYSTEM START LISTEN HTTP;" +
	"SELECT sleepEachRow(3) FROM numbers(1000000000) SETTINGS max_block_size = 1, " +
	"function_sleep_max_microseconds_per_block = 0 FORMAT Null"

// Serve runs the server until ctx ends. The engine cannot be started twice in one process, and it lives on
// until the process ends: the caller must end it. That is an orderly end, since the engine has no queue of
// inserts (an asynchronous one is written at once) and no acknowledged insert is only in memory; to unwind
// the engine instead crashes now and then.
func (c ClickHouse) Serve(ctx context.Context) error {
	front, err := newFront(ctx, c.TCPAddr)
	if err != nil {
		return err
	}
	defer front.close()
	args, err := c.arguments(front.engine)
	if err != nil {
		return err
	}
	go front.serve(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(c.Library, args) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// arguments are the engine's, which listens for the native protocol at tcpAddr.
func (c ClickHouse) arguments(tcpAddr string) ([]string, error) {
	_, tcp, err := net.SplitHostPort(tcpAddr)
	if err != nil {
		return nil, fmt.Errorf("read the TCP address: %w", err)
	}
	host, http, err := net.SplitHostPort(c.HTTPAddr)
	if err != nil {
		return nil, fmt.Errorf("read the HTTP address: %w", err)
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	config := filepath.Join(c.DataDir, "server.xml")
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, c.MaxMemory, keepFree), 0o600); err != nil {
		return nil, fmt.Errorf("write the settings: %w", err)
	}
	return []string{
		"clickhouse",
		"--config-file=" + config,
		"--path=" + c.DataDir,
		"--listen_host=" + host,
		"--tcp_port=" + tcp,
		"--http_port=" + http,
		"--query=" + statements,
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
