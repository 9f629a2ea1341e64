package genaicostprocessor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/components/genaicostprocessor/internal/metadata"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
)

// channel is where PostgreSQL notifies of the id of every project whose prices change.
const channel = "looptrace_price_overrides"

const (
	// readTimeout limits a connection attempt, and a read.
	readTimeout = 5 * time.Second
	// startTimeout is how long Start waits for the first read, so that the first spans are priced.
	startTimeout = 2 * time.Second
	// Limits of the wait before PostgreSQL is tried again.
	minReconnectWait = 100 * time.Millisecond
	maxReconnectWait = 5 * time.Second
)

// known holds what was last read: the prices of each project with prices of its own, by project id.
type known struct {
	projects map[string]*projectPrices
	count    int
}

type projectPrices struct {
	revisions []int64
	matcher   *prices.Matcher
}

// overrides keeps projects' own prices up to date in memory. While PostgreSQL is away the last ones apply. Before the
// first read nothing is known.
type overrides struct {
	connection *pgx.ConnConfig
	refresh    time.Duration
	logger     *zap.Logger
	telemetry  *metadata.TelemetryBuilder
	// report reports to the collector's status: nil once the prices are known, else the reason.
	report func(unread error)

	known atomic.Pointer[known]
	// read is closed after the first read.
	read chan struct{}
}

// matcher returns the prices of a project, and whether they are known.
func (o *overrides) matcher(projectID string) (*prices.Matcher, bool) {
	k := o.known.Load()
	if k == nil {
		return nil, false
	}
	if p, ok := k.projects[projectID]; ok {
		return p.matcher, true
	}
	return prices.Default().Matcher(), true
}

// run keeps the prices up to date until the context ends.
func (o *overrides) run(ctx context.Context) {
	wait := minReconnectWait
	for away := false; ; {
		read, err := o.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if read {
			away, wait = false, minReconnectWait
		}
		o.telemetry.GenaicostReloads.Add(ctx, 1, reloadFailed)
		if !away {
			away = true
			if o.known.Load() == nil {
				o.report(fmt.Errorf("projects' own prices have never been read, so spans are stored without a cost: %w", err))
			}
			o.logger.Warn("Projects' own prices cannot be read: the last known ones apply", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // spreads reconnects, guards nothing
		}
		wait = min(2*wait, maxReconnectWait)
	}
}

// follow reads the prices now, after each change and every refresh interval, until an error. read reports whether it
// succeeded at least once.
func (o *overrides) follow(ctx context.Context) (read bool, err error) {
	connecting, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, o.connection)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() {
		// Ends the session in PostgreSQL even if ctx has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	// Before the first read: otherwise a change between the two would be missed.
	if _, err := conn.Exec(connecting, "LISTEN "+channel); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	for {
		if err := o.load(ctx, conn); err != nil {
			return read, err
		}
		read = true
		if err := o.wait(ctx, conn); err != nil {
			return read, err
		}
	}
}

// wait returns when prices have changed, or may have.
func (o *overrides) wait(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, o.refresh)
	defer cancel()
	if _, err := conn.WaitForNotification(ctx); err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("wait for a notification: %w", err)
	}
	return nil
}

func (o *overrides) load(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	read, err := postgres.PriceOverrides(ctx, conn)
	if err != nil {
		return err
	}
	next := known{projects: make(map[string]*projectPrices, len(read))}
	last := o.known.Load()
	for id, list := range read {
		next.projects[id] = last.matched(id, list)
		next.count += len(list)
	}
	o.known.Store(&next)
	o.telemetry.GenaicostReloads.Add(ctx, 1, reloadDone)
	if last == nil {
		o.report(nil)
		close(o.read)
	}
	return nil
}

// matched returns the matcher of a project's prices. If they have not changed, it returns the last one, which has
// cached its results.
func (k *known) matched(projectID string, list []prices.Override) *projectPrices {
	revisions := make([]int64, len(list))
	for i := range list {
		revisions[i] = list[i].Revision
	}
	if k != nil {
		if last, ok := k.projects[projectID]; ok && slices.Equal(last.revisions, revisions) {
			return last
		}
	}
	return &projectPrices{revisions: revisions, matcher: prices.Default().WithOverrides(list)}
}
