package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// segment is one file of a partition's log.
type segment struct {
	// base is the offset of its first record. end is the base of the next segment, 0 for the newest.
	base, end int64
	size      int64
	// closed is true if the file is not written any more: it and all earlier segments were synced before the next
	// segment was written.
	closed bool
	// modified is the time of the last write, in Unix seconds.
	modified int64
}

// segmentPath returns the path of the segment with this base in the folder of its partition.
func segmentPath(dir string, base int64) string {
	return filepath.Join(dir, strconv.FormatInt(base, 10)+".dat")
}

// listSegments lists the segments of a partition, oldest first.
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
		if errors.Is(err, fs.ErrNotExist) {
			continue // the broker may delete files meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("measure a segment: %w", err)
		}
		list = append(list, segment{
			base: base, size: info.Size(), closed: info.Mode()&0o200 == 0, modified: info.ModTime().Unix(),
		})
	}
	slices.SortFunc(list, func(a, b segment) int { return int(a.base - b.base) })
	for i := range len(list) - 1 {
		list[i].end = list[i+1].base
	}
	return list, nil
}

// partitionFolders lists the folders of all partitions that have been written.
func partitionFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, partitionsDir))
	if err != nil {
		return nil, fmt.Errorf("list the partitions: %w", err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// Offsets within a record batch, big-endian (Kafka's message format 2). Its CRC-32C covers the bytes behind the CRC,
// not the offset, the length, the epoch and the version before it.
const (
	batchLengthAt    = 8
	batchVersionAt   = 16
	batchCRCAt       = 17
	batchCheckedFrom = 21
	batchDeltaAt     = 23
	batchHeader      = 61
	// batchBody is the offset from which the length counts.
	batchBody = 12
)

// batch is the header of a record batch.
type batch struct {
	// first is the offset of the first record, next is the offset behind the last one.
	first, next int64
	// size is the size of the whole batch in bytes.
	size int64
}

// parseBatch parses a header of batchHeader bytes. It returns false if the header is invalid.
func parseBatch(header []byte) (batch, bool) {
	b := batch{
		first: int64(binary.BigEndian.Uint64(header)),
		size:  batchBody + int64(int32(binary.BigEndian.Uint32(header[batchLengthAt:]))),
	}
	delta := int64(int32(binary.BigEndian.Uint32(header[batchDeltaAt:])))
	b.next = b.first + delta + 1
	return b, header[batchVersionAt] == 2 && b.size >= batchHeader && b.first >= 0 && delta >= 0
}

// scan finds the whole batches of a segment: the first at offset base, each following the one before it, each with a
// valid checksum. It returns where the last one ends, in bytes and as an offset. Anything behind it is not part of
// the log.
func scan(file io.ReaderAt, base int64) (valid, next int64, err error) {
	next = base
	var header [batchHeader]byte
	for {
		if _, err := file.ReadAt(header[:], valid); err != nil {
			return valid, next, ignoreEnd(err)
		}
		b, ok := parseBatch(header[:])
		if !ok || b.first != next {
			return valid, next, nil
		}
		checksum := crc32.New(castagnoli)
		body := io.NewSectionReader(file, valid+batchCheckedFrom, b.size-batchCheckedFrom)
		n, err := io.Copy(checksum, body)
		if err != nil {
			return valid, next, fmt.Errorf("read a batch: %w", err)
		}
		if n < b.size-batchCheckedFrom || checksum.Sum32() != binary.BigEndian.Uint32(header[batchCRCAt:]) {
			return valid, next, nil
		}
		valid += b.size
		next = b.next
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("read a batch: %w", err)
}
