package results

import (
	"bytes"
	"crypto/sha256"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// fewPairs is the number of items with labels on both sides below which they correct no difference.
const fewPairs = 20

// drawOrder is by what items are sorted in the order in which people label the items of a dataset. It is random, and the same for all of its
// evaluations: the first items are a random sample of each, and of both sides of a difference. "list items" has it in SQL.
func drawOrder(dataset, item uuid.UUID) []byte {
	sum := sha256.Sum256(append(dataset[:], item[:]...))
	return sum[:]
}

// drawn returns the numbers of the items in the order in which they are to be labelled.
func (r *Results) drawn() []int {
	numbers, order := make([]int, len(r.Items)), make([][]byte, len(r.Items))
	for i := range r.Items {
		numbers[i], order[i] = i+1, drawOrder(r.e.DatasetID, r.Items[i].ID)
	}
	slices.SortFunc(numbers, func(x, y int) int { return bytes.Compare(order[x-1], order[y-1]) })
	return numbers
}

// addPeople notes what people say of an output, from 0 to 1, on the scale of a panel. The first output of an item with a label stands for
// the item.
func (i *Item) addPeople(side int, name string, people *float64) {
	if people == nil {
		return
	}
	if i.people[side] == nil {
		i.people[side] = map[string]float64{}
	}
	if _, ok := i.people[side][name]; !ok {
		i.people[side][name] = *people
	}
}

// corrected returns the difference of a metric corrected by labels of people. Each pair of an item has the values of both sides, and what
// people say of them. It returns nil if labels are too few, or were not drawn at random.
func corrected(pairs []labelledPair) *stats.Correction {
	if c := correctionOf(pairs); c.Labels >= fewPairs {
		return &c
	}
	return nil
}

// correctionOf is the correction by the labels in random order, however few they are.
func correctionOf(pairs []labelledPair) stats.Correction {
	slices.SortFunc(pairs, func(x, y labelledPair) int { return bytes.Compare(x.order, y.order) })
	labels, judged := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, pair := range pairs {
		labels[i], judged[i] = pair.label, pair.judged
	}
	return stats.PPI(labels, judged, -1, 1)
}

// labelledPair is the difference of an item: by judges, and by people, NaN if a side has no label.
type labelledPair struct {
	order         []byte
	judged, label float64
}

// addPair adds an item that both sides have.
func addPair(pairs []labelledPair, dataset uuid.UUID, name string, item uuid.UUID, a, b []float64, people [2]map[string]float64) []labelledPair {
	if len(a) == 0 || len(b) == 0 {
		return pairs
	}
	pair := labelledPair{drawOrder(dataset, item), *Mean(b) - *Mean(a), math.NaN()}
	labelA, okA := people[evaluations.SideA][name]
	if labelB, okB := people[evaluations.SideB][name]; okA && okB {
		pair.label = labelB - labelA
	}
	return append(pairs, pair)
}

// pairsOf returns the items with scores of judges on both sides of a comparison.
func (r *Results) pairsOf(m *Metric) []labelledPair {
	var pairs []labelledPair
	if !r.own[m.Name] {
		return nil
	}
	index := r.Index(m.Name)
	for i := range r.Items {
		item := &r.Items[i]
		pairs = addPair(pairs, r.e.DatasetID, m.Name, item.ID, item.ValuesOf(evaluations.SideA, index), item.ValuesOf(evaluations.SideB, index), item.people)
	}
	return pairs
}

// addLabels says of a score of judges how many items have labels on both sides, and why these do not correct the difference.
func (m *MetricSummary) addLabels(pairs []labelledPair) {
	if len(pairs) == 0 {
		return
	}
	for _, pair := range pairs {
		if !math.IsNaN(pair.label) {
			m.LabelsPaired++
		}
	}
	switch drawn := correctionOf(pairs).Labels; {
	case m.Judged != nil:
		m.LabelsDrawn = drawn
	case m.Groups != nil:
		m.LabelsFlag = new(panel.Grouped)
	case len(pairs) < fewPairs:
		m.LabelsFlag = new(stats.TooFew)
	case m.LabelsPaired >= fewPairs:
		m.LabelsFlag, m.LabelsNeeded = new(panel.NotDrawn), new(fewPairs-drawn)
	default:
		m.LabelsFlag, m.LabelsNeeded = new(panel.NeedsLabels), new(fewPairs-drawn)
	}
}
