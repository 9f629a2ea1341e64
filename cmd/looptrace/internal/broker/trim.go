package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// segment is one file of a partition's log.
type segment struct {
	// base is the offset of its first record; end is that of the first record of the next segment.
	base, end int64
	size      int64
}

// trim deletes whole segments of the topic that the group has committed, oldest first, and keeps
// KeepBytes of them. The newest segment always stays: a partition without any file forgets its offsets.
func (b *Broker) trim(ctx context.Context) error {
	partitions, err := b.segments()
	if err != nil {
		return err
	}
	total := 0
	for _, list := range partitions {
		total += len(list)
	}
	if total <= len(partitions) { // nothing but newest segments: no need to ask for offsets
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
	deleted, err := admin.DeleteRecords(ctx, remove)
	if err != nil {
		return fmt.Errorf("delete stored records: %w", err)
	}
	return deleted.Error()
}

// boundary is the offset before which to delete: the base of the oldest segment to keep.
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

// segments lists the files of each partition of the topic, oldest first.
func (b *Broker) segments() (map[int32][]segment, error) {
	parts := filepath.Join(b.config.DataDir, "partitions")
	folders, err := os.ReadDir(parts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the partitions: %w", err)
	}
	found := make(map[int32][]segment)
	for _, folder := range folders {
		number, ours := strings.CutPrefix(folder.Name(), b.config.Topic+"-")
		partition, err := strconv.ParseInt(number, 10, 32)
		if !ours || err != nil {
			continue
		}
		list, err := listSegments(filepath.Join(parts, folder.Name()))
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			found[int32(partition)] = list
		}
	}
	return found, nil
}

func listSegments(dir string) ([]segment, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the segments: %w", err)
	}
	var list []segment
	for _, file := range files {
		name, ours := strings.CutSuffix(file.Name(), ".dat")
		base, err := strconv.ParseInt(name, 10, 64)
		if !ours || err != nil {
			continue
		}
		info, err := file.Info()
		if err != nil {
			return nil, fmt.Errorf("measure a segment: %w", err)
		}
		if info.Size() > 0 {
			list = append(list, segment{base: base, size: info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b segment) int { return int(a.base - b.base) })
	for i := range len(list) - 1 {
		list[i].end = list[i+1].base
	}
	return list, nil
}
