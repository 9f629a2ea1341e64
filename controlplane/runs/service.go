// Package runs reads runs and their spans from ClickHouse, for the projects that a caller may read.
package runs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Service reads runs.
type Service struct {
	conn  driver.Conn
	log   *slog.Logger
	now   func() time.Time
	feeds feeds
	cache *rowCache
	// guesses are where runs lay when they were last read.
	locations *lru.Cache[string, location]
}

// NewService returns a service that reads through conn, and logs what fails in the background. The caller closes it.
func NewService(conn driver.Conn, log *slog.Logger) *Service {
	locations, _ := lru.New[string, location](maxCachedLocations) // no size below one
	return &Service{conn: conn, log: log, now: time.Now, cache: newRowCache(), locations: locations}
}

// Ping tells whether ClickHouse answers.
func (s *Service) Ping(ctx context.Context) error {
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
