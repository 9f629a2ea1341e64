package results

import (
	"github.com/looptrace/looptrace/controlplane/evaluations"
)

// outputsOfItem returns how many outputs an item has on all sides.
func (r *Results) outputsOfItem() int {
	if r.e.Kind == evaluations.EvalRun {
		return r.e.Repeats
	}
	return r.config.Repeats()
}

// decide sets the status and the metrics of an item.
func (i *Item) decide(r *Results) {
	whole := i.ok[evaluations.SideA]+i.Failed[evaluations.SideA]+i.absent[evaluations.SideA]+i.ok[evaluations.SideB]+i.Failed[evaluations.SideB]+i.absent[evaluations.SideB] == r.outputsOfItem()
	sides := []int{evaluations.SideA, evaluations.SideB}
	i.Metrics = map[string]evaluations.ItemMetric{}
	if r.e.Kind == evaluations.EvalRun {
		sides = sides[:1]
		for m := range r.metrics {
			if values := i.ValuesOf(evaluations.SideA, r.Index(r.metrics[m].Name)); len(values) > 0 {
				i.Metrics[r.metrics[m].Name] = evaluations.ItemMetric{A: Mean(values)}
			}
		}
	} else {
		for m := range r.metrics {
			index := r.Index(r.metrics[m].Name)
			if len(i.ValuesOf(evaluations.SideA, index)) > 0 || len(i.ValuesOf(evaluations.SideB, index)) > 0 {
				i.Metrics[r.metrics[m].Name] = itemMetric(&r.metrics[m], i.ValuesOf(evaluations.SideA, index), i.ValuesOf(evaluations.SideB, index))
			}
		}
	}
	for name, split := range i.splits {
		m := i.Metrics[name]
		m.Split = &split
		i.Metrics[name] = m
	}
	i.Status = evaluations.ItemScored
	for _, side := range sides {
		switch {
		case !whole:
			i.Status = evaluations.ItemPending
		case i.ok[side] == 0:
			i.Status = evaluations.ItemTargetFailed
		case i.Status == evaluations.ItemScored && i.unvoted:
			i.Status = evaluations.ItemPending
		case i.Status == evaluations.ItemScored && r.Summary.PrimaryMetric != nil && !r.hasScore(i, side, *r.Summary.PrimaryMetric):
			i.Status = evaluations.ItemJudgeFailed
		}
	}
}

// itemMetric compares the sides of an item.
func itemMetric(m *Metric, a, b []float64) evaluations.ItemMetric {
	found := evaluations.ItemMetric{A: Mean(a), B: Mean(b), Outcome: evaluations.OutcomeFailed}
	if found.A == nil || found.B == nil {
		return found
	}
	switch difference := m.Better.Sign() * (*found.B - *found.A); {
	case difference > Tiny:
		found.Outcome = evaluations.OutcomeImproved
	case difference < -Tiny:
		found.Outcome = evaluations.OutcomeRegressed
	default:
		found.Outcome = evaluations.OutcomeUnchanged
	}
	return found
}

// Tiny is a difference that comes from the order of additions.
const Tiny = 1e-12

// Mean returns the mean of values, nil without any.
func Mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return new(sum / float64(len(values)))
}
