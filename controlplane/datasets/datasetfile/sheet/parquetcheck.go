package sheet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// Limits of Parquet. The library allocates what a file says that it needs, so that a small damaged file could take all
// memory: these are checked before.
const (
	maxFooter = 32 << 20
	// maxFooterParts bounds the elements of all lists of the footer.
	maxFooterParts = 500_000
	// maxPage is the size of a page, and maxPages that of the largest pages of all columns together.
	maxPage       = 128 << 20
	maxPages      = 256 << 20
	maxPageValues = 16 << 20
	// MaxRowValues bounds the values of a row, each of which takes 24 bytes and more.
	MaxRowValues = 1 << 20
	pageHeader   = 64 << 10
)

var errDamaged = errors.New("is damaged")

// checkFooter checks the directory at the end of a file.
func checkFooter(src datasetfile.Source) error {
	const trailer, least = 8, 12
	var tail [trailer]byte
	if src.Size() < least {
		return datasetfile.FileErrorf("the file is no Parquet, or is cut: it has %d bytes", src.Size())
	}
	if err := readFull(src, tail[:], src.Size()-trailer); err != nil {
		return err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return datasetfile.FileErrorf("the file is encrypted: write it without encryption")
	default:
		return datasetfile.FileErrorf("the file has no directory at its end: it is cut, or no Parquet; write it again")
	}
	size := int64(binary.LittleEndian.Uint32(tail[:4]))
	switch {
	case size > src.Size()-least:
		return datasetfile.FileErrorf("the directory of the file would be larger than the file: it is damaged; write it again")
	case size > maxFooter:
		return datasetfile.FileErrorf("the directory of the file has %d MiB: at most %d can be read; write the file with fewer row groups or columns", size>>20, maxFooter>>20)
	}
	footer := make([]byte, size)
	if err := readFull(src, footer, src.Size()-trailer-size); err != nil {
		return err
	}
	w := thriftWalker{data: footer}
	if err := w.structure(0); err != nil {
		return datasetfile.FileErrorf("the directory of the file cannot be read: it %v; write the file again", err)
	}
	return nil
}

func readFull(src io.ReaderAt, p []byte, at int64) error {
	n, err := src.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return datasetfile.FileErrorf("the file is cut: write it again")
	}
	return fmt.Errorf("read the file: %w", err)
}

// thriftWalker walks a struct of Thrift's compact protocol and checks that its lists and texts fit into it.
type thriftWalker struct {
	data  []byte
	at    int
	parts int
}

// Types of the compact protocol.
const (
	thriftTrue = 1 + iota
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

func (w *thriftWalker) structure(depth int) error {
	const deepest = 32
	if depth > deepest {
		return errDamaged
	}
	for {
		b, err := w.byte()
		if err != nil {
			return err
		}
		if b == 0 {
			return nil
		}
		if b>>4 == 0 {
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := b & 0xf; kind != thriftTrue && kind != thriftFalse {
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
}

func (w *thriftWalker) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftStruct:
		return w.structure(depth)
	}
	return errDamaged // the footer has no maps
}

func (w *thriftWalker) list(depth int) error {
	b, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(b >> 4)
	if n == 0xf {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.data)-w.at) {
		return errDamaged
	}
	if w.parts += int(n); w.parts > maxFooterParts {
		return fmt.Errorf("has more than %d parts: write the file with fewer row groups or columns", maxFooterParts)
	}
	for range n {
		if err := w.value(b&0xf, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalker) byte() (byte, error) {
	if w.at >= len(w.data) {
		return 0, errDamaged
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *thriftWalker) varint() (uint64, error) {
	v, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, errDamaged
	}
	w.at += n
	return v, nil
}

func (w *thriftWalker) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return errDamaged
	}
	w.at += int(n)
	return nil
}

// checkPages checks the pages of a row group: each must be within the file and not too large.
func checkPages(src datasetfile.Source, group *format.RowGroup) error {
	total := int64(0)
	for i := range group.Columns {
		column := &group.Columns[i]
		if column.FilePath != "" {
			return datasetfile.FileErrorf("the file has its columns in other files: write one file")
		}
		largest, err := checkColumn(src, &column.MetaData)
		if err != nil {
			return err
		}
		total += largest
	}
	if total > maxPages {
		return datasetfile.FileErrorf("the pages of a row group take %d MiB at once: at most %d can be read; write the file with smaller pages (data_page_size)", total>>20, maxPages>>20)
	}
	return nil
}

// checkColumn checks the pages of a column and returns the size of the largest.
func checkColumn(src datasetfile.Source, column *format.ColumnMetaData) (largest int64, err error) {
	at := column.DataPageOffset
	if column.DictionaryPageOffset > 0 && column.DictionaryPageOffset < at {
		at = column.DictionaryPageOffset
	}
	end := at + column.TotalCompressedSize
	if at < 0 || end < at || end > src.Size() {
		return 0, datasetfile.FileErrorf("a column of the file would be outside of it: the file is damaged; write it again")
	}
	for at < end {
		header, size, err := readPageHeader(src, at, end)
		if err != nil {
			return 0, err
		}
		values := max(header.DataPageHeader.V.NumValues, header.DataPageHeaderV2.V.NumValues, header.DictionaryPageHeader.V.NumValues)
		uncompressed := int64(header.UncompressedPageSize)
		at += size + int64(header.CompressedPageSize)
		switch {
		case header.CompressedPageSize < 0 || uncompressed < 0 || values < 0 || at > end:
			return 0, datasetfile.FileErrorf("a page of the file is damaged: write the file again")
		case uncompressed > maxPage || values > maxPageValues:
			return 0, datasetfile.FileErrorf("a page of the file has %d MiB and %d values: at most %d MiB and %d values can be read; write the file with smaller pages (data_page_size)",
				uncompressed>>20, values, maxPage>>20, maxPageValues)
		}
		largest = max(largest, uncompressed)
	}
	return largest, nil
}

func readPageHeader(src datasetfile.Source, at, end int64) (header format.PageHeader, size int64, err error) {
	content := make([]byte, min(pageHeader, end-at))
	if err := readFull(src, content, at); err != nil {
		return header, 0, err
	}
	w := thriftWalker{data: content}
	if err := w.structure(0); err != nil {
		return header, 0, datasetfile.FileErrorf("the head of a page of the file cannot be read: it %v; write the file again", err)
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), content[:w.at], &header); err != nil {
		return header, 0, datasetfile.FileErrorf("the head of a page of the file cannot be read: %v; write the file again", err)
	}
	return header, int64(w.at), nil
}
