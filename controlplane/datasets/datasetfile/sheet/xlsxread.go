package sheet

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

func newXMLReader(content io.ReadCloser, size int64) *xmlReader {
	x := &xmlReader{content: content, buffer: bufio.NewReaderSize(content, datasetfile.BufferSize), size: size, left: datasetfile.MaxRow}
	x.decoder = xml.NewDecoder(x)
	return x
}

// Close closes the part.
func (x *xmlReader) Close() error { return x.content.Close() }

// Read exists for the decoder, which calls ReadByte.
func (x *xmlReader) Read([]byte) (int, error) { return 0, errors.New("read by byte") }

// ReadByte returns the next byte of the part.
func (x *xmlReader) ReadByte() (byte, error) {
	if x.left--; x.left < 0 {
		return 0, datasetfile.FileErrorf("a part of the file is longer than %d MiB where it should have a cell", datasetfile.MaxRow>>20)
	}
	b, err := x.buffer.ReadByte()
	x.read++
	return b, err
}

// token returns the next token.
func (x *xmlReader) token() (xml.Token, error) {
	x.left = datasetfile.MaxRow
	token, err := x.decoder.RawToken()
	if err != nil {
		return nil, err
	}
	switch token.(type) {
	case xml.StartElement:
		if x.depth++; x.depth > maxXMLDepth {
			return nil, datasetfile.FileErrorf("a part of the file nests more than %d deep", maxXMLDepth)
		}
	case xml.EndElement:
		x.depth--
	}
	return token, nil
}

// element returns the next start of an element.
func (x *xmlReader) element() (xml.StartElement, error) {
	for {
		token, err := x.token()
		if err != nil {
			return xml.StartElement{}, err
		}
		if start, ok := token.(xml.StartElement); ok {
			return start, nil
		}
	}
}

// richText returns the text of an element whose start was read: that of its t elements, without those of rPh, which say
// how it is pronounced. What is beyond the limit is left out: the text is too long for a row then.
func (x *xmlReader) richText(limit int) (string, error) {
	var text strings.Builder
	inText, phonetic, end := false, 0, x.depth-1
	for x.depth > end {
		token, err := x.token()
		if err != nil {
			return "", eofIsDamage(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "t"
			if token.Name.Local == "rPh" {
				phonetic = x.depth
			}
		case xml.EndElement:
			inText = false
			if x.depth < phonetic {
				phonetic = 0
			}
		case xml.CharData:
			if inText && phonetic == 0 && text.Len() <= limit {
				text.Write(token)
			}
		}
	}
	return unescapeX(text.String()), nil
}

// characters returns the characters of an element whose start was read.
func (x *xmlReader) characters() (string, error) {
	var text strings.Builder
	for end := x.depth - 1; x.depth > end; {
		token, err := x.token()
		if err != nil {
			return "", eofIsDamage(err)
		}
		if chars, ok := token.(xml.CharData); ok && text.Len() <= datasetfile.MaxRow {
			text.Write(chars)
		}
	}
	return text.String(), nil
}

func eofIsDamage(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unescapeX resolves escapes such as _x000D_, with which XLSX writes what XML does not have.
func unescapeX(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "_x")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		const digits = 4
		if len(after) > digits && after[digits] == '_' {
			if unit, err := strconv.ParseUint(after[:digits], 16, 16); err == nil && utf8.ValidRune(rune(unit)) {
				b.WriteRune(rune(unit))
				s = after[digits+1:]
				continue
			}
		}
		b.WriteString("_x")
		s = after
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// columnIndex returns the number of the column of a reference such as B5, from 0, or -1.
func columnIndex(reference string) int {
	n := 0
	for i := range len(reference) {
		c := reference[i]
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > datasetfile.MaxColumns {
			return -1
		}
	}
	return n - 1
}

func columnLetters(i int) string {
	letters := ""
	for i++; i > 0; i = (i - 1) / 26 {
		letters = string(rune('A'+(i-1)%26)) + letters
	}
	return letters
}

func errorCell(value string) string {
	return fmt.Sprintf("has the error %s: correct the formula, or clear the cell", datasetfile.Shown([]byte(value)))
}
