package importing

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress shows how far something is: on a terminal in one line that is rewritten, elsewhere in a line from time to time.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration
	now      func() time.Time

	mu    sync.Mutex
	next  time.Time
	last  string
	shown bool
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, every: 5 * time.Second, now: time.Now}
	if file, isFile := out.(*os.File); isFile {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal, p.every = true, 100*time.Millisecond
		}
	}
	if !p.terminal {
		p.next = p.now().Add(p.every)
	}
	return p
}

// show shows a text, unless it is too soon. What cannot be shown is no reason to stop.
func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if text == p.last || now.Before(p.next) {
		return
	}
	p.last, p.next, p.shown = text, now.Add(p.every), true
	if p.terminal {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K"+text)
		return
	}
	_, _ = fmt.Fprintln(p.out, text)
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.shown = false
}

// share writes a number of bytes and what part of a size they are. The size is 0 if it is not known.
func share(bytes, size int64) string {
	const mebi = 1 << 20
	if size == 0 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/mebi)
	}
	return fmt.Sprintf("%.1f of %.1f MiB (%d %%)", float64(bytes)/mebi, float64(size)/mebi, bytes*100/size)
}
