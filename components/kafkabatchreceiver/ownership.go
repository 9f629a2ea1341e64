package kafkabatchreceiver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"
)

// handOverTimeout is how long a partition that is taken away waits for the batches in flight, so that their
// offsets are committed before another member goes on. After it the batches lose the partition.
const handOverTimeout = 10 * time.Second

// ownership is one stay of a partition with this member. A partition that goes and comes back has two, so
// that a record fetched during the first is never committed during the second.
type ownership struct {
	gone atomic.Bool
	// next is the offset that is due, -1 until something was fetched. It and fetchError belong to the
	// reading goroutine.
	next       int64
	fetchError error
}

func (o *ownership) lost() bool { return o.gone.Load() }

// entry is a fetched record and the ownership under which it was fetched.
type entry struct {
	record *kgo.Record
	owner  *ownership
}

func stillOwned(entries []entry) []entry {
	kept := make([]entry, 0, len(entries))
	for _, e := range entries {
		if !e.owner.lost() {
			kept = append(kept, e)
		}
	}
	return kept
}

// ownerships is what this member owns now. The Kafka client's rebalancing and the reading goroutine meet here.
type ownerships struct {
	// handling is held in part by every batch that is with the next consumer or being committed, and not while it
	// waits for a retry or for its turn; and whole by a rebalance that takes partitions away.
	handling *semaphore.Weighted

	// mu is held over a commit, so that no partition is given away between the look at who owns it and the
	// broker's answer.
	mu          sync.Mutex
	byPartition map[int32]*ownership
}

func newOwnerships() *ownerships {
	return &ownerships{handling: semaphore.NewWeighted(maxInFlight), byPartition: map[int32]*ownership{}}
}

func (o *ownerships) assign(partitions []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range partitions {
		o.byPartition[p] = &ownership{next: -1}
	}
}

// of returns the present ownership of a partition from which something was just fetched.
func (o *ownerships) of(partition int32) *ownership {
	o.mu.Lock()
	defer o.mu.Unlock()
	owner, ok := o.byPartition[partition]
	if !ok {
		owner = &ownership{next: -1}
		o.byPartition[partition] = owner
	}
	return owner
}

// letGo lets a rebalance pass while wait lasts. The caller holds its part of handling, and has it again after.
func (o *ownerships) letGo(ctx context.Context, wait func() error) error {
	o.handling.Release(1)
	err := wait()
	// Also when ctx has ended, for the caller's release. A rebalance holds it for a moment only.
	return errors.Join(err, o.handling.Acquire(context.WithoutCancel(ctx), 1))
}

// revoke gives partitions away, after the batches in flight if those end soon.
func (o *ownerships) revoke(ctx context.Context, partitions []int32) {
	if len(partitions) == 0 {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	if o.handling.Acquire(waiting, maxInFlight) == nil {
		defer o.handling.Release(maxInFlight)
	}
	o.lose(partitions)
}

// lose marks partitions as gone: what was fetched from them is neither handed on again nor committed.
func (o *ownerships) lose(partitions []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range partitions {
		if owner, ok := o.byPartition[p]; ok {
			owner.gone.Store(true)
			delete(o.byPartition, p)
		}
	}
}

// commit calls do with the last record of each partition that is still owned, and keeps them owned until it
// returns. It returns how many of the entries are of those.
func (o *ownerships) commit(entries []entry, do func(last []*kgo.Record) error) (committed int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	newest := map[int32]*kgo.Record{}
	for _, e := range entries {
		if e.owner.lost() {
			continue
		}
		committed++
		if at, ok := newest[e.record.Partition]; !ok || at.Offset < e.record.Offset {
			newest[e.record.Partition] = e.record
		}
	}
	if len(newest) == 0 {
		return 0, nil
	}
	last := make([]*kgo.Record, 0, len(newest))
	for _, record := range newest {
		last = append(last, record)
	}
	return committed, do(last)
}
