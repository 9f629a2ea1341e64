package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alecthomas/assert/v2"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

// TestListener follows a channel whose connection does not answer when nothing has come for a while: it is opened again.
func TestListener(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig(engines.Postgres(t))
	assert.NoError(t, err)
	sender, err := pgx.ConnectConfig(t.Context(), config)
	assert.NoError(t, err)
	defer sender.Close(t.Context())
	var hangs atomic.Bool
	opened, heard, lost := make(chan bool, 100), make(chan string, 100), make(chan error, 100)
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		postgres.Listener{
			Config: config, Channel: "some_changes",
			Opened:   func(context.Context, *pgx.Conn) error { opened <- true; return nil },
			Notified: func(_ context.Context, _ *pgx.Conn, payload string) error { heard <- payload; return nil },
			Quiet: func(context.Context, *pgx.Conn) error {
				if hangs.Load() {
					return errors.New("no answer")
				}
				return nil
			},
			QuietTime: 20 * time.Millisecond,
			Lost:      func(_ context.Context, err error, _ time.Duration) { lost <- err; hangs.Store(false) },
		}.Run(ctx)
	})
	notify := func(payload string) {
		_, err := sender.Exec(t.Context(), "SELECT pg_notify('some_changes', $1)", payload)
		assert.NoError(t, err)
	}
	<-opened
	notify("one")
	assert.Equal(t, "one", <-heard)
	hangs.Store(true)
	assert.Error(t, <-lost)
	<-opened
	notify("two")
	assert.Equal(t, "two", <-heard)
	stop()
	done.Wait()
}
