package agentview

import "slices"

// batchSize is how many spans have their texts read at a time.
const batchSize = 128

// prefetcher reads the texts of steps ahead of the operations that show them.
type prefetcher struct {
	v       *view
	pull    func() (operation, bool)
	pending []operation
}

func (r *prefetcher) next() (operation, bool, error) {
	if len(r.pending) == 0 {
		if err := r.ahead(); err != nil {
			return operation{}, false, err
		}
	}
	if len(r.pending) == 0 {
		return operation{}, false, nil
	}
	op := r.pending[0]
	r.pending = r.pending[1:]
	return op, true, nil
}

// ahead takes the next operations and reads the texts of the steps that they are the first to name. How many it takes at a time does not
// affect the view.
func (r *prefetcher) ahead() error {
	const tokensOfAStep = 48
	limit := min(batchSize, max(16, r.v.options.Budget/tokensOfAStep))
	var steps []int
	for len(steps) < limit && len(r.pending) < 4*batchSize {
		op, ok := r.pull()
		if !ok {
			break
		}
		r.pending = append(r.pending, op)
		if op.kind == addStep && !r.v.steps[op.step].hasTexts && !slices.Contains(steps, op.step) {
			steps = append(steps, op.step)
		}
	}
	return r.v.readTexts(steps)
}

// readTexts reads the texts of steps that do not have theirs.
func (v *view) readTexts(steps []int) error {
	var ids []uint64
	at := map[uint64]int{}
	for _, i := range steps {
		if v.steps[i].hasTexts {
			continue
		}
		v.steps[i].hasTexts = true
		id := v.steps[i].span.SpanID
		ids = append(ids, id)
		at[id] = i
	}
	if len(ids) == 0 {
		return nil
	}
	spans, err := v.read(ids)
	if err != nil {
		return err
	}
	for i := range spans {
		if step, ok := at[spans[i].SpanID]; ok {
			s := &v.steps[step]
			s.setTexts(&spans[i], v.options.Key)
			for j := range s.parts {
				if v.repeats != nil {
					v.repeats.compose(&s.parts[j], s.mark, s.acts)
				}
			}
		}
	}
	return nil
}
