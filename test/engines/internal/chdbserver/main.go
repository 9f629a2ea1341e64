// Command chdbserver serves ClickHouse's native and HTTP protocols from libchdb, for tests.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

func main() {
	library := flag.String("library", "", "path of libchdb.so")
	data := flag.String("data", "", "folder that keeps the data")
	tcpPort := flag.Int("tcp-port", 0, "port of the native protocol on 127.0.0.1")
	httpPort := flag.Int("http-port", 0, "port of the HTTP protocol on 127.0.0.1")
	flag.Parse()

	if err := serve(*library, *data, *tcpPort, *httpPort); err != nil {
		fmt.Fprintln(os.Stderr, "chdbserver:", err)
		os.Exit(1)
	}
}

// serve runs clickhouse-local in this process with its listeners on. The last
// query never ends, and the engine serves for as long as it runs: serve
// returns only when the engine could not start.
func serve(library, data string, tcpPort, httpPort int) error {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("open libchdb: %w", err)
	}
	var queryCmdline func(argc int, argv **byte) uintptr
	purego.RegisterLibFunc(&queryCmdline, lib, "chdb_query_cmdline")

	query := strings.Join([]string{
		"SYSTEM START LISTEN TCP",
		"SYSTEM START LISTEN HTTP",
		"SELECT sleepEachRow(3) FROM numbers(100000000) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT Null",
	}, "; ")
	args := []string{
		"clickhouse",
		"--path=" + data,
		"--listen_host=127.0.0.1",
		fmt.Sprintf("--tcp_port=%d", tcpPort),
		fmt.Sprintf("--http_port=%d", httpPort),
		"--query=" + query,
	}
	argv := make([]*byte, 0, len(args)+1)
	for _, arg := range args {
		argv = append(argv, &append([]byte(arg), 0)[0])
	}
	argv = append(argv, nil)

	queryCmdline(len(args), &argv[0])
	runtime.KeepAlive(argv)
	return fmt.Errorf("the engine ended: port taken, folder not writable, or an option it does not know")
}
