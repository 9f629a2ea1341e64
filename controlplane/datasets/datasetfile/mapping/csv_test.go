package mapping

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

// read returns the rows of a file as text: line, then the cells; of bad rows the error.
func read(t *testing.T, content string, o datasetfile.Options) (got []string, err error) {
	t.Helper()
	f, err := reading.Open(bytes.NewReader([]byte(content)), o)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, f.Close()) }()
	for {
		row, err := f.Next()
		var bad *datasetfile.RowError
		switch {
		case errors.Is(err, io.EOF):
			return got, nil
		case errors.As(err, &bad):
			got = append(got, "! "+bad.Error())
		case err != nil:
			return got, err
		default:
			got = append(got, rowText(row))
		}
	}
}

func rowText(row datasetfile.Row) string {
	return strings.TrimSpace(strings.Join([]string{lineText(row.Line), string(datasetfile.AppendObject(nil, row.Cells))}, " "))
}

func TestCSV(t *testing.T) {
	t.Parallel()
	no := false
	for name, test := range map[string]struct {
		content string
		options datasetfile.Options
		want    []string
		fails   string
	}{
		"quotes and ends of lines within cells": {
			content: "q,a\n\"one, \"\"two\"\"\nthree\",x\n\ny,\"z\"\n",
			want:    []string{`2 {"q":"one, \"two\"\nthree","a":"x"}`, `5 {"q":"y","a":"z"}`},
		},
		"Windows":                     {content: "\xef\xbb\xbfq,a\r\n1,2\r\n\r\n\"x\r\ny\",\"b\"\r\n", want: []string{`2 {"q":"1","a":"2"}`, `4 {"q":"x\r\ny","a":"b"}`}},
		"old Mac":                     {content: "q,a\r1,2\r3,4", want: []string{`2 {"q":"1","a":"2"}`, `3 {"q":"3","a":"4"}`}},
		"a lone CR is part of a cell": {content: "q,a\n1\r2,3\n", want: []string{`2 {"q":"1\r2","a":"3"}`}},
		"empty cells are null, empty rows are none": {
			content: "q,a\n,2\n,\n\"\",\"\"\nx,\"\"\n", want: []string{`2 {"q":null,"a":"2"}`, `5 {"q":"x","a":null}`},
		},
		"one column":                           {content: "question\nWhat?\nWhy?\n", want: []string{`2 {"question":"What?"}`, `3 {"question":"Why?"}`}},
		"one column with comma":                {content: "question\nWhat, now?\n", want: []string{`! line 2: the row has 2 cells, the header 1: a cell with a delimiter (","), a quote or an end of line needs quotes around it`}},
		"semicolons":                           {content: "q;a\n1,5;2\n", want: []string{`2 {"q":"1,5","a":"2"}`}},
		"tabs":                                 {content: "q\ta\n1,5\tx;y\n", want: []string{`2 {"q":"1,5","a":"x;y"}`}},
		"pipes":                                {content: "q|a\n1|2\n", want: []string{`2 {"q":"1","a":"2"}`}},
		"a delimiter in quotes does not count": {content: "q;a\n\"a,b,c\";1\n", want: []string{`2 {"q":"a,b,c","a":"1"}`}},
		"the delimiter that Excel names":       {content: "sep=;\nq;a\n1;2\n", want: []string{`3 {"q":"1","a":"2"}`}},
		"the delimiter that is asked for":      {content: "q,x;a\n1;2\n", options: datasetfile.Options{Delimiter: ";"}, want: []string{`2 {"q,x":"1","a":"2"}`}},
		"no header":                            {content: "1,2\n3,4\n", options: datasetfile.Options{Header: &no}, want: []string{`1 {"column_1":"1","column_2":"2"}`, `2 {"column_1":"3","column_2":"4"}`}},
		"header only":                          {content: "q,a\n"},
		"header only, without end":             {content: "q,a"},
		"empty":                                {content: "", fails: "the file is empty"},
		"blank":                                {content: " \r\n\n", fails: "the file is empty"},
		"a name twice":                         {content: "q,a,q\n1,2,3\n", fails: `the header names "q" twice, in the columns 1 and 3: give each column a name of its own, or choose header=false if the first row is no header`},
		"names without text":                   {content: ",q,\n1,2,3\n", want: []string{`2 {"column_1":"1","q":"2","column_3":"3"}`}},
		"ragged rows": {
			content: "q,a\n1\n1,2,3\n4,5\n",
			want: []string{
				`! line 2: the row has 1 cell, the header 2: a cell with a delimiter (","), a quote or an end of line needs quotes around it`,
				`! line 3: the row has 3 cells, the header 2: a cell with a delimiter (","), a quote or an end of line needs quotes around it`,
				`4 {"q":"4","a":"5"}`,
			},
		},
		"a quote within a plain cell": {content: "q,a\n5\" pipe,say \"x\"\n", want: []string{`2 {"q":"5\" pipe","a":"say \"x\""}`}},
		"a quote that ends too early": {
			content: "q,a\n\"he said \"hi\" to me\",2\n3,4\n",
			want:    []string{`! line 2: line 2: the quote that begins the cell in line 2 ends before "hi\" to me\",2\n3,4\n": write a quote within a cell twice, or remove what follows the cell`, `3 {"q":"3","a":"4"}`},
		},
		"a quote that is never closed": {
			content: "q,a\n1,2\n3,\"x\n5,6\n",
			want:    []string{`2 {"q":"1","a":"2"}`},
			fails:   "the quote that begins a cell in line 3 is never closed",
		},
		"no UTF-8": {
			content: "q,a\n1,2\ncaf\xe9,3\n4,5\n",
			want:    []string{`2 {"q":"1","a":"2"}`, `! line 3: q: line 3, byte 4 of the cell: the byte 0xe9 is not UTF-8: save the file as UTF-8, or choose encoding=windows-1252 if it is in that encoding`, `4 {"q":"4","a":"5"}`},
		},
		"Windows-1252":            {content: "q\ncaf\xe9 \x80\n", options: datasetfile.Options{Encoding: datasetfile.Windows1252}, want: []string{`2 {"q":"café €"}`}},
		"no UTF-8 in a header":    {content: "caf\xe9\n1\n", fails: "line 1, the header, column 1, byte 4: the byte 0xe9 is not UTF-8"},
		"NUL":                     {content: "q,a\nx\x00y,1\n2,3\n", want: []string{`! line 2: q: has a NUL character: the file is damaged, or in another encoding`, `3 {"q":"2","a":"3"}`}},
		"the beginning of a file": {content: "q,a\n1,2\n3,\"4", options: datasetfile.Options{Partial: true}, want: []string{`2 {"q":"1","a":"2"}`}},
		"a row that may be cut":   {content: "q,a\n1,2\n3,4", options: datasetfile.Options{Partial: true}, want: []string{`2 {"q":"1","a":"2"}`}},
		"a row that is whole":     {content: "q,a\n1,2\n", options: datasetfile.Options{Partial: true}, want: []string{`2 {"q":"1","a":"2"}`}},
		"a delimiter of two":      {content: "q", options: datasetfile.Options{Delimiter: "::"}, fails: `the delimiter "::" is not one character of ASCII`},
		"an unknown encoding":     {content: "q", options: datasetfile.Options{Encoding: "latin"}, fails: `the encoding "latin" is not known: use utf-8`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Format = datasetfile.CSV
			got, err := read(t, test.content, test.options)
			assert.Equal(t, test.want, got)
			if test.fails == "" {
				require.NoError(t, err)
				return
			}
			var file *datasetfile.FileError
			require.ErrorAs(t, err, &file)
			assert.Contains(t, file.Detail, test.fails)
		})
	}
}

func TestUTF16(t *testing.T) {
	t.Parallel()
	const content = "frage,antwort\n\"größe, 😀\",\"x\ny\"\n"
	for name, test := range map[string]struct {
		endian unicode.Endianness
		bom    unicode.BOMPolicy
		want   string
	}{
		"little, with BOM":    {unicode.LittleEndian, unicode.UseBOM, datasetfile.UTF16LE},
		"big, with BOM":       {unicode.BigEndian, unicode.UseBOM, datasetfile.UTF16BE},
		"little, without BOM": {unicode.LittleEndian, unicode.IgnoreBOM, datasetfile.UTF16LE},
		"big, without BOM":    {unicode.BigEndian, unicode.IgnoreBOM, datasetfile.UTF16BE},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := unicode.UTF16(test.endian, test.bom).NewEncoder().String(content)
			require.NoError(t, err)
			f, err := reading.Open(strings.NewReader(encoded), datasetfile.Options{Format: datasetfile.CSV})
			require.NoError(t, err)
			assert.Equal(t, test.want, f.Layout().Encoding)
			row, err := f.Next()
			require.NoError(t, err)
			assert.Equal(t, `2 {"frage":"größe, 😀","antwort":"x\ny"}`, rowText(row))
			_, err = f.Next()
			require.ErrorIs(t, err, io.EOF)
			format, err := reading.DetectFormat("application/octet-stream", "", []byte(encoded))
			require.NoError(t, err)
			assert.Equal(t, datasetfile.CSV, format)
		})
	}
	got, err := read(t, "q\x00\n\x00\x3d\xd8x\x00\n\x00y\x00\n\x00z", datasetfile.Options{Format: datasetfile.CSV, Encoding: datasetfile.UTF16LE})
	require.NoError(t, err)
	require.Len(t, got, 3)
	assert.Contains(t, got[0], "half of a pair of UTF-16")
	assert.Equal(t, `3 {"q":"y"}`, got[1])
	assert.Contains(t, got[2], "half of a pair of UTF-16")
}

func TestLargeCSVRows(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 5<<20)
	got, err := read(t, "q,a\n\""+large+"\",1\n"+strings.Repeat("y", datasetfile.MaxRow+1)+",2\n\""+strings.Repeat("z\n", datasetfile.MaxRow/2+1)+"\",3\n4,5\n", datasetfile.Options{Format: datasetfile.CSV})
	require.NoError(t, err)
	require.Len(t, got, 4)
	assert.Equal(t, `2 {"q":"`+large+`","a":"1"}`, got[0])
	assert.Contains(t, got[1], "! line 3: the row is longer than 16 MiB")
	assert.Contains(t, got[2], "! line 4: the row is longer than 16 MiB")
	assert.Equal(t, `8388614 {"q":"4","a":"5"}`, got[3])
}
