package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// figure is one measured number.
type figure struct {
	name  string
	value float64
}

// row is the figures of one measurement.
type row struct {
	measure, subject string
	figures          []figure
}

// report collects rows in the order of their measurement.
type report struct {
	rows []row
	load string
}

func newReport() *report {
	load, _ := os.ReadFile("/proc/loadavg") // empty if the system has none
	return &report{load: strings.TrimSpace(string(load))}
}

func (r *report) add(measure, subject string, figures ...figure) {
	r.rows = append(r.rows, row{measure, subject, figures})
}

// print prints a table for people, then a JSON object a line for programs.
func (r *report) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "\n%d cores, load before the start %s\n", runtime.NumCPU(), r.load) // Flush reports
	measure := ""
	for _, row := range r.rows {
		if row.measure != measure {
			measure = row.measure
			_, _ = fmt.Fprintf(table, "\n%s", measure)
			for _, f := range row.figures {
				_, _ = fmt.Fprintf(table, "\t%s", f.name)
			}
			_, _ = fmt.Fprintln(table)
		}
		_, _ = fmt.Fprint(table, "  "+row.subject)
		for _, f := range row.figures {
			_, _ = fmt.Fprintf(table, "\t%.1f", f.value)
		}
		_, _ = fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	_, _ = fmt.Fprintln(out)
	lines := json.NewEncoder(out)
	for _, row := range r.rows {
		object := map[string]any{"measure": row.measure, "subject": row.subject}
		for _, f := range row.figures {
			object[f.name] = f.value
		}
		if err := lines.Encode(object); err != nil {
			return fmt.Errorf("print the figures: %w", err)
		}
	}
	return nil
}

func quantiles(durations []time.Duration) []figure {
	sorted := slices.Sorted(slices.Values(durations))
	at := func(q float64) float64 { return milliseconds(sorted[int(q*float64(len(sorted)-1))]) }
	return []figure{{"p50_ms", at(0.50)}, {"p95_ms", at(0.95)}, {"p99_ms", at(0.99)}, {"max_ms", at(1)}}
}

func median(durations []time.Duration) float64 {
	return milliseconds(slices.Sorted(slices.Values(durations))[len(durations)/2])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
