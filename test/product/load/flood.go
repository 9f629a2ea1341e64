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
	// Endpoint must accept protobuf.
	Endpoint Endpoint
	// Connections is the number of concurrent connections. Each request has so many runs of so many spans.
	Connections, RunsPerRequest, SpansPerRun int
}

// Send floods until ctx ends. It returns the acknowledged runs in order, and the answers that were no
// acknowledgements.
func (f *Flood) Send(ctx context.Context) (runs []Run, failures []error) {
	var (
		mu      sync.Mutex
		sending sync.WaitGroup
	)
	for range f.Connections {
		sending.Go(func() {
			template := newTemplate(f.Endpoint, f.RunsPerRequest, f.SpansPerRun)
			for ctx.Err() == nil {
				sent := template.next()
				answer, err := product.Post(context.WithoutCancel(ctx), f.Endpoint.url(f.Ports), f.Key, f.Endpoint.contentType(), template.body)
				if err == nil && answer.Status != f.Endpoint.accepted() {
					err = fmt.Errorf("%s answers %d: %.200s", f.Endpoint, answer.Status, answer.Body)
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

// template is an encoded request in which only the ids of the runs are replaced, because encoding would cost the
// generator more than the product's work.
type template struct {
	body []byte
	runs []Run
	// traces are the offsets of each run's trace id, roots those of the second half of its root's span id.
	places, roots [][]int
}

func newTemplate(endpoint Endpoint, runs, spans int) *template {
	s := &template{}
	for range runs {
		run, bodies := newRun(endpoint, Shape{Spans: spans})
		// A request is a list of resources. Lists in protobuf are joined by concatenation.
		s.runs, s.body = append(s.runs, run), append(s.body, bodies[0]...)
	}
	for _, run := range s.runs {
		s.places = append(s.places, occurrences(s.body, run.ID[:]))
		s.roots = append(s.roots, occurrences(s.body, run.ID[8:]))
	}
	return s
}

// next gives the runs of the template new ids.
func (s *template) next() []Run {
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
