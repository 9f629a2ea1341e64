package deadletters

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// dumpBytes is how much to show of a value that cannot be decoded.
	dumpBytes = 1 << 10
	// errorRunes is how much of an error to show in the list.
	errorRunes = 80
)

func printTable(w io.Writer, summaries []summary) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "LETTER\tTIME\tREASON\tWAS\tBYTES\tSPANS\tREDRIVEN\tERROR") // Flush reports
	for _, s := range summaries {
		spans, redriven := "-", "-"
		if s.spans != nil {
			spans = strconv.Itoa(*s.spans)
		}
		if s.redriven {
			redriven = "yes"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", s.location, formatTime(s.written),
			escape(s.reason), escape(s.origin.String()), s.bytes, spans, redriven, escape(utf8text.Cut(s.text, errorRunes)))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}

func printLines(w io.Writer, summaries []summary) error {
	for _, s := range summaries {
		line, err := json.Marshal(s)
		if err == nil {
			_, err = fmt.Fprintln(w, escapeJSON(string(line)))
		}
		if err != nil {
			return fmt.Errorf("print the list: %w", err)
		}
	}
	return nil
}

// printDeadLetter prints everything about one dead letter.
func printDeadLetter(w io.Writer, l deadLetter, redriven bool) error {
	var b bytes.Buffer
	line := func(name, value string) { fmt.Fprintf(&b, "%-10s %s\n", name, value) }
	line("letter", l.String())
	line("time", formatTime(l.written))
	line("reason", escape(l.reason))
	line("error", escape(l.text))
	line("was", escape(l.origin.String()))
	if !l.origin.written.IsZero() {
		line("written", formatTime(l.origin.written))
	}
	line("redriven", map[bool]string{true: "yes", false: "no"}[redriven])
	if len(l.record.Key) > 0 {
		line("key", escape(string(l.record.Key)))
	}
	for _, header := range l.record.Headers {
		if !strings.HasPrefix(header.Key, headerPrefix) { // those are printed above
			line("header", escape(header.Key)+": "+escape(string(header.Value)))
		}
	}
	line("bytes", strconv.Itoa(len(l.record.Value)))
	if err := dump(&b, l); err != nil {
		return err
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("print the dead letter: %w", err)
	}
	return nil
}

// dump writes the value as OTLP JSON, or its first bytes if it is not OTLP.
func dump(b *bytes.Buffer, l deadLetter) error {
	traces, err := l.traces()
	if err != nil {
		fmt.Fprintf(b, "\nThe value cannot be decoded (%s). ", escape(err.Error()))
		start := l.record.Value[:min(len(l.record.Value), dumpBytes)]
		fmt.Fprintf(b, "Its first %d bytes:\n%s", len(start), hex.Dump(start))
		return nil
	}
	fmt.Fprintf(b, "%-10s %d\n\n", "spans", traces.SpanCount())
	compact, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return fmt.Errorf("write the spans as JSON: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		return fmt.Errorf("write the spans as JSON: %w", err)
	}
	b.WriteString(escapeJSON(indented.String()))
	b.WriteByte('\n')
	return nil
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
