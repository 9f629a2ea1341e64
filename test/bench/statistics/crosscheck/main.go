// Command crosscheck computes statistics of the JSON objects that it reads, one a line, and answers each with a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// question has random data. Ratings are complete in full, and have gaps (null) in gaps.
type question struct {
	Scale []float64    `json:"scale"`
	Full  [][]float64  `json:"full"`
	Gaps  [][]*float64 `json:"gaps"`
	X     []float64    `json:"x"`
	Y     []float64    `json:"y"`
	P     []float64    `json:"p"`
	Cells [4]int       `json:"cells"`
	Hits  int          `json:"hits"`
	Of    int          `json:"of"`
	// Group has the group of each of X and Y, Margin a margin for their difference.
	Group  []int   `json:"group"`
	Margin float64 `json:"margin"`
	// Judged is what a judge says of each item, from 0 to 1, Labels what people say; null for none.
	Judged []float64  `json:"judged"`
	Labels []*float64 `json:"labels"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), bufio.NewWriter(os.Stdout)
	for in.More() {
		var q question
		if err := in.Decode(&q); err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if err := json.NewEncoder(out).Encode(q.answer()); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
	return out.Flush()
}

// answer names each figure as crosscheck.py does.
func (q question) answer() map[string]any {
	a := map[string]any{}
	corrected := stats.PPI(withNaN(q.Labels), q.Judged, 0, 1)
	a["ppi"], a["ppi lambda"], a["ppi of judge"], a["ppi ci"] = corrected.Value.Value, corrected.Lambda, corrected.OfJudge, corrected.Interval(.05)
	if len(q.Full) == 0 {
		return a
	}
	gaps := make([][]float64, len(q.Gaps))
	for i, row := range q.Gaps {
		gaps[i] = withNaN(row)
	}
	for _, scale := range []stats.Scale{stats.NominalScale, stats.OrdinalScale, stats.IntervalScale} {
		a["alpha "+string(scale)] = stats.KrippendorffInterval(gaps, scale, stats.BootstrapOptions{Resamples: 1}).Value.Value
	}
	var first, second []float64
	for _, row := range q.Full {
		first, second = append(first, row[0]), append(second, row[1])
	}
	for name, scale := range map[string]stats.Scale{"identity": stats.NominalScale, "linear": stats.OrdinalScale, "quadratic": stats.IntervalScale} {
		a["cohen "+name] = stats.PairKappa(first, second, scale, stats.BootstrapOptions{Resamples: 1}).Value.Value
	}
	a["spearman"] = stats.Spearman(first, second).Value.Value
	a["mean ci"] = stats.MeanInterval(q.X, .05).CI
	a["holm"], a["bh"] = stats.Holm(q.P), stats.BenjaminiHochberg(q.P)
	a["mcnemar"] = stats.McNemarTest(q.Cells[1], q.Cells[2]).Value
	fisher := stats.FisherExact(q.Cells[0], q.Cells[1], q.Cells[2], q.Cells[3])
	a["fisher"], a["fisher greater"] = fisher.TwoSided.Value, fisher.Greater.Value
	a["wilson"], a["clopper-pearson"] = stats.Wilson(float64(q.Hits), float64(q.Of), .05), stats.ClopperPearson(q.Hits, q.Of, .05)
	var differences []float64
	for i := range min(len(q.X), 12) {
		differences = append(differences, math.Round(10*(q.X[i]-q.Y[i])))
	}
	q.compare(a)
	a["welch ci"] = stats.WelchDifference(stats.Groups{A: q.X, B: q.Y}, .05).CI
	a["newcombe"] = stats.NewcombeDifference(q.Cells[0], q.Cells[0]+q.Cells[1], q.Cells[2], q.Cells[2]+q.Cells[3], .05)
	a["tango"] = stats.PairedProportions(q.Cells[1], q.Cells[2], q.Cells[0]+q.Cells[1]+q.Cells[2]+q.Cells[3], .05)
	seen := slices.Compact(slices.Sorted(slices.Values(slices.Concat(first, second))))
	pairs := make([][]float64, len(first))
	for i := range first {
		pairs[i] = []float64{first[i], second[i]}
	}
	a["gwet"] = stats.MeasureReliability(pairs, stats.NominalScale, seen, stats.BootstrapOptions{Resamples: 1}).GwetAC.Value.Value
	a["sign flip"] = stats.SignFlip(differences, 1).P.Value
	return a
}

func withNaN(values []*float64) []float64 {
	all := make([]float64, len(values))
	for i, x := range values {
		all[i] = math.NaN()
		if x != nil {
			all[i] = *x
		}
	}
	return all
}

// compare compares X and Y as a comparison and a gate do: with and without groups.
func (q question) compare(a map[string]any) {
	m := compare.Metric{Better: compare.HigherBetter, Amount: true, Equivalence: &q.Margin}
	for i := range q.X {
		m.Items = append(m.Items, compare.Paired{A: q.X[i : i+1], B: q.Y[i : i+1]})
	}
	paired := compare.Compare([]compare.Metric{m}, compare.Options{})[0]
	a["paired ci"] = paired.Difference.CI
	a["equivalent"] = paired.Verdict == compare.Equivalent
	gate := compare.NonInferiority(m, compare.GateOptions{Margin: q.Margin})
	a["gate passes"], a["gate fails"] = gate.Decision == compare.Pass, gate.Decision == compare.Regression
	for i := range m.Items {
		m.Items[i].Group = q.Group[i]
	}
	grouped := compare.Compare([]compare.Metric{m}, compare.Options{})[0]
	a["clustered ci"], a["clustered p"] = grouped.Difference.CI, grouped.Difference.P
}
