package clickhouserunsexporter

import (
	"container/list"
	"maps"
	"sync"

	"github.com/looptrace/looptrace/internal/runpdata"
)

// memory remembers contents of runs. It holds a bounded number of them: the runs that were not heard of for longest are
// forgotten, each with all of its contents.
type memory struct {
	most int

	mu    sync.Mutex
	runs  map[runpdata.RunHour]*list.Element
	order *list.List // of remembered, the newest first
	held  int
}

// remembered are the contents of one run and hour. They are replaced and never changed, since they are read unlocked.
type remembered struct {
	at       runpdata.RunHour
	contents runpdata.KnownContents
}

func newMemory(most int) *memory {
	m := &memory{most: most}
	m.forget()
	return m
}

// of returns what is known of a run and hour, which must not be changed.
func (m *memory) of(at runpdata.RunHour) runpdata.KnownContents {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.runs[at]
	if !ok {
		return nil
	}
	m.order.MoveToFront(element)
	return element.Value.(*remembered).contents
}

// add takes over contents of a run and hour.
func (m *memory) add(at runpdata.RunHour, contents runpdata.KnownContents) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.runs[at]
	if !ok {
		element = m.order.PushFront(&remembered{at: at})
		m.runs[at] = element
	}
	m.order.MoveToFront(element)
	known := element.Value.(*remembered)
	m.held -= len(known.contents)
	if len(known.contents) > 0 {
		both := maps.Clone(known.contents)
		maps.Copy(both, contents)
		contents = both
	}
	known.contents = contents
	m.held += len(known.contents)
	for m.held > m.most {
		oldest := m.order.Back()
		gone := m.order.Remove(oldest).(*remembered)
		delete(m.runs, gone.at)
		m.held -= len(gone.contents)
	}
}

// forget forgets everything.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs, m.order, m.held = map[runpdata.RunHour]*list.Element{}, list.New(), 0
}

// sharings remember how contents are shared: half as many as it may hold at least, those that were asked for or added last.
// Nothing in it is a pointer, which spares the garbage collector a walk through all of it.
type sharings struct {
	most int

	mu sync.Mutex
	// newer takes what is added. When it is full, it becomes older, in which what is asked for is still found.
	newer, older map[runpdata.SharedKey]runpdata.Sharing
}

func newSharings(most int) *sharings {
	s := &sharings{most: most}
	s.forget()
	return s
}

// of returns what is known of a content, runpdata.SharingUnseen where nothing is.
func (s *sharings) of(key runpdata.SharedKey) runpdata.Sharing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sharing, ok := s.newer[key]; ok {
		return sharing
	}
	sharing, ok := s.older[key]
	if ok {
		s.put(key, sharing)
	}
	return sharing
}

func (s *sharings) add(key runpdata.SharedKey, sharing runpdata.Sharing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, sharing)
}

func (s *sharings) put(key runpdata.SharedKey, sharing runpdata.Sharing) {
	if len(s.newer) >= max(s.most/2, 1) {
		s.newer, s.older = s.older, s.newer
		clear(s.newer)
	}
	s.newer[key] = sharing
}

// forget forgets everything.
func (s *sharings) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newer, s.older = map[runpdata.SharedKey]runpdata.Sharing{}, map[runpdata.SharedKey]runpdata.Sharing{}
}
