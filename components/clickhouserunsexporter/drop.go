package clickhouserunsexporter

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/looptrace/looptrace/internal/clickhouse"
)

// sweepEvery is how often traces without a GenAI span are looked for.
const sweepEvery = time.Minute

// startDropping begins to delete traces without a GenAI span some time after their last span was stored.
func (e *runsExporter) startDropping(after, every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopDropping = cancel
	dropper := clickhouse.NewDropper(e.conn, e.writer, after)
	e.dropping.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			e.drop(ctx, dropper)
		}
	})
}

// drop makes one sweep. After an error the next sweep repeats it.
func (e *runsExporter) drop(ctx context.Context, dropper *clickhouse.Dropper) {
	limited, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	dropped, err := dropper.Drop(limited)
	e.telemetry.ExporterClickhouserunsTracesDropped.Add(ctx, int64(dropped))
	if err != nil && ctx.Err() == nil {
		e.log.Warn("drop traces without GenAI spans; the next sweep tries again", zap.Error(err))
	}
}
