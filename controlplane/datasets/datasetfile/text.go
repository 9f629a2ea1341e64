package datasetfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"
)

// BufferSize is how many bytes of a file are read at once.
const BufferSize = 256 << 10

// Text reads a text file as UTF-8. What is not valid in its encoding is no valid UTF-8 either, so that the row that has
// it can be refused.
type Text struct {
	*bufio.Reader
	counted  *counter
	Encoding string
	// Newline ends a line: \n, or \r in a file that has no other ends of lines.
	Newline byte
	// Line is that of the next byte.
	Line int64
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read the file: %w", err)
	}
	return n, err
}

var boms = map[string]string{UTF8: "\xef\xbb\xbf", UTF16LE: "\xff\xfe", UTF16BE: "\xfe\xff"}

// OpenText begins to read a text file, whose beginning is head. An empty encoding is found.
func OpenText(src Source, encoding string, head []byte) (*Text, error) {
	if encoding == "" {
		encoding = detectEncoding(head)
	}
	encoding = strings.ToLower(encoding)
	skip := int64(0)
	if bom := boms[encoding]; bom != "" && bytes.HasPrefix(head, []byte(bom)) {
		skip = int64(len(bom))
	}
	t := &Text{Encoding: encoding, Newline: '\n', Line: 1}
	t.counted = &counter{Reader: io.NewSectionReader(src, skip, src.Size()-skip), n: skip}
	decoded, err := decoder(encoding, bufio.NewReaderSize(t.counted, BufferSize))
	if err != nil {
		return nil, err
	}
	var ok bool
	if t.Reader, ok = decoded.(*bufio.Reader); !ok {
		t.Reader = bufio.NewReaderSize(decoded, BufferSize)
	}
	start, err := t.Peek(HeadSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(bytes.TrimSpace(start)) == 0 && errors.Is(err, io.EOF) {
		return nil, FileErrorf("the file is empty")
	}
	if bytes.IndexByte(start, '\n') < 0 && bytes.IndexByte(start, '\r') >= 0 {
		t.Newline = '\r'
	}
	return t, nil
}

func decoder(encoding string, from *bufio.Reader) (io.Reader, error) {
	switch encoding {
	case UTF8:
		return from, nil
	case UTF16LE:
		return &utf16Reader{from: from}, nil
	case UTF16BE:
		return &utf16Reader{from: from, big: true}, nil
	case Windows1252:
		return transform.NewReader(from, charmap.Windows1252.NewDecoder()), nil
	}
	return nil, FileErrorf("the encoding %q is not known: use utf-8, utf-16le, utf-16be or windows-1252", Shown([]byte(encoding)))
}

// detectEncoding returns the encoding that a byte order mark says. UTF-16 without one has a zero in most pairs of bytes.
func detectEncoding(head []byte) string {
	for encoding, bom := range boms {
		if bytes.HasPrefix(head, []byte(bom)) {
			return encoding
		}
	}
	pairs := min(len(head), 4096) / 2
	var even, odd int
	for i := range pairs {
		if head[2*i] == 0 {
			even++
		}
		if head[2*i+1] == 0 {
			odd++
		}
	}
	switch {
	case odd > pairs/3 && even <= odd/8:
		return UTF16LE
	case even > pairs/3 && odd <= even/8:
		return UTF16BE
	}
	return UTF8
}

// DecodeHead returns the beginning of a text file as UTF-8, without a byte order mark.
func DecodeHead(head []byte) []byte {
	encoding := detectEncoding(head)
	head = bytes.TrimPrefix(head, []byte(boms[encoding]))
	if encoding == UTF8 {
		return head
	}
	r := &utf16Reader{from: bufio.NewReader(bytes.NewReader(head)), big: encoding == UTF16BE}
	decoded, _ := io.ReadAll(r) // a reader of bytes does not fail
	return decoded
}

// utf16Reader decodes UTF-16. Half a pair of surrogates, and half a unit at the end, become a byte that is no UTF-8.
type utf16Reader struct {
	from *bufio.Reader
	big  bool
	// pending is a unit that was read after half a pair.
	pending    uint16
	hasPending bool
}

const noUTF8 = 0xff

func (r *utf16Reader) Read(p []byte) (int, error) {
	if len(p) < utf8.UTFMax {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for n+utf8.UTFMax <= len(p) {
		unit, err := r.unit()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			p[n] = noUTF8
			return n + 1, nil
		case err != nil && n > 0:
			return n, nil
		case err != nil:
			return 0, err
		}
		c := rune(unit)
		if utf16.IsSurrogate(c) {
			low, err := r.unit()
			if err == nil {
				if c = utf16.DecodeRune(rune(unit), rune(low)); c == utf8.RuneError {
					r.pending, r.hasPending = low, true
				}
			} else {
				c = utf8.RuneError
			}
			if c == utf8.RuneError {
				p[n] = noUTF8
				n++
				continue
			}
		}
		n += utf8.EncodeRune(p[n:], c)
	}
	return n, nil
}

func (r *utf16Reader) unit() (uint16, error) {
	if r.hasPending {
		r.hasPending = false
		return r.pending, nil
	}
	var b [2]byte
	if _, err := io.ReadFull(r.from, b[:]); err != nil {
		return 0, err
	}
	if r.big {
		return uint16(b[0])<<8 | uint16(b[1]), nil
	}
	return uint16(b[1])<<8 | uint16(b[0]), nil
}

// Offset is how many bytes of the file were read.
func (t *Text) Offset() int64 { return t.counted.n }

// Chunk returns the next bytes, at least one, without reading them.
func (t *Text) Chunk() ([]byte, error) {
	if _, err := t.Peek(1); err != nil {
		return nil, err
	}
	return t.Peek(t.Buffered())
}

// Skip reads bytes that Chunk returned.
func (t *Text) Skip(n int) { _, _ = t.Discard(n) }

// TextLine is a line of a text.
type TextLine struct {
	Number int64
	// Content is without the end of the line, and empty if the line is too long.
	Content []byte
	TooLong bool
	// Ended is false if the file ends within the line.
	Ended bool
}

// ReadLine reads a line, of which it keeps no more than fits into a row.
func (t *Text) ReadLine() (TextLine, error) {
	l := TextLine{Number: t.Line}
	for {
		chunk, err := t.Chunk()
		if err != nil {
			if errors.Is(err, io.EOF) && (len(l.Content) > 0 || l.TooLong) {
				return l, nil
			}
			return l, err
		}
		end := bytes.IndexByte(chunk, t.Newline)
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		if l.TooLong = l.TooLong || len(l.Content)+len(part) > MaxRow; l.TooLong {
			l.Content = nil
		} else {
			l.Content = append(l.Content, part...)
		}
		t.Skip(len(part))
		if end >= 0 {
			t.Skip(1)
			t.Line++
			l.Ended = true
			l.Content = bytes.TrimSuffix(l.Content, []byte("\r"))
			return l, nil
		}
	}
}

// EncodingError describes bytes that are not valid in the encoding, or returns an empty reason.
func (t *Text) EncodingError(content []byte) (reason string, at int) {
	if utf8.Valid(content) {
		return "", 0
	}
	for at < len(content) {
		c, size := utf8.DecodeRune(content[at:])
		if c == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	if t.Encoding != UTF8 {
		return "a half of a pair of " + strings.ToUpper(t.Encoding[:6]) + " is without the other: save the file as UTF-8", at
	}
	return fmt.Sprintf("the byte 0x%02x is not UTF-8: save the file as UTF-8, or choose encoding=windows-1252 if it is in that encoding", content[at]), at
}
