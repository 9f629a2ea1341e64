package kafkabatchreceiver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/metric"
)

// watchInterval is how often the end offsets of the partitions are read and progress is checked. Fetches also return
// end offsets, but stop exactly when the lag grows: while a batch is not accepted.
const watchInterval = 10 * time.Second

// backlog is what waits in the partitions of this member. The reading goroutine reports what it fetched and
// committed, the watching one what the broker has. The lock is held only briefly, so metrics work while either
// goroutine is stuck.
type backlog struct {
	mu          sync.Mutex
	byPartition map[int32]*waiting
	// moved is when an offset of any partition was last committed, or no partition had anything waiting.
	moved time.Time
	// polling reports whether the reading goroutine is waiting for records.
	polling bool
}

// waiting is the backlog of a partition.
type waiting struct {
	// fetched are the fetched and uncommitted records, in order.
	fetched []stamp
	// done is the offset after the last committed record, end the one after the last known record. -1 means unknown.
	done, end int64
	// noticed is when records were found waiting of which none was fetched, or zero.
	noticed time.Time
	// unread reports that none arrived although the reading goroutine was waiting for them.
	unread bool
}

// stamp is a record's offset and time.
type stamp struct {
	offset int64
	at     time.Time
}

func newBacklog() *backlog { return &backlog{byPartition: map[int32]*waiting{}, moved: time.Now()} }

func (b *backlog) assigned(partitions []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range partitions {
		b.byPartition[p] = &waiting{done: -1, end: -1}
	}
}

func (b *backlog) lost(partitions []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range partitions {
		delete(b.byPartition, p)
	}
}

func (b *backlog) owned() []int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	partitions := make([]int32, 0, len(b.byPartition))
	for p := range b.byPartition {
		partitions = append(partitions, p)
	}
	return partitions
}

// fetched notes records that were fetched from a partition, and its end offset.
func (b *backlog) fetched(partition int32, records []*kgo.Record, end int64) {
	b.update(partition, func(w *waiting) {
		for _, record := range records {
			w.fetched = append(w.fetched, stamp{offset: record.Offset, at: record.Timestamp})
		}
		w.end = max(w.end, end)
	})
}

// committed notes the last committed records of partitions.
func (b *backlog) committed(last []*kgo.Record) {
	for _, record := range last {
		b.update(record.Partition, func(w *waiting) {
			left := slices.IndexFunc(w.fetched, func(s stamp) bool { return s.offset > record.Offset })
			if left < 0 {
				left = len(w.fetched)
			}
			w.fetched = slices.Delete(w.fetched, 0, left)
			w.done, b.moved = record.Offset+1, time.Now()
		})
	}
}

// measured notes the offsets that the broker returned.
func (b *backlog) measured(partition int32, done, end int64) {
	b.update(partition, func(w *waiting) { w.done, w.end = max(w.done, done), max(w.end, end) })
}

func (b *backlog) update(partition int32, change func(*waiting)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, ok := b.byPartition[partition]
	if !ok {
		return // the partition was lost meanwhile
	}
	change(w)
	switch {
	case w.records() == 0 || len(w.fetched) > 0:
		w.noticed, w.unread = time.Time{}, false
	case w.noticed.IsZero():
		w.noticed = time.Now()
	}
}

// records returns how many records wait.
func (w *waiting) records() int64 {
	if w.done < 0 {
		return int64(len(w.fetched)) // without any offsets, only the fetched records are known
	}
	return max(0, w.end-w.done)
}

// age returns how long the oldest record has waited.
func (w *waiting) age() time.Duration {
	switch {
	case w.records() == 0:
		return 0
	case len(w.fetched) > 0:
		return max(0, time.Since(w.fetched[0].at))
	default:
		return time.Since(w.noticed)
	}
}

// setPolling notes whether the reading goroutine waits for records.
func (b *backlog) setPolling(polling bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.polling = polling
}

// standstill is what does not move although records wait.
type standstill struct {
	// since is when an offset was last committed, or zero if that is recent.
	since time.Time
	// unread are the partitions from which no record arrives, and since when. A partition that merely waits while
	// batches of others are stored is not among them.
	unread map[int32]time.Time
}

// judge returns what has stood still since before the given time.
func (b *backlog) judge(before time.Time) standstill {
	b.mu.Lock()
	defer b.mu.Unlock()
	var waits bool
	found := standstill{unread: map[int32]time.Time{}}
	for partition, w := range b.byPartition {
		waits = waits || w.records() > 0
		if !w.noticed.IsZero() && w.noticed.Before(before) && b.polling {
			w.unread = true
		}
		if w.unread {
			found.unread[partition] = w.noticed
		}
	}
	if !waits {
		b.moved = time.Now()
	}
	if b.moved.Before(before) {
		found.since = b.moved
	}
	return found
}

func (b *backlog) observeRecords(_ context.Context, observer metric.Int64Observer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for partition, w := range b.byPartition {
		if w.end >= 0 {
			observer.Observe(w.records(), withPartition(partition))
		}
	}
	return nil
}

func (b *backlog) observeAge(_ context.Context, observer metric.Float64Observer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for partition, w := range b.byPartition {
		if w.end >= 0 {
			observer.Observe(w.age().Seconds(), withPartition(partition))
		}
	}
	return nil
}

// watch measures the lag and checks the progress of the reading goroutine, which cannot report on itself while it is
// stuck.
func (r *tracesReceiver) watch(ctx context.Context) {
	ticker := time.NewTicker(r.watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.measureLag(ctx)
			r.health.judge(r.backlog.judge(time.Now().Add(-r.notReadyAfter)))
		}
	}
}

// measureLag changes nothing if the broker does not answer: that is a problem of its own.
func (r *tracesReceiver) measureLag(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.watchEvery)
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
	committed, answered := r.client.CommittedOffsets()[r.cfg.Topic], ends.Error() == nil
	for _, partition := range r.backlog.owned() {
		end, start := ends[r.cfg.Topic][partition], starts[r.cfg.Topic][partition]
		if end.Err != nil || start.Err != nil || end.Offset < 0 {
			continue
		}
		done := start.Offset
		if at, ok := committed[partition]; ok {
			done = max(done, at.Offset)
		}
		r.backlog.measured(partition, done, end.Offset)
	}
	if answered {
		r.health.solved(problemTopic)
	}
}
