package broker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// traced are the system calls that change files, and those that answer clients.
const traced = "openat,write,pwrite64,fsync,fdatasync,?rename,?renameat,renameat2,?unlink,unlinkat,?link,linkat," +
	"?mkdir,mkdirat,truncate,ftruncate,fchmod,fchmodat,close" // some processors lack the first of each kind

// event is a change of files below a root. Events are in the order in which they happened.
type event struct {
	call string // the system call, or "begin" for the start of a sync
	// path is relative to the root; to is the new name.
	path, to string
	process  int // distinguishes descriptors of processes
	fd       int
	flags    string
	data     []byte
	number   int64 // a size or a mode
}

// trace is the content of a recording.
type trace struct {
	events []event
	// answers are the numbers of events before each answer.
	answers map[answer]int
	files   int
	// ambiguous is true if a file was opened or linked by a name while another thread gave that name to a different
	// file, and nothing shows which of the two it was. strace shows the order in which overlapping calls ended, which
	// may differ from the order in which they took effect.
	ambiguous bool
	// overlaps are the opens whose order is not known yet.
	overlaps []*overlap
}

// overlap is an open and a rename to the same name at the same time. The descriptor shows which came first: after the
// rename, strace shows the descriptor of the replaced file as deleted.
type overlap struct {
	thread, name string
	fd           int // -1 until the open has ended
	// opened and renamed are the indexes of the events, -1 until the call has ended.
	opened, renamed int
}

// read reads one output of strace -f -yy -xx.
func (t *trace) read(path, root string) error {
	if t.answers == nil {
		t.answers = map[answer]int{}
	}
	t.files++
	t.overlaps = nil
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(file)
	unfinished := map[string]string{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // the end, or a line that a kill has cut off
		}
		thread, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		begun := true
		if before, isBegin := strings.CutSuffix(rest, " <unfinished ...>"); isBegin {
			unfinished[thread] = before
			t.begin(before, root)
			continue
		}
		concurrent := maps.Clone(unfinished)
		delete(concurrent, thread)
		if _, after, isEnd := strings.Cut(rest, " resumed>"); isEnd && strings.HasPrefix(rest, "<... ") {
			rest, begun = unfinished[thread]+after, false
			delete(unfinished, thread)
		}
		if begun {
			t.begin(rest, root)
		}
		if err := t.end(rest, root); err != nil {
			return fmt.Errorf("%w: %.300s", err, line)
		}
		t.order(thread, rest, concurrent)
	}
}

// order records the calls that were running when one ended, and finds out which came first.
func (t *trace) order(thread, ended string, concurrent map[string]string) {
	for other, call := range concurrent {
		switch {
		case races(ended, call):
			t.overlap(thread, ended, call)
		case races(call, ended):
			t.overlap(other, call, ended)
		}
	}
	last := len(t.events) - 1 // the event of this call
	switch {
	case strings.HasPrefix(ended, "renameat"):
		for _, o := range t.overlaps {
			if strings.Contains(ended, o.name) {
				t.ambiguous = t.ambiguous || o.renamed >= 0 // a descriptor shows one rename
				o.renamed = last
			}
		}
	case strings.HasPrefix(ended, "openat("):
		i := slices.IndexFunc(t.overlaps, func(o *overlap) bool { return o.thread == thread && o.opened < 0 })
		if i < 0 {
			return
		}
		o := t.overlaps[i]
		result := ended[strings.LastIndex(ended, " = ")+len(" = "):]
		o.fd, _ = descriptor(result)
		o.opened = last
		if o.fd >= 0 && o.renamed >= 0 && isDeleted(result) {
			t.move(o.opened, o.renamed)
		}
		if o.fd < 0 || o.renamed >= 0 || isDeleted(result) {
			t.overlaps = slices.Delete(t.overlaps, i, i+1)
		}
	}
}

// overlap records an open during a rename. The order of other calls cannot be determined.
func (t *trace) overlap(thread, finds, gives string) {
	if !strings.HasPrefix(finds, "openat(") || !strings.HasPrefix(gives, "renameat") {
		t.ambiguous = true
		return
	}
	if !slices.ContainsFunc(t.overlaps, func(o *overlap) bool { return o.thread == thread && o.opened < 0 }) {
		t.overlaps = append(t.overlaps, &overlap{thread: thread, name: firstName(finds), fd: -1, opened: -1, renamed: -1})
	}
}

// used finds the file of a descriptor. A descriptor that is closed unused may belong to either file.
func (t *trace) used(call string, fd int, args string) {
	i := slices.IndexFunc(t.overlaps, func(o *overlap) bool { return fd >= 0 && o.fd == fd })
	if i < 0 {
		return
	}
	o := t.overlaps[i]
	t.overlaps = slices.Delete(t.overlaps, i, i+1)
	switch {
	case call == "close" || isDeleted(args): // the open came first, as recorded
	case o.renamed < 0:
		t.ambiguous = true
	default:
		t.move(o.renamed, o.opened)
	}
}

// move moves an event before an earlier one, and the answers between them after it.
func (t *trace) move(from, to int) {
	moved := t.events[from]
	copy(t.events[to+1:from+1], t.events[to:from])
	t.events[to] = moved
	for a, at := range t.answers {
		if at > to && at <= from {
			t.answers[a] = at + 1
		}
	}
	for _, o := range t.overlaps {
		for _, index := range []*int{&o.opened, &o.renamed} {
			switch {
			case *index == from:
				*index = to
			case *index >= to && *index < from:
				*index++
			}
		}
	}
}

// races reports whether one call uses a name that the other one creates or removes.
func races(finds, gives string) bool {
	if !strings.HasPrefix(finds, "openat(") && !strings.HasPrefix(finds, "linkat(") ||
		!strings.HasPrefix(gives, "renameat") && !strings.HasPrefix(gives, "unlinkat(") {
		return false
	}
	return strings.Contains(gives, firstName(finds))
}

// firstName returns the first name among the arguments, with its quotes.
func firstName(call string) string {
	_, name, _ := strings.Cut(call, `"`)
	name, _, _ = strings.Cut(name, `"`)
	return `"` + name + `"`
}

// isDeleted reports whether strace shows a descriptor's file as deleted.
func isDeleted(descriptor string) bool {
	_, after, _ := strings.Cut(strings.ReplaceAll(descriptor, "->", ""), ">")
	return strings.HasPrefix(after, "(deleted)")
}

// begin records what takes effect when a call starts: a write, the range of a sync, an answer. A write that ends
// after the start of a sync may have happened before it, and the broker may rely on that, because it has seen the
// file's size.
func (t *trace) begin(call, root string) {
	name, args, _ := strings.Cut(call, "(")
	fd, target := descriptor(args)
	t.used(name, fd, args)
	switch name {
	case "fsync", "fdatasync":
		if strings.HasPrefix(target, root) {
			t.events = append(t.events, event{call: "begin", process: t.files, fd: fd})
		}
	case "write":
		if data := texts(args); strings.HasPrefix(target, root) && len(data) > 0 {
			t.events = append(t.events, event{call: name, process: t.files, fd: fd, data: data[0]})
		}
		if _, client, isTCP := strings.Cut(target, "->"); isTCP && strings.HasPrefix(target, "TCP") {
			_, port, _ := strings.Cut(strings.TrimSuffix(client, "]"), ":")
			number, err := strconv.Atoi(port)
			data := texts(args)
			if err == nil && len(data) > 0 && len(data[0]) >= 8 {
				t.answers[answer{t.files, number, binary.BigEndian.Uint32(data[0][4:])}] = len(t.events)
			}
		}
	}
}

// end records what takes effect when a call ends.
func (t *trace) end(call, root string) error {
	name, args, isCall := strings.Cut(call, "(")
	end := strings.LastIndex(args, ") ")
	if !isCall || end < 0 {
		return nil // a signal, or the end of a thread
	}
	result := strings.TrimLeft(args[end+2:], "= ")
	args = args[:end]
	if strings.HasPrefix(result, "-") || strings.HasPrefix(result, "?") {
		return nil
	}
	e := event{call: name, process: t.files}
	fd, target := descriptor(args)
	outside := fd >= 0 && !strings.HasPrefix(target, root) // a descriptor of something else
	paths := texts(args)
	relative := func(i int) string {
		if i >= len(paths) {
			outside = true
			return ""
		}
		path, err := filepath.Rel(root, string(paths[i]))
		outside = outside || err != nil || strings.HasPrefix(path, "..")
		return path
	}
	last := args[strings.LastIndex(args, ",")+1:]
	switch name {
	case "openat":
		e.path = relative(0)
		e.flags = args
		e.fd, _ = descriptor(result)
	case "write": // recorded at its start
		if written, err := strconv.Atoi(result); !outside && (err != nil || written != len(paths[0])) {
			return fmt.Errorf("a write of %d bytes ended with %s", len(paths[0]), result)
		}
		return nil
	case "close":
		return nil
	case "fsync", "fdatasync":
		e.fd = fd
	case "ftruncate", "fchmod":
		e.fd = fd
		number, err := strconv.ParseInt(strings.TrimSpace(last), 0, 64)
		if err != nil {
			return err
		}
		e.number = number
	case "fchmodat":
		e.path = relative(0)
		number, err := strconv.ParseInt(strings.TrimSpace(strings.Split(args, ",")[2]), 0, 64)
		if err != nil {
			return err
		}
		e.number = number
	case "mkdirat", "unlinkat":
		e.path = relative(0)
	case "renameat", "linkat":
		e.path, e.to = relative(0), relative(1)
	default:
		return fmt.Errorf("nothing is known about %s", name)
	}
	if !outside {
		t.events = append(t.events, e)
	}
	return nil
}

// descriptor parses "7<target>".
func descriptor(args string) (fd int, target string) {
	number, rest, _ := strings.Cut(args, "<")
	end := len(number)
	for i, c := range number {
		if c < '0' || c > '9' {
			end = i
			break
		}
	}
	fd, err := strconv.Atoi(number[:end])
	if err != nil {
		return -1, ""
	}
	target, _, _ = strings.Cut(strings.ReplaceAll(rest, "->", "\x00"), ">")
	target = strings.ReplaceAll(target, "\x00", "->")
	if raw, err := unhex(target); err == nil {
		target = string(raw)
	}
	return fd, target
}

// texts parses the strings among the arguments.
func texts(args string) [][]byte {
	var found [][]byte
	for {
		_, after, ok := strings.Cut(args, `"`)
		if !ok {
			return found
		}
		text, rest, _ := strings.Cut(after, `"`)
		raw, err := unhex(text)
		if err != nil {
			return found
		}
		found = append(found, raw)
		args = rest
	}
}

func unhex(text string) ([]byte, error) { return hex.DecodeString(strings.ReplaceAll(text, `\x`, "")) }

// disk models files and which of their content is on the disk. Only a sync writes to the disk: that of a file its
// content, that of a folder its names.
type disk struct {
	root *inode
	// ignore selects syncs that have no effect.
	ignore func(*inode) bool
	open   map[[2]int]*handle
}

type inode struct {
	data, durable []byte
	mode          fs.FileMode
	durableMode   fs.FileMode
	// entries are the names in a folder, nil for a file. pending are the changes that are not on the disk.
	entries, durableEntries map[string]*inode
	pending                 []change
	// begun is what a running sync covers.
	begun        []byte
	begunPending int
}

// change adds and removes names in one step.
type change struct {
	put    string
	target *inode
	take   string
}

type handle struct {
	inode *inode
	at    int64
	end   bool // each write appends
}

func newFolder() *inode {
	return &inode{entries: map[string]*inode{}, durableEntries: map[string]*inode{}}
}

func newDisk(ignore func(*inode) bool) *disk {
	return &disk{root: newFolder(), ignore: ignore, open: map[[2]int]*handle{}}
}

func (d *disk) find(path string) *inode {
	at := d.root
	if path == "." {
		return at
	}
	for name := range strings.SplitSeq(path, "/") {
		if at == nil || at.entries == nil {
			return nil
		}
		at = at.entries[name]
	}
	return at
}

func (i *inode) change(c change) {
	i.pending = append(i.pending, c)
	c.apply(i.entries)
}

func (c change) apply(entries map[string]*inode) {
	if c.put != "" {
		entries[c.put] = c.target
	}
	if c.take != "" {
		delete(entries, c.take)
	}
}

// apply applies an event.
func (d *disk) apply(e event) {
	key := [2]int{e.process, e.fd}
	h := d.open[key]
	folder, name := d.find(filepath.Dir(e.path)), filepath.Base(e.path)
	switch e.call {
	case "openat":
		i := d.find(e.path)
		if i == nil {
			i = &inode{data: []byte{}, mode: 0o600, durableMode: 0o600}
			folder.change(change{put: name, target: i})
		}
		if strings.Contains(e.flags, "O_TRUNC") {
			i.data = nil
		}
		d.open[key] = &handle{inode: i, end: strings.Contains(e.flags, "O_APPEND")}
	case "write":
		if h == nil || h.inode.entries != nil {
			return // outside of the root
		}
		if h.end {
			h.at = int64(len(h.inode.data))
		}
		data := slices.Clone(h.inode.data)
		if missing := h.at + int64(len(e.data)) - int64(len(data)); missing > 0 {
			data = append(data, make([]byte, missing)...)
		}
		copy(data[h.at:], e.data)
		h.at += int64(len(e.data))
		h.inode.data = data
	case "ftruncate":
		h.inode.data = h.inode.data[:e.number:e.number]
	case "fchmod":
		h.inode.mode = fs.FileMode(e.number)
	case "fchmodat":
		d.find(e.path).mode = fs.FileMode(e.number)
	case "begin":
		if h != nil {
			h.inode.begun, h.inode.begunPending = h.inode.data, len(h.inode.pending)
		}
	case "fsync", "fdatasync":
		if h != nil && (d.ignore == nil || !d.ignore(h.inode)) {
			h.inode.sync()
		}
	case "mkdirat":
		folder.change(change{put: name, target: newFolder()})
	case "unlinkat":
		folder.change(change{take: name})
	case "renameat":
		if i := d.find(e.path); i != d.find(e.to) { // else POSIX does nothing
			folder.change(change{put: filepath.Base(e.to), target: i, take: name})
		}
	case "linkat":
		d.find(filepath.Dir(e.to)).change(change{put: filepath.Base(e.to), target: d.find(e.path)})
	}
}

func (i *inode) sync() {
	i.durable, i.durableMode = i.begun, i.mode
	for _, c := range i.pending[:i.begunPending] {
		c.apply(i.durableEntries)
	}
	i.pending = i.pending[i.begunPending:]
	i.begunPending = 0
}

// file is the state of a path after a power cut.
type file struct {
	folder bool
	data   []byte
	mode   fs.FileMode
	links  []string // other names
}

// cut returns the state after a power cut.
func (d *disk) cut(random *rand.Rand) map[string]file {
	files := map[string]file{}
	d.root.cut("", random, files, map[*inode]string{})
	return files
}

func (i *inode) cut(path string, random *rand.Rand, files map[string]file, seen map[*inode]string) {
	entries := maps.Clone(i.durableEntries)
	switch random.IntN(4) {
	case 0: // nothing else
	case 1:
		for _, c := range i.pending {
			c.apply(entries)
		}
	case 2:
		for _, c := range i.pending[:random.IntN(len(i.pending)+1)] {
			c.apply(entries)
		}
	case 3:
		for _, c := range i.pending {
			if random.IntN(2) == 0 {
				c.apply(entries)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		child, at := entries[name], filepath.Join(path, name)
		if child.entries != nil {
			files[at] = file{folder: true}
			child.cut(at, random, files, seen)
			continue
		}
		if first, again := seen[child]; again {
			f := files[first]
			f.links = append(f.links, at)
			files[first] = f
			continue
		}
		seen[child] = at
		mode := child.durableMode
		if random.IntN(2) == 0 {
			mode = child.mode
		}
		files[at] = file{data: child.torn(random), mode: mode}
	}
}

// compare compares the model with the real folder.
func (i *inode) compare(path string) error {
	if i.entries == nil {
		data, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(data, i.data) {
			err = fmt.Errorf("%s has %d bytes, in the model %d or others", path, len(data), len(i.data))
		}
		return err
	}
	found, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(found) != len(i.entries) {
		return fmt.Errorf("%s has %d entries, in the model %d", path, len(found), len(i.entries))
	}
	for _, name := range slices.Sorted(maps.Keys(i.entries)) {
		if err := i.entries[name].compare(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// sector is the unit in which a disk writes.
const sector = 512

// torn returns what is left of a file: the synced part, and any part of the rest.
func (i *inode) torn(random *rand.Rand) []byte {
	old, now := i.durable, i.data
	if bytes.Equal(old, now) {
		return old
	}
	if len(now) < len(old) || !bytes.Equal(old, now[:len(old)]) { // truncated or rewritten
		if random.IntN(2) == 0 {
			return old
		}
		return now[:random.IntN(len(now)+1)]
	}
	size := len(old) + random.IntN(len(now)-len(old)+1)
	switch random.IntN(4) {
	case 0:
		return old
	case 1:
		return now
	case 2:
		return now[:size]
	}
	if random.IntN(2) == 0 {
		size = len(now)
	}
	left := slices.Clone(now[:size])
	for at := 0; at < size; at += sector {
		part := left[max(at, min(len(old), size)):max(min(at+sector, size), min(len(old), size))]
		if at+sector <= len(old) {
			continue
		}
		switch random.IntN(3) {
		case 0: // it is there
		case 1:
			clear(part)
		case 2:
			for j := range part {
				part[j] = byte(random.Uint32())
			}
		}
	}
	return left
}
