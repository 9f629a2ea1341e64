package genaicostprocessor

import (
	"context"
	"fmt"
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

// run keeps the prices up to date until the context ends: it reads them when it connects, after each change, and every
// refresh interval.
func (o *overrides) run(ctx context.Context) {
	away := false
	load := func(ctx context.Context, conn *pgx.Conn) error {
		err := o.load(ctx, conn)
		if err == nil {
			away = false
		}
		return err
	}
	postgres.Listener{
		Config: o.connection, Channel: channel,
		Opened: load, Quiet: load, QuietTime: o.refresh,
		Notified: func(ctx context.Context, conn *pgx.Conn, _ string) error { return load(ctx, conn) },
		Lost: func(ctx context.Context, err error, _ time.Duration) {
			o.telemetry.GenaicostReloads.Add(ctx, 1, reloadFailed)
			if away {
				return
			}
			away = true
			if o.known.Load() == nil {
				o.report(fmt.Errorf("projects' own prices have never been read, so spans are stored without a cost: %w", err))
			}
			o.logger.Warn("Projects' own prices cannot be read: the last known ones apply", zap.Error(err))
		},
	}.Run(ctx)
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
