// Package compare compares measurements of several systems: medians over rounds with their ranges, and ratios to one
// of the systems.
package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Figure is one measured number.
type Figure struct {
	Name  string
	Value float64
}

// Table holds the figures of systems that were measured the same way.
type Table struct {
	// Title says what was measured. Base is the system that ratios refer to.
	Title, Base string

	systems, figures []string // in order of appearance
	rounds           map[string]map[string][]float64
}

// Add adds the figures of one round of a system.
func (t *Table) Add(system string, figures ...Figure) {
	if t.rounds == nil {
		t.rounds = map[string]map[string][]float64{}
	}
	if t.rounds[system] == nil {
		t.systems = append(t.systems, system)
		t.rounds[system] = map[string][]float64{}
	}
	for _, f := range figures {
		if !slices.Contains(t.figures, f.Name) {
			t.figures = append(t.figures, f.Name)
		}
		t.rounds[system][f.Name] = append(t.rounds[system][f.Name], f.Value)
	}
}

// Summary is the median and range of a figure over its rounds.
type Summary struct {
	Median float64   `json:"median"`
	Low    float64   `json:"low"`
	High   float64   `json:"high"`
	Rounds []float64 `json:"rounds"`
}

// Summary returns the summary of a figure of a system. ok is false if it was not measured.
func (t *Table) Summary(system, figure string) (s Summary, ok bool) {
	rounds := t.rounds[system][figure]
	if len(rounds) == 0 {
		return Summary{}, false
	}
	sorted := slices.Sorted(slices.Values(rounds))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Summary{Median: median, Low: sorted[0], High: sorted[len(sorted)-1], Rounds: rounds}, true
}

// Ratio returns the median of a figure of a system divided by the base's. ok is false if one of them was not measured
// or the base's is 0.
func (t *Table) Ratio(system, figure string) (ratio float64, ok bool) {
	own, measured := t.Summary(system, figure)
	base, toBase := t.Summary(t.Base, figure)
	if !measured || !toBase || base.Median == 0 {
		return 0, false
	}
	return own.Median / base.Median, true
}

// Print writes a table for people: for each figure the median of each system with its range, and its ratio to the
// base's.
func (t *Table) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\n", t.Title) // Flush reports
	for _, system := range t.systems {
		_, _ = fmt.Fprintf(w, "\t%s", system)
		if system != t.Base {
			_, _ = fmt.Fprint(w, "\t×")
		}
	}
	_, _ = fmt.Fprintln(w)
	for _, figure := range t.figures {
		_, _ = fmt.Fprint(w, "  "+figure)
		for _, system := range t.systems {
			cell := "-"
			if s, ok := t.Summary(system, figure); ok {
				cell = number(s.Median)
				if len(s.Rounds) > 1 {
					cell += fmt.Sprintf(" (%s-%s)", number(s.Low), number(s.High))
				}
			}
			_, _ = fmt.Fprint(w, "\t"+cell)
			if system == t.Base {
				continue
			}
			cell = "-"
			if ratio, ok := t.Ratio(system, figure); ok {
				cell = fmt.Sprintf("%.2f", ratio)
			}
			_, _ = fmt.Fprint(w, "\t"+cell)
		}
		_, _ = fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}

// number formats a figure briefly.
func number(value float64) string {
	if value < 100 {
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

// MarshalJSON encodes the table for programs.
func (t *Table) MarshalJSON() ([]byte, error) {
	type measured struct {
		Summary
		Ratio *float64 `json:"ratio,omitempty"`
	}
	systems := map[string]map[string]measured{}
	for _, system := range t.systems {
		systems[system] = map[string]measured{}
		for _, figure := range t.figures {
			s, ok := t.Summary(system, figure)
			if !ok {
				continue
			}
			m := measured{Summary: s}
			if ratio, ok := t.Ratio(system, figure); ok && system != t.Base {
				m.Ratio = &ratio
			}
			systems[system][figure] = m
		}
	}
	return json.Marshal(map[string]any{"title": t.Title, "base": t.Base, "systems": systems})
}
