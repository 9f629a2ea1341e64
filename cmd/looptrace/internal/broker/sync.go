package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Names in the data folder.
const (
	partitionsDir = "partitions"
	groupsFile    = "groups.log"
	// syncedGroupsFile is a second name of the groups file that is completely on the disk. When the groups file has
	// grown, the broker rewrites it and renames it before it is synced.
	syncedGroupsFile = "groups.synced"
)

// syncer syncs what the broker has written before the broker's answers are sent. kfake writes and answers in one loop
// and never syncs. Every answer waits for sync, and one sync serves all that wait. So a power cut takes back nothing
// that a client knows of: no record of a producer, no offset that a consumer could commit, no topic.
type syncer struct {
	dir string

	mu     sync.Mutex // held during a sync: those who wait for it are served by the next one
	closed bool
	// top is the data folder, partitions the folder of all partitions.
	top, partitions folder
	heads           map[string]*head // by the folder of the partition
	groups          *os.File
	// groupsSize is how much of groups is synced.
	groupsSize int64
}

// head is the newest segment of a partition.
type head struct {
	dir  string
	file *os.File // nil before the first record
	// synced is how many bytes are synced, parsed how many were read as batches, end the offset behind those.
	synced, parsed, end int64
}

// newSyncer opens the folders, which must exist.
func newSyncer(dir string) (*syncer, error) {
	s := &syncer{dir: dir, heads: map[string]*head{}}
	var err error
	if s.top.file, err = os.Open(dir); err != nil {
		return nil, fmt.Errorf("open the data folder: %w", err)
	}
	if s.partitions.file, err = os.Open(filepath.Join(dir, partitionsDir)); err != nil {
		return nil, fmt.Errorf("open the folder of partitions: %w", err)
	}
	return s, nil
}

var errClosed = errors.New("the log is closed")

// sync returns when everything that was written before the call is on the disk.
func (s *syncer) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if err := s.findPartitions(); err != nil {
		return err
	}
	for _, h := range s.heads {
		if err := h.sync(); err != nil {
			return err
		}
	}
	return s.syncState()
}

func (s *syncer) findPartitions() error {
	changed, err := s.partitions.changed()
	if err != nil || !changed {
		return err
	}
	names, err := partitionFolders(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if s.heads[name] == nil {
			s.heads[name] = &head{dir: filepath.Join(s.dir, partitionsDir, name)}
		}
	}
	return s.partitions.sync()
}

// close closes all files. Nothing is acknowledged afterwards.
func (s *syncer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, h := range s.heads {
		h.forget()
	}
	for _, file := range []*os.File{s.top.file, s.partitions.file, s.groups} {
		_ = file.Close() // only read and synced
	}
}

// sync syncs a partition segment by segment.
func (h *head) sync() error {
	for more := true; more; {
		if h.file == nil {
			if found, err := h.open(); err != nil || !found {
				return err
			}
		}
		var err error
		if more, err = h.advance(); err != nil {
			return err
		}
	}
	return nil
}

// advance syncs a segment. It returns true if the next segment must be synced too.
func (h *head) advance() (bool, error) {
	info, err := h.file.Stat()
	if err != nil {
		return false, fmt.Errorf("measure the newest segment: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink == 0 { // retention has deleted it
		h.forget()
		return true, nil
	}
	if info.Size() > h.synced {
		if err := h.file.Sync(); err != nil {
			return false, fmt.Errorf("sync a segment: %w", err)
		}
		h.synced = info.Size()
		if err := h.parse(); err != nil {
			return false, err
		}
	}
	if h.parsed == 0 {
		return false, nil
	}
	// The next segment begins where this one ends.
	switch _, err := os.Lstat(segmentPath(h.dir, h.end)); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the next segment: %w", err)
	}
	if err := h.file.Chmod(0o400); err != nil {
		return false, fmt.Errorf("close a segment: %w", err)
	}
	h.forget()
	return true, nil
}

// parse reads the headers of new batches to find the end of the segment.
func (h *head) parse() error {
	var header [batchHeader]byte
	for h.parsed+batchHeader <= h.synced {
		if _, err := h.file.ReadAt(header[:], h.parsed); err != nil {
			return fmt.Errorf("read the newest segment: %w", err)
		}
		b, ok := parseBatch(header[:])
		if !ok {
			return fmt.Errorf("%s has no batch at byte %d", h.file.Name(), h.parsed)
		}
		if h.parsed+b.size > h.synced {
			return nil // the broker is writing it: its answer waits for a later sync
		}
		h.parsed += b.size
		h.end = b.next
	}
	return nil
}

// open opens the oldest segment that is not closed, and syncs the folder. It returns false if there is none.
func (h *head) open() (bool, error) {
	list, err := listSegments(h.dir)
	if err != nil {
		return false, err
	}
	for _, s := range list {
		if s.closed {
			continue
		}
		file, err := os.Open(segmentPath(h.dir, s.base))
		if errors.Is(err, fs.ErrNotExist) {
			continue // retention has deleted it
		}
		if err != nil {
			return false, fmt.Errorf("open the newest segment: %w", err)
		}
		*h = head{dir: h.dir, file: file, end: s.base}
		return true, syncDir(h.dir)
	}
	return false, nil
}

func (h *head) forget() {
	if h.file != nil {
		_ = h.file.Close() // it was only read and synced
		h.file = nil
	}
}

// syncState syncs the state besides records: topics, settings, and groups with their offsets. The broker replaces
// each file as a whole and syncs it before that, except the groups.
func (s *syncer) syncState() error {
	changed, err := s.top.changed()
	if err != nil {
		return err
	}
	if changed {
		if err := s.findGroups(); err != nil {
			return err
		}
		if err := s.top.sync(); err != nil {
			return err
		}
	}
	if s.groups == nil {
		return nil // the first start, before anything was committed
	}
	info, err := s.groups.Stat()
	if err != nil {
		return fmt.Errorf("measure the groups: %w", err)
	}
	if info.Size() == s.groupsSize {
		return nil
	}
	if err := s.groups.Sync(); err != nil {
		return fmt.Errorf("sync the groups: %w", err)
	}
	s.groupsSize = info.Size()
	return nil
}

// findGroups reopens the groups file if it was replaced.
func (s *syncer) findGroups() error {
	path := filepath.Join(s.dir, groupsFile)
	for linked := false; !linked; {
		file, err := os.Open(path) //nolint:gosec // our own folder
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("open the groups: %w", err)
		}
		if same, err := sameFile(file, s.groups); err != nil || same {
			_ = file.Close() // it was not used
			return err
		}
		if err := file.Sync(); err != nil {
			return fmt.Errorf("sync the groups: %w", err)
		}
		if s.groups != nil {
			_ = s.groups.Close() // only read and synced
		}
		s.groups, s.groupsSize = file, 0 // syncState syncs what is appended later
		if linked, err = s.linkGroups(path); err != nil {
			return err
		}
	}
	return nil
}

func sameFile(a, b *os.File) (bool, error) {
	if b == nil {
		return false, nil
	}
	infoA, err := a.Stat()
	if err != nil {
		return false, fmt.Errorf("look at a file: %w", err)
	}
	infoB, err := b.Stat()
	if err != nil {
		return false, fmt.Errorf("look at a file: %w", err)
	}
	return os.SameFile(infoA, infoB), nil
}

// linkGroups gives the synced groups file its second name. It returns false if the file was replaced meanwhile.
func (s *syncer) linkGroups(path string) (bool, error) {
	temporary := filepath.Join(s.dir, syncedGroupsFile+".tmp")
	if err := link(path, temporary); err != nil {
		return false, err
	}
	linked, err := os.Open(temporary) //nolint:gosec // our own folder
	if err != nil {
		return false, fmt.Errorf("look at a link: %w", err)
	}
	defer func() { _ = linked.Close() }() // only looked at
	if same, err := sameFile(linked, s.groups); err != nil || !same {
		return false, err
	}
	if err := os.Rename(temporary, filepath.Join(s.dir, syncedGroupsFile)); err != nil { //nolint:gosec // our own folder
		return false, fmt.Errorf("name a link: %w", err)
	}
	return true, nil
}

// link gives a file a second name and replaces the file that had it.
func link(path, name string) error {
	err := os.Remove(name) //nolint:gosec // our own folder
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an old link: %w", err)
	}
	if err := os.Link(path, name); err != nil {
		return fmt.Errorf("link a file: %w", err)
	}
	return nil
}

// folder detects changes of a folder's entries.
type folder struct {
	file *os.File
	// modified is the time of the last known change, since is when that was first seen.
	modified, since time.Time
	settled         bool
}

// tick is longer than the resolution of a file system's clock: two changes within one tick may have the same time.
const tick = 100 * time.Millisecond

// changed reports whether entries may have changed since the last call.
func (f *folder) changed() (bool, error) {
	info, err := f.file.Stat()
	if err != nil {
		return false, fmt.Errorf("look at a folder of the log: %w", err)
	}
	if !info.ModTime().Equal(f.modified) {
		f.modified, f.since, f.settled = info.ModTime(), time.Now(), false
		return true, nil
	}
	was := f.settled
	f.settled = was || time.Since(f.since) > tick
	return !was, nil
}

func (f *folder) sync() error {
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("sync a folder: %w", err)
	}
	return nil
}

// syncDir syncs the entries of a folder.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open a folder of the log: %w", err)
	}
	defer func() { _ = folder.Close() }() // only read
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync a folder: %w", err)
	}
	return nil
}

// makeDir creates a folder and its parents, and syncs them.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the data folder: %w", err)
	}
	return syncDir(parent)
}
