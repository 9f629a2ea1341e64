package broker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// frame is the size of the header of each entry in an append-only state file: the length and the CRC-32C of the
// entry, both little-endian.
const frame = 8

// recoverFiles turns the files that a crash has left into those of a clean stop. What it truncates or deletes was
// never completely on the disk and so was never acknowledged. It can be interrupted and run again.
func recoverFiles(dir string, log *slog.Logger) error {
	if err := restoreGroups(dir); err != nil {
		return err
	}
	for _, name := range []string{groupsFile, "pids.log"} {
		if err := recoverStateFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	folders, err := partitionFolders(dir)
	if err != nil {
		return err
	}
	for _, name := range folders {
		if err := recoverPartition(filepath.Join(dir, partitionsDir, name), log.With("partition", name)); err != nil {
			return fmt.Errorf("recover %s: %w", name, err)
		}
	}
	return syncDir(filepath.Join(dir, partitionsDir))
}

// restoreGroups restores the groups file that is known to be complete on the disk. The other one may have been
// renamed without its content.
func restoreGroups(dir string) error {
	temporary := filepath.Join(dir, groupsFile+".tmp")
	err := link(filepath.Join(dir, syncedGroupsFile), temporary)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was committed yet
	}
	if err != nil {
		return err
	}
	// If both names refer to one file, the rename does nothing, and the broker removes the temporary name.
	if err := os.Rename(temporary, filepath.Join(dir, groupsFile)); err != nil {
		return fmt.Errorf("restore the groups: %w", err)
	}
	return syncDir(dir)
}

// recoverStateFile truncates the torn entry that a crash may have left at the end of a state file. The broker skips
// it when reading but then appends behind it, and the next start would not find the appended entries.
func recoverStateFile(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a state file: %w", err)
	}
	return cut(path, int64(validLength(raw)), int64(len(raw)))
}

// validLength returns the length of the whole entries at the start of raw.
func validLength(raw []byte) int {
	at := 0
	for len(raw)-at >= frame {
		length := int64(binary.LittleEndian.Uint32(raw[at:]))
		if length < 2 || length > int64(len(raw)-at-frame) { // each entry begins with a version of two bytes
			break
		}
		body := raw[at+frame : at+frame+int(length)]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(raw[at+4:]) {
			break
		}
		at += frame + int(length)
	}
	return at
}

// cut truncates a file to its valid part and syncs it.
func cut(path string, valid, size int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open a file to recover: %w", err)
	}
	defer func() { _ = file.Close() }() // synced
	if valid < size {
		if err := file.Truncate(valid); err != nil {
			return fmt.Errorf("truncate a torn file: %w", err)
		}
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync a recovered file: %w", err)
	}
	return nil
}

// recoverPartition finds the end of a partition's log. Only segments that are not closed can be torn: one, or the few
// that were written since the last sync.
func recoverPartition(dir string, log *slog.Logger) error {
	if err := removeIndexes(dir); err != nil {
		return err
	}
	list, err := listSegments(dir)
	if err != nil || len(list) == 0 {
		return err
	}
	var kept []segment
	for _, s := range list {
		if !s.closed {
			if err := recoverSegment(dir, &s, log); err != nil {
				return err
			}
		}
		if s.size > 0 {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		kept = list[:1] // its name holds the offset
		kept[0].size, kept[0].end = 0, kept[0].base
	}
	if err := keepOnly(dir, list, kept); err != nil {
		return err
	}
	if err := writeSnapshot(dir, kept); errors.Is(err, syscall.ENOSPC) {
		// Without the snapshot the broker takes twice as long to read the log and holds all of it in memory meanwhile.
		log.Warn("the disk is full, so the start takes longer", "cause", err.Error())
	} else if err != nil {
		return err
	}
	return syncDir(dir)
}

// removeIndexes deletes the index files. They hold only the epoch of each batch, which is always 0 here, and a torn
// index would be misread.
func removeIndexes(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the indexes: %w", err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".idx") {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("delete an index: %w", err)
			}
		}
	}
	return nil
}

// recoverSegment truncates the torn end of a segment and sets its size and end.
func recoverSegment(dir string, s *segment, log *slog.Logger) error {
	path := segmentPath(dir, s.base)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open a segment: %w", err)
	}
	valid, end, err := scan(file, s.base)
	_ = file.Close() // only read
	if err != nil {
		return err
	}
	if valid < s.size {
		log.Warn("the end of the log is incomplete and is truncated", "segment", s.base, "bytes", s.size-valid)
	}
	if err := cut(path, valid, s.size); err != nil {
		return err
	}
	s.size, s.end = valid, end
	return nil
}

// keepOnly deletes the other segments, which are empty, closes all but the newest and reopens that.
func keepOnly(dir string, list, kept []segment) error {
	keep := map[int64]bool{}
	for _, s := range kept {
		keep[s.base] = true
	}
	for _, s := range list {
		path := segmentPath(dir, s.base)
		if !keep[s.base] {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("delete an empty segment: %w", err)
			}
			continue
		}
		mode := fs.FileMode(0o400)
		if s.base == kept[len(kept)-1].base {
			mode = 0o600
		}
		if err := os.Chmod(path, mode); err != nil {
			return fmt.Errorf("close a segment: %w", err)
		}
	}
	newest := &kept[len(kept)-1]
	if !newest.closed {
		return nil
	}
	// The segment after it was deleted, so its batches have not been read yet.
	file, err := os.Open(segmentPath(dir, newest.base))
	if err != nil {
		return fmt.Errorf("open a segment: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	newest.size, newest.end, err = scan(file, newest.base)
	return err
}

// snapshot is what kfake writes for each partition at a clean stop (persistPartSnapshot). If its sizes match the
// files, kfake reads one segment at a time. Otherwise it loads the whole log into memory at once.
type snapshot struct {
	Version          int               `json:"version"`
	HighWatermark    int64             `json:"high_watermark"`
	LastStableOffset int64             `json:"last_stable_offset"`
	LogStartOffset   int64             `json:"log_start_offset"`
	CreatedAt        time.Time         `json:"created_at"`
	Segments         []snapshotSegment `json:"segments"`
}

type snapshotSegment struct {
	BaseOffset int64 `json:"base_offset"`
	Size       int64 `json:"size"`
}

func writeSnapshot(dir string, list []segment) error {
	end := list[len(list)-1].end
	s := snapshot{
		Version: 1, HighWatermark: end, LastStableOffset: end, LogStartOffset: list[0].base, CreatedAt: time.Now(),
	}
	for _, segment := range list {
		s.Segments = append(s.Segments, snapshotSegment{segment.base, segment.size})
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	path := filepath.Join(dir, "snapshot.json")
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if err := cut(temporary, int64(len(raw)), int64(len(raw))); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	return nil
}
