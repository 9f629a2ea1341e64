// Package journal makes one readable log of many processes: each line with the name of its writer in front
// on the terminal, and all of it in one bounded file per writer.
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
	// maxFile is the size at which a file becomes NAME.log.1, in place of the one before.
	maxFile = 10 << 20
	// maxLine bounds what one line may keep in memory; a longer one is cut into several.
	maxLine = 64 << 10
	// levelWithin is where in a line its level stands, if it has one.
	levelWithin = 256
	own         = "looptrace"
)

// notable finds the lines that matter to somebody who only watches: warnings and errors of the log formats
// of our processes (slog JSON, zap console, PostgreSQL, ClickHouse, Go panics).
var notable = regexp.MustCompile(`(?i)"level":"(warn|error|fatal|panic)|\t(warn|error|fatal|panic)\t|<(warning|error|fatal)>|\b(WARNING|ERROR|FATAL|PANIC): |^panic: |^fatal error: |^error: |DB::Exception`)

// Journal writes the log. Its methods may be called at once from many goroutines.
type Journal struct {
	dir      string
	colour   bool
	verbose  bool
	width    int
	mu       sync.Mutex
	terminal io.Writer
	writers  []*Writer
}

// Options say what the terminal gets.
type Options struct {
	// Verbose shows every line of the children, else only warnings and errors.
	Verbose bool
	// Colour marks the names.
	Colour bool
	// Names are those of all writers, so that their lines can be aligned.
	Names []string
}

// Open makes a journal that keeps its files in dir.
func Open(dir string, terminal io.Writer, o Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the log folder: %w", err)
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

// Path is the file that holds the lines of the writer of this name.
func (j *Journal) Path(name string) string { return filepath.Join(j.dir, name+".log") }

// Writer returns the writer for the lines of one process.
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

// show writes one line to the terminal; the caller holds the lock.
func (j *Journal) show(name string, line []byte) {
	format := "%-*s │ %s\n"
	if j.colour {
		format = "\x1b[36m%-*s\x1b[0m │ %s\n"
	}
	_, _ = fmt.Fprintf(j.terminal, format, j.width, name, line) // a closed terminal is no reason to stop
}

// Writer takes the output of one process.
type Writer struct {
	journal *Journal
	name    string
	partial []byte
	// shown tells that the terminal got the record that the next line may continue.
	shown bool
	file  *os.File
	size  int64
}

// Write takes any part of the output and never fails: a full disk must stop the log, not the processes.
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
	// What does not begin as a record does belongs to the line before: the rest of an error, a stack.
	if begins := bytes.IndexByte([]byte("0123456789{<"), line[0]) >= 0; begins || !w.shown {
		w.shown = w.journal.verbose || notable.Match(line[:min(len(line), levelWithin)])
	}
	if w.shown {
		w.journal.show(w.name, line)
	}
	if w.size >= maxFile {
		w.closeFile()
		_ = os.Rename(w.journal.Path(w.name), w.journal.Path(w.name)+".1") // else the file just grows on
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
