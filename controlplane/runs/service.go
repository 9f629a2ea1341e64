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

// Service reads runs. It also scores and deletes them.
type Service struct {
	promptTexts PromptTexts // nil: runs are of the prompts that they name
	// failureRules is nil if projects define nothing.
	failureRules FailureRules
	conn         driver.Conn
	log          *slog.Logger
	now          func() time.Time
	feeds        feeds
	cache        *rowCache
	// locations are those at which runs were read last.
	locations *lru.Cache[string, location]
}

// NewService returns a service that reads through conn and logs what fails in the background. The caller must close it.
func NewService(conn driver.Conn, log *slog.Logger) *Service {
	locations, _ := lru.New[string, location](maxCachedLocations) // it refuses only sizes below one
	return &Service{conn: conn, log: log, now: time.Now, cache: newRowCache(), locations: locations}
}

// Ping reports whether ClickHouse answers.
func (s *Service) Ping(ctx context.Context) error {
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
