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
	// base is the offset of its first record; end is that of the first record of the next segment, 0 in the
	// newest.
	base, end int64
	size      int64
	// closed tells that the file may not be written: it and what came before it were on the disk before
	// anything was written to the next one.
	closed bool
	// modified is when it was last written, in seconds since 1970.
	modified int64
}

// path is where the segment with this base lies in the folder of its partition.
func segmentPath(dir string, base int64) string {
	return filepath.Join(dir, strconv.FormatInt(base, 10)+".dat")
}

// listSegments lists the files of a partition, oldest first.
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
			continue // the broker deletes while we look
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

// partitionFolders lists the folders of all partitions that were ever written to.
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

// Positions within a record batch, big-endian (Kafka's message format 2). Its CRC-32C covers what lies behind
// the CRC, not the offset, the length, the epoch and the version before it.
const (
	batchLengthAt    = 8
	batchVersionAt   = 16
	batchCRCAt       = 17
	batchCheckedFrom = 21
	batchDeltaAt     = 23
	batchHeader      = 61
	// batchBody is where the length counts from.
	batchBody = 12
)

// batch is what the header of a record batch says.
type batch struct {
	// first is the offset of the first record, next that behind the last one.
	first, next int64
	// size is that of the whole batch in bytes.
	size int64
}

// parseBatch reads a header of batchHeader bytes; false when it can be none.
func parseBatch(header []byte) (batch, bool) {
	b := batch{
		first: int64(binary.BigEndian.Uint64(header)),
		size:  batchBody + int64(int32(binary.BigEndian.Uint32(header[batchLengthAt:]))),
	}
	delta := int64(int32(binary.BigEndian.Uint32(header[batchDeltaAt:])))
	b.next = b.first + delta + 1
	return b, header[batchVersionAt] == 2 && b.size >= batchHeader && b.first >= 0 && delta >= 0
}

// scan finds the whole batches of a segment: the first at offset base, each where the one before it ends,
// each with the checksum of its producer. It returns where the last one ends, in bytes and as an offset.
// What lies behind it is no part of the log.
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
