package evaluations

// outputsOfItem returns how many outputs an item has on all sides.
func (r *results) outputsOfItem() int {
	if r.e.Kind == EvalRun {
		return r.e.Repeats
	}
	return r.config.repeats()
}

// decide sets the status and the metrics of an item.
func (i *itemResult) decide(r *results) {
	whole := i.ok[sideA]+i.failed[sideA]+i.absent[sideA]+i.ok[sideB]+i.failed[sideB]+i.absent[sideB] == r.outputsOfItem()
	sides := []int{sideA, sideB}
	i.metrics = map[string]ItemMetric{}
	if r.e.Kind == EvalRun {
		sides = sides[:1]
		for m := range r.metrics {
			if values := i.valuesOf(sideA, r.index(r.metrics[m].name)); len(values) > 0 {
				i.metrics[r.metrics[m].name] = ItemMetric{A: mean(values)}
			}
		}
	} else {
		for m := range r.metrics {
			index := r.index(r.metrics[m].name)
			if len(i.valuesOf(sideA, index)) > 0 || len(i.valuesOf(sideB, index)) > 0 {
				i.metrics[r.metrics[m].name] = itemMetric(&r.metrics[m], i.valuesOf(sideA, index), i.valuesOf(sideB, index))
			}
		}
	}
	for name, split := range i.splits {
		m := i.metrics[name]
		m.Split = &split
		i.metrics[name] = m
	}
	i.status = ItemScored
	for _, side := range sides {
		switch {
		case !whole:
			i.status = ItemPending
		case i.ok[side] == 0:
			i.status = ItemTargetFailed
		case i.status == ItemScored && i.unvoted:
			i.status = ItemPending
		case i.status == ItemScored && r.summary.PrimaryMetric != nil && !r.hasScore(i, side, *r.summary.PrimaryMetric):
			i.status = ItemJudgeFailed
		}
	}
}

// itemMetric compares the sides of an item.
func itemMetric(m *metric, a, b []float64) ItemMetric {
	found := ItemMetric{A: mean(a), B: mean(b), Outcome: OutcomeFailed}
	if found.A == nil || found.B == nil {
		return found
	}
	switch difference := m.better.sign() * (*found.B - *found.A); {
	case difference > tiny:
		found.Outcome = OutcomeImproved
	case difference < -tiny:
		found.Outcome = OutcomeRegressed
	default:
		found.Outcome = OutcomeUnchanged
	}
	return found
}

// tiny is a difference that comes from the order of additions.
const tiny = 1e-12

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return new(sum / float64(len(values)))
}
