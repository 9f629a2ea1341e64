package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/test/product"
)

// Flood sends OTLP protobuf requests as fast as they are answered.
type Flood struct {
	Ports product.Ports
	Key   string
	// Door is one that takes protobuf.
	Door Door
	// Connections send at once; each request carries so many runs of so many spans.
	Connections, RunsPerRequest, SpansPerRun int
}

// Send floods until ctx ends. It returns the runs that were acknowledged, in that order, and the answers that
// were not acknowledgements.
func (f *Flood) Send(ctx context.Context) (runs []Run, failures []error) {
	var (
		mu      sync.Mutex
		sending sync.WaitGroup
	)
	for range f.Connections {
		sending.Go(func() {
			stencil := newStencil(f.Door, f.RunsPerRequest, f.SpansPerRun)
			for ctx.Err() == nil {
				sent := stencil.next()
				answer, err := product.Post(context.WithoutCancel(ctx), f.Door.url(f.Ports), f.Key, f.Door.contentType(), stencil.body)
				if err == nil && answer.Status != f.Door.accepted() {
					err = fmt.Errorf("%s answers %d: %.200s", f.Door, answer.Status, answer.Body)
				}
				mu.Lock()
				if err != nil {
					failures = append(failures, err)
				} else {
					runs = append(runs, accepted(sent)...)
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return runs, failures
}

func accepted(runs []Run) []Run {
	now := time.Now()
	for i := range runs {
		runs[i].Accepted = now
	}
	return runs
}

// stencil is an encoded request of which only the ids of the runs are written anew each time, since encoding
// would cost the generator more than the product's own work.
type stencil struct {
	body []byte
	runs []Run
	// places are where each run's trace id stands, roots where its root's span id does: its second half.
	places, roots [][]int
}

func newStencil(door Door, runs, spans int) *stencil {
	s := &stencil{}
	for range runs {
		run, bodies := newRun(door, Shape{Spans: spans})
		// A request is a list of resources; lists in protobuf are joined by putting them one behind the other.
		s.runs, s.body = append(s.runs, run), append(s.body, bodies[0]...)
	}
	for _, run := range s.runs {
		s.places = append(s.places, occurrences(s.body, run.ID[:]))
		s.roots = append(s.roots, occurrences(s.body, run.ID[8:]))
	}
	return s
}

// next gives the runs of the stencil new ids.
func (s *stencil) next() []Run {
	sent := slices.Clone(s.runs)
	for i := range sent {
		var id uuid.UUID
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // never all zero
		sent[i].ID = id
		for _, at := range s.roots[i] {
			copy(s.body[at:], id[8:])
		}
		for _, at := range s.places[i] {
			copy(s.body[at:], id[:])
		}
	}
	return sent
}

func occurrences(body, id []byte) []int {
	var places []int
	for from := 0; ; {
		at := bytes.Index(body[from:], id)
		if at < 0 {
			return places
		}
		places = append(places, from+at)
		from += at + len(id)
	}
}
