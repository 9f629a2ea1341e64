package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// trim deletes whole segments that the group has committed, oldest first, and keeps KeepBytes of them. The newest
// segment always stays: a partition without any file forgets its offsets.
func (b *Broker) trim(ctx context.Context) error {
	partitions, err := b.segments(b.config.Topic)
	if err != nil {
		return err
	}
	total := 0
	for _, list := range partitions {
		total += len(list)
	}
	if total <= len(partitions) { // newest segments only: offsets are not needed
		return nil
	}
	admin := kadm.NewClient(b.client) // borrows the client, nothing to close
	committed, err := admin.FetchOffsets(ctx, b.config.Group)
	if err != nil {
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil // nothing was ever committed
		}
		return fmt.Errorf("read the committed offsets: %w", err)
	}
	var remove kadm.Offsets
	keep := b.config.KeepBytes / int64(len(partitions))
	for partition, list := range partitions {
		offset, there := committed.Lookup(b.config.Topic, partition)
		if !there || offset.At < 0 {
			continue
		}
		if to := boundary(list, offset.At, keep); to > list[0].base {
			remove.Add(kadm.Offset{Topic: b.config.Topic, Partition: partition, At: to})
		}
	}
	if len(remove) == 0 {
		return nil
	}
	if err := b.sync(); err != nil {
		return err
	}
	deleted, err := admin.DeleteRecords(ctx, remove)
	if err != nil {
		return fmt.Errorf("delete stored records: %w", err)
	}
	return deleted.Error()
}

// boundary returns the base of the oldest segment to keep.
func boundary(list []segment, committed, keep int64) int64 {
	to := list[len(list)-1].base
	var kept int64
	for _, s := range slices.Backward(list[:len(list)-1]) {
		if s.end <= committed {
			if kept += s.size; kept > keep {
				break
			}
		}
		to = s.base
	}
	return to
}

// trimDeadLetters deletes whole segments of dead deadLetters, oldest first, if there are too many or they are too old.
func (b *Broker) trimDeadLetters() error {
	partitions, err := b.segments(b.config.DeadLetterTopic)
	if err != nil {
		return err
	}
	oldest := time.Now().Add(-b.config.DeadLetterAge).Unix()
	for partition, list := range partitions {
		to := expired(list, b.config.DeadLetterBytes/int64(len(partitions)), oldest)
		if to == list[0].base {
			continue
		}
		if err := b.sync(); err != nil {
			return err
		}
		if err := b.cluster.DeleteRecords(b.config.DeadLetterTopic, partition, to); err != nil {
			return fmt.Errorf("delete dead deadLetters: %w", err)
		}
		b.log.Warn("dead deadLetters are deleted because there are too many or they are too old",
			"partition", partition, "first", list[0].base, "last", to-1)
		b.metrics.deletedDeadLetters.Add(float64(to - list[0].base))
	}
	return nil
}

// sync runs before each deletion: the names of the files hold the offsets of a partition, so the files that stay must
// be on the disk before the others are deleted.
func (b *Broker) sync() error {
	err := b.syncer.sync()
	if err != nil {
		b.fail(err)
	}
	return err
}

// expired returns the offset before which to delete, so that at most limit bytes and nothing older than oldest stay.
func expired(list []segment, limit, oldest int64) int64 {
	var total int64
	for _, s := range list {
		total += s.size
	}
	for _, s := range list[:len(list)-1] {
		if total <= limit && s.modified >= oldest {
			return s.base
		}
		total -= s.size
	}
	return list[len(list)-1].base
}

// segments lists the segments of each partition of a topic, oldest first, without empty ones.
func (b *Broker) segments(topic string) (map[int32][]segment, error) {
	folders, err := partitionFolders(b.config.DataDir)
	if err != nil {
		return nil, err
	}
	found := make(map[int32][]segment)
	for _, folder := range folders {
		number, ours := strings.CutPrefix(folder, topic+"-")
		partition, err := strconv.ParseInt(number, 10, 32)
		if !ours || err != nil {
			continue
		}
		list, err := listSegments(filepath.Join(b.config.DataDir, partitionsDir, folder))
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(s segment) bool { return s.size == 0 })
		if len(list) > 0 {
			found[int32(partition)] = list
		}
	}
	return found, nil
}
