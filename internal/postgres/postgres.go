// Package postgres owns the PostgreSQL schema and how it is opened.
package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout bounds one attempt to connect, so that a host that drops
	// packets reads as unavailable while a client still waits for its answer.
	connectTimeout = 5 * time.Second
	// maxConns per process, unless the address says pool_max_conns: the
	// processes of one installation together stay below PostgreSQL's default
	// of 100.
	maxConns = 10
)

// runtimeParams are session settings, each unless the address sets it.
var runtimeParams = map[string]string{
	"application_name": "looptrace",
	"timezone":         "UTC",
	// A query or transaction that its client has forgotten must not hold locks.
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "60s",
}

// Open returns a pool of connections to the database at url. It does not
// connect: while PostgreSQL is away Open succeeds and queries fail, and once it
// is back they work.
func Open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// pgx's message carries the address, its password masked.
		return nil, fmt.Errorf("parse the PostgreSQL address: %w", err)
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	for name, value := range runtimeParams {
		if _, ok := config.ConnConfig.RuntimeParams[name]; !ok {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return pool, nil
}
