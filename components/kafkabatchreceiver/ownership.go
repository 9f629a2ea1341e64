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

// handOverTimeout is how long a revoked partition waits for the batches in flight, so that their offsets are
// committed before another member continues. Afterwards those batches lose the partition.
const handOverTimeout = 10 * time.Second

// ownership is one period during which this member owns a partition. A partition that is revoked and assigned again
// has two, so that a record fetched in the first one is never committed in the second.
type ownership struct {
	gone atomic.Bool
	// next is the next offset, or -1 until something was fetched. Only the reading goroutine uses next and
	// fetchError.
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

// ownerships is what this member owns now. The Kafka client's rebalances and the reading goroutine share it.
type ownerships struct {
	// handling is acquired in part by every batch that is with the next consumer or being committed, but not while it
	// waits for a retry or its turn. A rebalance that revokes partitions acquires all of it.
	handling *semaphore.Weighted

	// mu is held during a commit, so that no partition is revoked between the check of its ownership and the broker's
	// answer.
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

// of returns the current ownership of a partition from which something was just fetched.
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

// letGo allows a rebalance while wait runs. The caller must have acquired its part of handling, and has it again
// afterwards.
func (o *ownerships) letGo(ctx context.Context, wait func() error) error {
	o.handling.Release(1)
	err := wait()
	// Even if ctx has ended, since the caller will release it. A rebalance holds it only briefly.
	return errors.Join(err, o.handling.Acquire(context.WithoutCancel(ctx), 1))
}

// revoke gives up partitions. It waits a short time for the batches in flight.
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

// lose marks partitions as lost: their records are neither handed on again nor committed.
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

// commit calls do with the last record of each partition that is still owned, and keeps them owned until it returns.
// It returns how many entries belong to those partitions.
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
