package kafkabatchreceiver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"go.opentelemetry.io/otel/metric"
)

// lagInterval is how often the ends of the partitions are asked for. The lag is asked for rather than taken
// from fetches, since those stop exactly when the lag grows: while a batch is not taken.
const lagInterval = 10 * time.Second

// lags is the last measured lag of every owned partition, in records.
type lags struct {
	byPartition atomic.Pointer[map[int32]int64]
}

func (l *lags) observe(_ context.Context, observer metric.Int64Observer) error {
	if measured := l.byPartition.Load(); measured != nil {
		for partition, lag := range *measured {
			observer.Observe(lag, withPartition(partition))
		}
	}
	return nil
}

func (r *tracesReceiver) watchLag(ctx context.Context) {
	ticker := time.NewTicker(lagInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.measureLag(ctx)
		}
	}
}

// measureLag leaves the last measurement as it is where the broker does not answer: a problem of its own.
func (r *tracesReceiver) measureLag(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lagInterval)
	defer cancel()
	admin := kadm.NewClient(r.client)
	ends, err := admin.ListEndOffsets(ctx, r.cfg.Topic)
	if err != nil {
		return
	}
	starts, err := admin.ListStartOffsets(ctx, r.cfg.Topic)
	if err != nil {
		return
	}
	committed := r.client.CommittedOffsets()[r.cfg.Topic]
	measured := map[int32]int64{}
	for partition, end := range ends[r.cfg.Topic] {
		if end.Err != nil || !r.owned.has(partition) {
			continue
		}
		done := starts[r.cfg.Topic][partition].Offset
		if at, ok := committed[partition]; ok {
			done = max(done, at.Offset)
		}
		measured[partition] = max(0, end.Offset-done)
	}
	r.lags.byPartition.Store(&measured)
}
