package sheet

import (
	"archive/zip"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// Limits of XLSX, in which a short file can stand for a long one.
const (
	MaxParts       = 10_000
	maxDirectory   = 4 << 20 // what is read to find the parts
	MaxPart        = 8 << 20
	maxTexts       = 256 << 20 // the table of texts as XML
	maxTextsMemory = 64 << 20
	MaxTextCount   = 2_000_000
	MaxSheet       = 2 << 30
	maxXMLDepth    = 100
)

// workbook is a file of XLSX: a zip archive of XML (ECMA-376). It is read with the standard library, because that streams
// the rows of a sheet with the types of their cells.
type workbook struct {
	src    *errorSource
	parts  map[string]*zip.File
	sheets []sheetPart
	// texts are those that cells refer to.
	texts  []string
	styles []dateFormat
	// from1904 is whether dates count from 1904.
	from1904 bool
}

type sheetPart struct{ name, part string }

// relation is an element of a part with relationships.
type relation struct {
	ID     string `xml:"Id,attr"`
	Kind   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// OpenXLSX opens a sheet of a workbook, and notes its sheets in the layout.
func OpenXLSX(source datasetfile.Source, o datasetfile.Options, layout *datasetfile.Layout) (datasetfile.Rows, error) {
	src := &errorSource{Source: source}
	w := &workbook{src: src, parts: map[string]*zip.File{}}
	directory := &directorySource{errorSource: src}
	archive, err := zip.NewReader(directory, src.Size())
	if err != nil {
		return nil, w.failed(err)
	}
	if directory.found = true; len(archive.File) > MaxParts {
		return nil, tooManyParts()
	}
	for _, f := range archive.File {
		w.parts[strings.ToLower(strings.TrimPrefix(f.Name, "/"))] = f
	}
	if err := w.read(); err != nil {
		return nil, err
	}
	for _, s := range w.sheets {
		layout.Sheets = append(layout.Sheets, s.name)
	}
	sheet := w.sheets[0]
	if o.Sheet != "" {
		i := slices.Index(layout.Sheets, o.Sheet)
		if i < 0 {
			return nil, datasetfile.FileErrorf("the file has no sheet %q. It has: %s", datasetfile.Shown([]byte(o.Sheet)), datasetfile.Listed(layout.Sheets))
		}
		sheet = w.sheets[i]
	}
	header := o.Header == nil || *o.Header
	layout.Sheet, layout.Header = sheet.name, &header
	return openSheet(w, sheet.part, header)
}

// directorySource bounds what is read of a file to find its parts. Package zip keeps all entries of the directory,
// however many there are, and makes room for as many as an end record of ZIP64 names.
type directorySource struct {
	*errorSource
	read  int
	found bool
}

func (s *directorySource) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.errorSource.ReadAt(p, at)
	if s.found {
		return n, err
	}
	const signature, entries, end = 0x06064b50, 32, 40
	s.read += n
	if s.read > maxDirectory || n >= end && binary.LittleEndian.Uint32(p) == signature && binary.LittleEndian.Uint64(p[entries:]) > MaxParts {
		return 0, tooManyParts()
	}
	return n, err
}

func tooManyParts() error {
	return datasetfile.FileErrorf("the file has more than %d parts: it is no usual XLSX", MaxParts)
}

func (w *workbook) failed(err error) error {
	var file *datasetfile.FileError
	switch {
	case w.src.err != nil:
		return fmt.Errorf("read the file: %w", w.src.err)
	case errors.As(err, &file):
		return err
	case errors.Is(err, zip.ErrAlgorithm):
		return datasetfile.FileErrorf("the file cannot be read as XLSX: it is encrypted, or compressed in an unusual way; save it again as .xlsx without a password")
	}
	return datasetfile.FileErrorf("the file cannot be read as XLSX: %v; save it again as .xlsx", err)
}

// read reads what the sheets need.
func (w *workbook) read() error {
	relations, err := w.relations("_rels/.rels", "")
	if err != nil {
		return err
	}
	book := "xl/workbook.xml"
	for _, r := range relations {
		if strings.HasSuffix(r.Kind, "/officeDocument") {
			book = r.Target
		}
	}
	dir, base := path.Split(book)
	if relations, err = w.relations(dir+"_rels/"+base+".rels", dir); err != nil {
		return err
	}
	byID := map[string]relation{}
	for _, r := range relations {
		byID[r.ID] = r
		switch {
		case strings.HasSuffix(r.Kind, "/sharedStrings"):
			err = w.readTexts(r.Target)
		case strings.HasSuffix(r.Kind, "/styles"):
			err = w.readStyles(r.Target)
		}
		if err != nil {
			return err
		}
	}
	return w.readBook(book, byID)
}

func (w *workbook) readBook(part string, byID map[string]relation) error {
	var book struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name  string `xml:"name,attr"`
			State string `xml:"state,attr"`
			ID    string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
			// Strict files have another namespace.
			StrictID string `xml:"http://purl.oclc.org/ooxml/officeDocument/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	if err := w.decode(part, &book); err != nil {
		return err
	}
	w.from1904 = book.Properties.Date1904 == "1" || book.Properties.Date1904 == "true"
	var hidden []sheetPart
	for _, s := range book.Sheets {
		r := byID[s.ID+s.StrictID]
		switch {
		case !strings.HasSuffix(r.Kind, "/worksheet"): // charts have sheets too
		case s.State == "hidden" || s.State == "veryHidden":
			hidden = append(hidden, sheetPart{s.Name, r.Target})
		default:
			w.sheets = append(w.sheets, sheetPart{s.Name, r.Target})
		}
	}
	if w.sheets = append(w.sheets, hidden...); len(w.sheets) == 0 {
		return datasetfile.FileErrorf("the file has no sheet with cells")
	}
	return nil
}

// relations reads the relationships of a part in a folder. Their targets become names of parts.
func (w *workbook) relations(part, dir string) ([]relation, error) {
	var list struct {
		Relations []relation `xml:"Relationship"`
	}
	if w.parts[strings.ToLower(part)] == nil {
		return nil, nil
	}
	if err := w.decode(part, &list); err != nil {
		return nil, err
	}
	for i, r := range list.Relations {
		target := path.Join(dir, r.Target)
		if strings.HasPrefix(r.Target, "/") {
			target = strings.TrimPrefix(path.Clean(r.Target), "/")
		}
		list.Relations[i].Target = target
	}
	return slices.DeleteFunc(list.Relations, func(r relation) bool { return r.Mode == "External" }), nil
}

// decode reads a small part.
func (w *workbook) decode(part string, into any) error {
	x, err := w.open(part, MaxPart)
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	if err := x.decoder.Decode(into); err != nil {
		return w.failed(fmt.Errorf("%s: %w", part, err))
	}
	return nil
}

// open opens a part of at most so many bytes. Package zip reads no more of it than the archive says it has.
func (w *workbook) open(part string, limit uint64) (*xmlReader, error) {
	f := w.parts[strings.ToLower(part)]
	if f == nil {
		return nil, datasetfile.FileErrorf("the file cannot be read as XLSX: it has no part %s; save it again as .xlsx", datasetfile.Shown([]byte(part)))
	}
	if f.UncompressedSize64 > limit {
		return nil, datasetfile.FileErrorf("the part %s is too large as XML: save the sheet as CSV", datasetfile.Shown([]byte(part)))
	}
	content, err := f.Open()
	if err != nil {
		return nil, w.failed(err)
	}
	return newXMLReader(content, int64(f.UncompressedSize64)), nil
}

// readTexts reads the table of texts.
func (w *workbook) readTexts(part string) error {
	x, err := w.open(part, maxTexts)
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	size := 0
	for {
		start, err := x.element()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return w.failed(err)
		}
		if start.Name.Local != "si" {
			continue
		}
		text, err := x.richText(datasetfile.MaxRow)
		if err != nil {
			return w.failed(err)
		}
		w.texts = append(w.texts, text)
		if size += len(text); size > maxTextsMemory || len(w.texts) > MaxTextCount {
			return datasetfile.FileErrorf("the texts of the file take more than the %d MiB, or are more than the %d, that can be read: save it as CSV", maxTextsMemory>>20, MaxTextCount)
		}
	}
}

// dateFormat is whether numbers of a style are dates, times or both.
type dateFormat struct{ date, time bool }

// readStyles reads which styles of cells are those of dates.
func (w *workbook) readStyles(part string) error {
	var sheet struct {
		Formats []struct {
			ID   string `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Styles []struct {
			Format string `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := w.decode(part, &sheet); err != nil {
		return err
	}
	custom := map[string]dateFormat{}
	for _, f := range sheet.Formats {
		custom[f.ID] = formatOf(f.Code)
	}
	for _, s := range sheet.Styles {
		f, found := custom[s.Format]
		if !found {
			f = builtInFormat(s.Format)
		}
		w.styles = append(w.styles, f)
	}
	return nil
}

// builtInFormat is that of a number of ECMA-376, 18.8.30, some of which only have a meaning in some languages.
func builtInFormat(id string) dateFormat {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil:
		return dateFormat{}
	case n == 22:
		return dateFormat{date: true, time: true}
	case n >= 14 && n <= 17, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 58:
		return dateFormat{date: true}
	case n >= 18 && n <= 21, n >= 32 && n <= 35, n == 45, n == 47:
		return dateFormat{time: true}
	}
	return dateFormat{}
}

// formatOf finds out what a code of a format shows, such as yyyy-mm-dd hh:mm. Texts in quotes or brackets, and what
// follows after a backslash, are no part of it. A code for elapsed time, such as [h]:mm, leaves a number a number.
func formatOf(code string) dateFormat {
	var f dateFormat
	minutesOrMonths := false
	code, _, _ = strings.Cut(code, ";")
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				return f
			}
			i += end + 1
		case code[i] == '\\' || code[i] == '_' || code[i] == '*':
			i++
		case code[i] == '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return f
			}
			if inner := strings.ToLower(code[i+1 : i+end]); strings.Trim(inner, "hms") == "" {
				return dateFormat{}
			}
			i += end
		case c == 'y' || c == 'd':
			f.date = true
		case c == 'h' || c == 's':
			f.time = true
		case c == 'm':
			minutesOrMonths = true
		case strings.HasPrefix(strings.ToLower(code[i:]), "general"):
			i += len("general") - 1
		}
	}
	if minutesOrMonths && !f.time {
		f.date = true
	}
	return f
}

// xmlReader reads XML, of which no token is larger than a row.
type xmlReader struct {
	decoder *xml.Decoder
	content io.ReadCloser
	buffer  io.ByteReader
	left    int
	depth   int
	// size is that of the part as the archive says; read is how much of it was read.
	size, read int64
}
