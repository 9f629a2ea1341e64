// Package report prints the results of the fault tests: a line per row for people, an object per row for programs,
// and with FAULTS_REPORT a table for docs/measurements/faults.md.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looptrace/looptrace/test/product/load"
)

// Row is the result of one fault.
type Row struct {
	// Name is the fault, Injected how often or for how long.
	Name, Injected string
	// Runs and Spans were acknowledged.
	Runs, Spans int
	// Lost, Double and Wrong are the runs that differ, see load.DifferenceError.
	Lost, Double, Wrong int
	// Accepts has, for each fault, the time until every endpoint accepted again. Visible has the time until a run
	// accepted after it was readable.
	Accepts, Visible []time.Duration
	// PeakRSS is the peak memory of all processes together, in bytes.
	PeakRSS int64
	// Notes are further figures.
	Notes []string
}

// Acknowledge adds acknowledged runs.
func (r *Row) Acknowledge(runs []load.Run) {
	r.Runs += len(runs)
	for _, run := range runs {
		r.Spans += int(run.Spans)
	}
}

// Differ adds the result of a verification, and returns its error.
func (r *Row) Differ(err error) error {
	var found *load.DifferenceError
	if errors.As(err, &found) {
		r.Lost, r.Double, r.Wrong = r.Lost+found.Lost, r.Double+found.Double, r.Wrong+found.Wrong
	}
	return err
}

// Note adds a figure.
func (r *Row) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

var header = []string{
	"fault", "injected", "acknowledged runs (spans)", "lost", "double", "wrong", "accepts after s, p50 / max",
	"visible after s, p50 / max", "peak RSS MB", "notes",
}

func (r *Row) cells() []string {
	memory := ""
	if r.PeakRSS > 0 {
		memory = fmt.Sprintf("%.0f", float64(r.PeakRSS)/1e6)
	}
	return []string{
		r.Name, r.Injected, fmt.Sprintf("%d (%d)", r.Runs, r.Spans), fmt.Sprint(r.Lost), fmt.Sprint(r.Double),
		fmt.Sprint(r.Wrong), seconds(r.Accepts), seconds(r.Visible), memory, strings.Join(r.Notes, "; "),
	}
}

func seconds(times []time.Duration) string {
	if len(times) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f / %.2f", Quantile(times, 0.5).Seconds(), slices.Max(times).Seconds())
}

// Quantile returns the q-th quantile of the times.
func Quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[int(part*float64(len(sorted)-1))]
}

// Print prints the row.
func (r *Row) Print(tb testing.TB) {
	tb.Helper()
	object, err := json.Marshal(r)
	if err != nil {
		tb.Fatalf("encode a row: %v", err)
	}
	tb.Logf("%s\n%s", strings.Join(r.cells(), " | "), object)
	if path := os.Getenv("FAULTS_REPORT"); path != "" {
		if err := r.appendTo(path); err != nil {
			tb.Errorf("write FAULTS_REPORT: %v", err)
		}
	}
}

// PrintTable prints a separate table, whose first row is the header. With FAULTS_REPORT it writes a file next to that
// one, named after the table.
func PrintTable(tb testing.TB, name string, rows [][]string) {
	tb.Helper()
	text := tableRow(rows[0]) + strings.Repeat("| --- ", len(rows[0])) + "|\n"
	for _, row := range rows[1:] {
		text += tableRow(row)
	}
	tb.Logf("%s\n%s", name, text)
	if path := os.Getenv("FAULTS_REPORT"); path != "" {
		ending := filepath.Ext(path)
		if err := os.WriteFile(strings.TrimSuffix(path, ending)+"-"+name+ending, []byte(text), 0o600); err != nil {
			tb.Errorf("write the table %s: %v", name, err)
		}
	}
}

// appendTo appends the row to those of other packages, which run in separate processes.
func (r *Row) appendTo(path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the table: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("look at the table: %w", err)
	}
	text := tableRow(r.cells())
	if end == 0 {
		text = tableRow(header) + strings.Repeat("| --- ", len(header)) + "|\n" + text
	}
	_, err = file.WriteString(text)
	return err
}

func tableRow(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
