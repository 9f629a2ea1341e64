// Package clickhouse owns the schema of the run store and the layout of its rows, which the exporter writes and the
// control plane reads.
package clickhouse

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Open prepares connections to the database at url (clickhouse://host:port/database). It does not dial: the first
// query fails if the server is away.
func Open(url string) (driver.Conn, error) { return open(url, statementSilence) }

func open(url string, silence time.Duration) (driver.Conn, error) {
	opts, err := options(url)
	if err != nil {
		return nil, err
	}
	opts.DialContext = dialer{opts, silence}.dial
	conn, err := ch.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	return conn, nil
}

func options(url string) (*ch.Options, error) {
	opts, err := ch.ParseDSN(url)
	if err != nil {
		return nil, fmt.Errorf("parse ClickHouse URL: %w", err)
	}
	opts.DialTimeout = cmp.Or(opts.DialTimeout, acquireTimeout)
	if opts.Compression == nil {
		opts.Compression = &ch.Compression{Method: ch.CompressionLZ4}
		if !slices.ContainsFunc(opts.Addr, isRemote) {
			// Within one machine compression has no use, and takes a quarter of the time of writing spans.
			opts.Compression.Method = ch.CompressionNone
		}
	}
	return opts, nil
}

// isRemote reports whether an address may be on another machine.
func isRemote(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true
	}
	return host != "localhost" && !net.ParseIP(host).IsLoopback()
}

func quoteIdentifier(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}
