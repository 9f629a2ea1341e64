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
	// syncedGroupsFile is a second name of the groups file that is on the disk as a whole. The broker writes
	// the groups file anew when it has grown and renames it into place before it is on the disk.
	syncedGroupsFile = "groups.synced"
)

// syncer brings to the disk what the broker has written, before anybody hears of it. kfake writes and answers
// in one loop and leaves the disk to the operating system; every answer passes through sync, and one sync
// serves all that wait for it. So no client knows of a record, an offset or a topic that a power cut could
// take back: not the producer, and not a consumer that would commit an offset behind it.
type syncer struct {
	dir string

	mu     sync.Mutex // held while the disk writes: who waits for it is served by the next pass
	closed bool
	// top is the data folder, partitions the folder of those.
	top, partitions folder
	heads           map[string]*head // by the folder of the partition
	groups          *os.File
	// groupsSize is how much of groups is on the disk.
	groupsSize int64
}

// head is the newest segment of a partition.
type head struct {
	dir  string
	file *os.File // nil before the first record
	// synced is how much of it is on the disk, parsed how much was read as batches, end the offset behind them.
	synced, parsed, end int64
}

// newSyncer opens the folders, which are there.
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

// close ends what sync keeps open. Nothing is acknowledged afterwards.
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

// sync brings a partition to the disk, segment after segment.
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

// advance brings a segment to the disk; true when another one is to be looked for.
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
			return false, fmt.Errorf("bring a segment to the disk: %w", err)
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

// parse reads the headers of the batches that came, to know where the segment ends.
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
			return nil // the broker is writing it: its answer comes after this pass
		}
		h.parsed += b.size
		h.end = b.next
	}
	return nil
}

// open takes up the oldest segment that is not closed; false when there is none. That it is there must be on
// the disk too.
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

// syncState brings to the disk what is known besides records: topics, settings, groups with their offsets.
// Each is replaced as a whole and, but for the groups, synced before that.
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
		return fmt.Errorf("bring the groups to the disk: %w", err)
	}
	s.groupsSize = info.Size()
	return nil
}

// findGroups takes up a groups file that has replaced the one before it.
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
			_ = file.Close() // nothing was done with it
			return err
		}
		if err := file.Sync(); err != nil {
			return fmt.Errorf("bring the groups to the disk: %w", err)
		}
		if s.groups != nil {
			_ = s.groups.Close() // only read and synced
		}
		s.groups, s.groupsSize = file, 0 // what comes meanwhile is for syncState
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

// linkGroups gives the groups file that is on the disk its second name; false when it was replaced meanwhile.
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

// link gives a file a second name, whatever had it before.
func link(path, name string) error {
	err := os.Remove(name) //nolint:gosec // our own folder
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear the way for a link: %w", err)
	}
	if err := os.Link(path, name); err != nil {
		return fmt.Errorf("link a file: %w", err)
	}
	return nil
}

// folder tells when its entries changed.
type folder struct {
	file *os.File
	// modified is the time of the last change that was seen, since when it was first seen.
	modified, since time.Time
	settled         bool
}

// tick is longer than what the clock of a file system needs to go on: two changes within one have one time.
const tick = 100 * time.Millisecond

// changed tells whether there may be other entries than at the last call.
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
		return fmt.Errorf("bring a folder to the disk: %w", err)
	}
	return nil
}

// syncDir brings to the disk which files a folder has.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open a folder of the log: %w", err)
	}
	defer func() { _ = folder.Close() }() // only read
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("bring a folder to the disk: %w", err)
	}
	return nil
}

// makeDir makes a folder and those above it, and brings them to the disk.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the data folder: %w", err)
	}
	return syncDir(parent)
}
