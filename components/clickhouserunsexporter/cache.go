package clickhouserunsexporter

import (
	"container/list"
	"maps"
	"sync"

	"github.com/looptrace/looptrace/internal/runpdata"
)

// contentCache remembers the contents of runs that are stored. If it is full, it drops the least recently used runs
// with all of their contents.
type contentCache struct {
	capacity int

	mu      sync.Mutex
	runs    map[runpdata.RunHour]*list.Element
	recency *list.List // least recently used last
	held    int
}

// cachedContents are the contents of a run and hour. They are read without a lock, so they are replaced and never
// changed.
type cachedContents struct {
	at       runpdata.RunHour
	contents runpdata.KnownContents
}

func newContentCache(capacity int) *contentCache {
	m := &contentCache{capacity: capacity}
	m.clear()
	return m
}

// get returns the known contents of a run and hour. Callers must not change them.
func (m *contentCache) get(at runpdata.RunHour) runpdata.KnownContents {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.runs[at]
	if !ok {
		return nil
	}
	m.recency.MoveToFront(element)
	return element.Value.(*cachedContents).contents
}

// add adds contents of a run and hour.
func (m *contentCache) add(at runpdata.RunHour, contents runpdata.KnownContents) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.runs[at]
	if !ok {
		element = m.recency.PushFront(&cachedContents{at: at})
		m.runs[at] = element
	}
	m.recency.MoveToFront(element)
	known := element.Value.(*cachedContents)
	m.held -= len(known.contents)
	if len(known.contents) > 0 {
		both := maps.Clone(known.contents)
		maps.Copy(both, contents)
		contents = both
	}
	known.contents = contents
	m.held += len(known.contents)
	for m.held > m.capacity {
		oldest := m.recency.Back()
		gone := m.recency.Remove(oldest).(*cachedContents)
		delete(m.runs, gone.at)
		m.held -= len(gone.contents)
	}
}

// clear removes everything.
func (m *contentCache) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs, m.recency, m.held = map[runpdata.RunHour]*list.Element{}, list.New(), 0
}

// sharedContentCache remembers which contents are shared: at least the capacity/2 that were used last. It contains no
// pointers, so the garbage collector need not scan it.
type sharedContentCache struct {
	capacity int

	mu sync.Mutex
	// newer gets what is added. When it is full it becomes older, which is still searched.
	newer, older map[runpdata.SharedKey]runpdata.ShareState
}

func newSharedContentCache(capacity int) *sharedContentCache {
	s := &sharedContentCache{capacity: capacity}
	s.clear()
	return s
}

// get returns the state of a content, or runpdata.ShareUnseen.
func (s *sharedContentCache) get(key runpdata.SharedKey) runpdata.ShareState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, ok := s.newer[key]; ok {
		return state
	}
	state, ok := s.older[key]
	if ok {
		s.put(key, state)
	}
	return state
}

func (s *sharedContentCache) add(key runpdata.SharedKey, state runpdata.ShareState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, state)
}

func (s *sharedContentCache) put(key runpdata.SharedKey, state runpdata.ShareState) {
	if len(s.newer) >= max(s.capacity/2, 1) {
		s.newer, s.older = s.older, s.newer
		clear(s.newer)
	}
	s.newer[key] = state
}

// clear removes everything.
func (s *sharedContentCache) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newer, s.older = map[runpdata.SharedKey]runpdata.ShareState{}, map[runpdata.SharedKey]runpdata.ShareState{}
}
