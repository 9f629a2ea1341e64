package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// quietTime is how long nothing comes on a channel before its connection is probed: one that hangs looks the same.
	quietTime = 5 * time.Second
	// listenTimeout limits what a Listener asks of PostgreSQL.
	listenTimeout = 5 * time.Second
	// Limits of the wait before a channel is opened again.
	minListenWait, maxListenWait = 100 * time.Millisecond, 5 * time.Second
)

// Listener follows a channel of notifications on a connection of its own. An error of its functions closes the channel.
type Listener struct {
	Config  *pgx.ConnConfig
	Channel string
	// Opened is called when the channel is open: what was notified before may have been missed.
	Opened func(ctx context.Context, conn *pgx.Conn) error
	// Notified is called for each notification.
	Notified func(ctx context.Context, conn *pgx.Conn, payload string) error
	// Quiet is called after QuietTime without a notification. Without it, the connection is probed every few seconds.
	Quiet     func(ctx context.Context, conn *pgx.Conn) error
	QuietTime time.Duration
	// Lost is called when the channel is closed, or could not be opened, with the wait before the next attempt.
	Lost func(ctx context.Context, err error, wait time.Duration)
}

// Run follows the channel until the context ends.
func (l Listener) Run(ctx context.Context) {
	if l.Quiet == nil {
		l.Quiet, l.QuietTime = probe, quietTime
	}
	for wait := minListenWait; ; {
		opened, err := l.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if opened {
			wait = minListenWait
		}
		l.Lost(ctx, err, wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // spreads reconnects, guards nothing
		}
		wait = min(2*wait, maxListenWait)
	}
}

// follow follows the channel until an error. opened is whether it was opened.
func (l Listener) follow(ctx context.Context) (opened bool, err error) {
	connecting, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, l.Config)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() {
		// Ends the session in PostgreSQL even if ctx has ended.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTimeout)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(connecting, "LISTEN "+l.Channel); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	if err := l.Opened(ctx, conn); err != nil {
		return false, err
	}
	for {
		if err := l.next(ctx, conn); err != nil {
			return true, err
		}
	}
}

// next waits for one notification, or until nothing has come for a while.
func (l Listener) next(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, l.QuietTime)
	notification, err := conn.WaitForNotification(waiting)
	isQuiet := waiting.Err() != nil && ctx.Err() == nil
	cancel()
	switch {
	case err == nil:
		return l.Notified(ctx, conn, notification.Payload)
	case isQuiet:
		return l.Quiet(ctx, conn)
	}
	return fmt.Errorf("wait for a notification: %w", err)
}

// probe asks for nothing.
func probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT"); err != nil {
		return fmt.Errorf("probe the connection: %w", err)
	}
	return nil
}
