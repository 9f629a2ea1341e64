package deadletters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
)

const (
	// chunkBytes and chunkRecords limit what is produced at once. Each chunk is noted as redriven before the next.
	chunkBytes   = 16 << 20
	chunkRecords = 200
)

// selection selects the letters to redrive: named locations, else those with a reason, else all.
type selection struct {
	locations []location
	reason    string
}

// plan is the work of a redrive.
type plan struct {
	locations map[location]bool
	bytes     int64
	// before is how many selected letters were redriven before and are left out.
	before int

	bounds map[int32]span
	done   map[int32]*done
}

// plan reads the topic and finds the selected letters. It leaves out those that were redriven before, unless they are
// named.
func (q *queue) plan(ctx context.Context, s selection) (*plan, error) {
	p := &plan{locations: map[location]bool{}}
	var err error
	if p.bounds, err = q.bounds(ctx); err != nil {
		return nil, err
	}
	if p.done, err = q.redriven(ctx); err != nil {
		return nil, err
	}
	ranges := p.bounds
	if len(s.locations) > 0 {
		ranges = covering(s.locations)
		for _, at := range s.locations {
			if err := checkLocation(at, p.bounds); err != nil {
				return nil, err
			}
		}
	}
	err = q.read(ctx, ranges, func(l deadLetter) error {
		switch {
		case len(s.locations) > 0 && !slices.Contains(s.locations, l.location):
			return nil
		case s.reason != "" && l.reason != s.reason:
			return nil
		case len(s.locations) == 0 && p.done[l.partition] != nil && p.done[l.partition].has(l.offset):
			p.before++
			return nil
		}
		p.locations[l.location] = true
		p.bytes += int64(len(l.record.Value))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, at := range s.locations {
		if !p.locations[at] {
			return nil, fmt.Errorf("there is no dead letter %s", at)
		}
	}
	return p, nil
}

// covering returns the smallest range of each partition that contains the locations.
func covering(locations []location) map[int32]span {
	ranges := map[int32]span{}
	for _, at := range locations {
		r, ok := ranges[at.partition]
		if !ok {
			r = span{at.offset, at.offset + 1}
		}
		ranges[at.partition] = span{min(r.first, at.offset), max(r.end, at.offset+1)}
	}
	return ranges
}

// redrive produces the planned letters to the topic of spans, acknowledged by all in-sync replicas, and notes them
// after each chunk. It returns how many were redriven, also with an error.
func (q *queue) redrive(ctx context.Context, p *plan, progress func(redriven int)) (int, error) {
	redriven, size := 0, 0
	var chunk []deadLetter
	flush := func() error {
		acknowledged, err := q.produce(ctx, chunk)
		for _, l := range acknowledged {
			if p.done[l.partition] == nil {
				p.done[l.partition] = &done{}
			}
			p.done[l.partition].add(l.offset, p.bounds[l.partition].first)
		}
		if redriven += len(acknowledged); len(acknowledged) > 0 {
			// Also after an error or Ctrl-C: these need not be redriven again.
			noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
			defer cancel()
			err = errors.Join(err, q.note(noting, p.done))
		}
		chunk, size = chunk[:0], 0
		progress(redriven)
		return err
	}
	err := q.read(ctx, covering(slices.Collect(maps.Keys(p.locations))), func(l deadLetter) error {
		if !p.locations[l.location] {
			return nil
		}
		chunk = append(chunk, l)
		if size += len(l.record.Value); size < chunkBytes && len(chunk) < chunkRecords {
			return nil
		}
		return flush()
	})
	if err == nil && len(chunk) > 0 {
		err = flush()
	}
	return redriven, err
}

// produce returns the letters whose records were acknowledged, and the first error of the others.
func (q *queue) produce(ctx context.Context, letters []deadLetter) (acknowledged []deadLetter, err error) {
	from := map[*kgo.Record]deadLetter{}
	records := make([]*kgo.Record, 0, len(letters))
	for _, l := range letters {
		record := l.original(migrate.SpansTopic)
		from[record] = l
		records = append(records, record)
	}
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	for _, result := range q.client.ProduceSync(ctx, records...) {
		if result.Err == nil {
			acknowledged = append(acknowledged, from[result.Record])
		} else if err == nil {
			err = fmt.Errorf("redrive %s: %w", from[result.Record].location, result.Err)
		}
	}
	return acknowledged, err
}
