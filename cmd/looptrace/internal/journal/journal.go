// Package journal merges the logs of several processes: on the terminal each line has the name of its process, and
// each process has a file of bounded size.
package journal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

const (
	// maxFile is the size at which a file is renamed to NAME.log.1 and replaces the one before.
	maxFile = 10 << 20
	// maxLine limits the memory for one line. A longer line is split.
	maxLine = 64 << 10
	// levelWithin is the prefix of a line that is searched for its level, in bytes.
	levelWithin = 256
	own         = "looptrace"
)

// notable matches warnings and errors in the log formats of our processes (slog JSON, zap console, PostgreSQL,
// ClickHouse, Go panics).
var notable = regexp.MustCompile(`(?i)"level":"(warn|error|fatal|panic)|\t(warn|error|fatal|panic)\t|<(warning|error|fatal)>|\b(WARNING|ERROR|FATAL|PANIC): |^panic: |^fatal error: |^error: |DB::Exception`)

// Journal writes the log. Its methods are safe for concurrent use.
type Journal struct {
	dir      string
	colour   bool
	verbose  bool
	width    int
	mu       sync.Mutex
	terminal io.Writer
	writers  []*Writer
}

// Options configure the terminal output.
type Options struct {
	// Verbose shows every line of the processes. By default only warnings and errors are shown.
	Verbose bool
	// Colour colours the names.
	Colour bool
	// Names are the names of all writers, to align their lines.
	Names []string
}

// Open opens a journal that keeps its files in dir.
func Open(dir string, terminal io.Writer, o Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the log folder: %w", err)
	}
	j := &Journal{dir: dir, terminal: terminal, colour: o.Colour, verbose: o.Verbose, width: len(own)}
	for _, name := range o.Names {
		j.width = max(j.width, len(name))
	}
	return j, nil
}

// Say writes a line of the launcher itself.
func (j *Journal) Say(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.show(own, []byte(line))
}

// Path returns the path of the file for the writer of this name.
func (j *Journal) Path(name string) string { return filepath.Join(j.dir, name+".log") }

// Writer returns the writer for the output of one process.
func (j *Journal) Writer(name string) *Writer {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := &Writer{journal: j, name: name}
	j.writers = append(j.writers, w)
	return w
}

// Close closes the files.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, w := range j.writers {
		w.closeFile()
	}
}

// show writes one line to the terminal. The caller holds the lock.
func (j *Journal) show(name string, line []byte) {
	format := "%-*s │ %s\n"
	if j.colour {
		format = "\x1b[36m%-*s\x1b[0m │ %s\n"
	}
	_, _ = fmt.Fprintf(j.terminal, format, j.width, name, line) // a closed terminal is no reason to stop
}

// Writer writes the output of one process.
type Writer struct {
	journal *Journal
	name    string
	partial []byte
	// showing is true if the terminal has the record that the next line may continue.
	showing bool
	file    *os.File
	size    int64
}

// Write accepts any part of the output and never fails: a full disk must not stop the processes.
func (w *Writer) Write(p []byte) (int, error) {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		end := bytes.IndexByte(w.partial, '\n')
		rest := end + 1
		if end < 0 {
			if len(w.partial) < maxLine {
				return len(p), nil
			}
			end, rest = maxLine, maxLine
		}
		w.line(w.partial[:end])
		w.partial = w.partial[rest:]
	}
}

func (w *Writer) line(line []byte) {
	if len(line) == 0 {
		return
	}
	// A line that does not begin like a record continues the line before it: the rest of an error, a stack trace.
	if isRecord := bytes.IndexByte([]byte("0123456789{<"), line[0]) >= 0; isRecord || !w.showing {
		w.showing = w.journal.verbose || notable.Match(line[:min(len(line), levelWithin)])
	}
	if w.showing {
		w.journal.show(w.name, line)
	}
	if w.size >= maxFile {
		w.closeFile()
		_ = os.Rename(w.journal.Path(w.name), w.journal.Path(w.name)+".1") // otherwise the file keeps growing
	}
	if w.file == nil && !w.openFile() {
		return
	}
	n, _ := w.file.Write(append(bytes.Clone(line), '\n'))
	w.size += int64(n)
}

func (w *Writer) openFile() bool {
	f, err := os.OpenFile(w.journal.Path(w.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	w.file, w.size = f, 0
	if info, err := f.Stat(); err == nil {
		w.size = info.Size()
	}
	return true
}

func (w *Writer) closeFile() {
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
}
