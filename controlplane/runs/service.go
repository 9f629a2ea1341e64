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
	promptTexts  PromptTexts
	failureRules FailureRules
	conn         store
	log          *slog.Logger
	now          func() time.Time
	feeds        *feeds
	cache        *rowCache
	// locations are those at which runs were read last.
	locations *lru.Cache[string, location]
}

// NewService returns a service that reads through conn and logs what fails in the background. Filters by a prompt also select the runs that
// have one of its texts; without texts, those that name it. Runs fail by the scores that rules say; without rules, the boolean false fails a
// run under every name, and all signals are on. The caller must close it.
func NewService(conn driver.Conn, texts PromptTexts, rules FailureRules, log *slog.Logger) *Service {
	locations, _ := lru.New[string, location](maxCachedLocations) // it refuses only sizes below one
	return &Service{promptTexts: texts, failureRules: rules, conn: store{Conn: conn}, log: log, now: time.Now, feeds: &feeds{}, cache: newRowCache(), locations: locations}
}

// Ping reports whether ClickHouse answers.
func (s *Service) Ping(ctx context.Context) error {
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
