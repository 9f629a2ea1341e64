package mapping

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

// repeatedSource is a file of a beginning and of the same piece again and again, which is nowhere in memory as a whole.
type repeatedSource struct {
	head, piece, tail []byte
	times             int64
}

func (s *repeatedSource) Size() int64 {
	return int64(len(s.head)) + s.times*int64(len(s.piece)) + int64(len(s.tail))
}

func (s *repeatedSource) ReadAt(p []byte, at int64) (int, error) {
	n := 0
	end := s.Size() - int64(len(s.tail))
	for n < len(p) {
		var part []byte
		switch {
		case at < int64(len(s.head)):
			part = s.head[at:]
		case at < end:
			part = s.piece[(at-int64(len(s.head)))%int64(len(s.piece)):]
		case at < s.Size():
			part = s.tail[at-end:]
		default:
			return n, io.EOF
		}
		copied := copy(p[n:], part)
		n += copied
		at += int64(copied)
	}
	return n, nil
}

// TestMemory reads 200 MB and looks at the heap on the way: it is that of buffers and of a row.
func TestMemory(t *testing.T) {
	const size, bound = 200 << 20, 64 << 20
	context := strings.Repeat("What is the meaning of this? ", 30)
	jsonLines := bytes.Repeat([]byte(`{"id":1,"question":"`+context+`","answer":"42","list":[1,2,3]}`+"\n"), 1000)
	elements := bytes.Repeat([]byte(`{"id":1,"question":"`+context+`","answer":"42","list":[1,2,3]},`+"\n"), 1000)
	csvLines := bytes.Repeat([]byte("1,\"What \"\"is\"\"\n"+context+"\",42,\"[1,2,3]\"\n"), 1000)
	sheetRows := bytes.Repeat([]byte(`<row><c><v>1</v></c><c t="inlineStr"><is><t>`+context+`</t></is></c></row>`), 1000)
	times := func(piece []byte) int64 { return size / int64(len(piece)) }
	for _, test := range []struct {
		format datasetfile.Format
		src    datasetfile.Source
		rows   int64
	}{
		{datasetfile.JSONL, &repeatedSource{piece: jsonLines, times: times(jsonLines)}, times(jsonLines) * 1000},
		{datasetfile.CSV, &repeatedSource{head: []byte("id,question,answer,list\n"), piece: csvLines, times: times(csvLines)}, times(csvLines) * 1000},
		{datasetfile.JSON, &repeatedSource{head: []byte(`{"data":[`), piece: elements, tail: []byte(`{}],"more":1}`), times: times(elements)}, times(elements)*1000 + 1},
		{datasetfile.XLSX, strings.NewReader(workbook(t, strings.Repeat(string(sheetRows), int(times(sheetRows))))), times(sheetRows)*1000 - 1}, // the first is the header
	} {
		t.Run(string(test.format), func(t *testing.T) {
			src := test.src
			m, err := Infer(t.Context(), src, datasetfile.Options{Format: test.format})
			require.NoError(t, err)
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			before, most := stats.HeapAlloc, uint64(0)
			f, err := reading.Open(src, datasetfile.Options{Format: test.format})
			require.NoError(t, err)
			rows, errs := int64(0), 0
			for {
				row, err := f.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				if _, bad := m.Item(row); len(bad) > 0 {
					errs++
				}
				if rows++; rows%5_000 == 0 {
					runtime.ReadMemStats(&stats)
					most = max(most, stats.HeapAlloc)
				}
			}
			if test.format == datasetfile.JSON {
				assert.Equal(t, 1, errs)
			}
			assert.Equal(t, test.rows, rows)
			assert.Equal(t, src.Size(), f.Offset())
			assert.Less(t, most, before+bound)
			require.NoError(t, f.Close())
		})
	}
}
