// Package playground opens recorded calls of models again, writes requests as programs, and keeps scenarios.
package playground

import (
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/internal/postgres"
)

//go:embed queries.sql
var queries string

// Service keeps scenarios.
type Service struct {
	db  postgres.DB
	now func() time.Time
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), postgres.Clock(now)}
}
