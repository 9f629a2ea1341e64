package mapping

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/sheet"
)

// xlsx makes a file of parts. Those that every file has are added.
func xlsx(t *testing.T, parts map[string]string) string {
	t.Helper()
	all := map[string]string{
		"[Content_Types].xml": `<Types/>`,
		"_rels/.rels":         `<Relationships><Relationship Id="r" Type="http://x/officeDocument" Target="/xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":     `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="One" r:id="s1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="s1" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="t" Type="http://x/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="st" Type="http://x/styles" Target="styles.xml"/></Relationships>`,
		"xl/sharedStrings.xml": `<sst><si><t>question</t></si><si><r><t>a </t></r><r><t>b_x000D_</t></r><rPh sb="0"><t>no</t></rPh></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd &quot;m&quot;;@"/><numFmt numFmtId="165" formatCode="[h]:mm"/><numFmt numFmtId="166" formatCode="0.00 &quot;days&quot;"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="21"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>`,
	}
	for name, content := range parts {
		all[name] = content
	}
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for name, content := range all {
		if content == "" {
			continue
		}
		part, err := w.Create(name)
		require.NoError(t, err)
		_, err = part.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return file.String()
}

// sheet makes a file with one sheet.
func workbook(t *testing.T, rows string) string {
	t.Helper()
	return xlsx(t, map[string]string{"xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`})
}

// declared makes a file whose sheet has some rows and says that it has so many bytes.
func declared(t *testing.T, size uint64) string {
	t.Helper()
	var deflated bytes.Buffer
	compress, err := flate.NewWriter(&deflated, flate.BestSpeed)
	require.NoError(t, err)
	_, err = compress.Write([]byte(`<worksheet><sheetData><row><c><v>1</v></c></row><row><c><v>2</v></c></row></sheetData></worksheet>`))
	require.NoError(t, err)
	require.NoError(t, compress.Close())
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	book, err := zip.NewReader(strings.NewReader(xlsx(t, nil)), int64(len(xlsx(t, nil))))
	require.NoError(t, err)
	for _, part := range book.File {
		require.NoError(t, w.Copy(part))
	}
	part, err := w.CreateRaw(&zip.FileHeader{Name: "xl/worksheets/sheet1.xml", Method: zip.Deflate, CompressedSize64: uint64(deflated.Len()), UncompressedSize64: size})
	require.NoError(t, err)
	_, err = part.Write(deflated.Bytes())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return file.String()
}

// entries is an archive of so many entries without a name or content.
func entries(n int64) *repeatedSource {
	const entrySize = 46
	entry := append([]byte("PK\x01\x02"), make([]byte, entrySize-4)...)
	end := []byte("PK\x05\x06\x00\x00\x00\x00")
	end = binary.LittleEndian.AppendUint16(end, uint16(n))
	end = binary.LittleEndian.AppendUint16(end, uint16(n))
	end = binary.LittleEndian.AppendUint32(end, uint32(n*entrySize))
	return &repeatedSource{piece: entry, times: n, tail: append(end, make([]byte, 6)...)}
}

// TestEntriesOfXLSX opens archives with entries without end, and one that names as many as would fit into its size.
func TestEntriesOfXLSX(t *testing.T) {
	const many, bound = 1_400_000, 64 << 20
	named := entries(0)
	named.head, named.piece, named.times = []byte("PK"), make([]byte, 1<<20), 2<<10
	end64 := append([]byte("PK\x06\x06"), make([]byte, 28)...)
	end64 = binary.LittleEndian.AppendUint64(end64, uint64(named.Size()/30-1))
	end64 = append(end64, make([]byte, 16)...)
	locator := append([]byte("PK\x06\x07\x00\x00\x00\x00"), binary.LittleEndian.AppendUint64(nil, uint64(2+2<<30))...)
	named.tail = slices.Concat(end64, locator, []byte{1, 0, 0, 0}, named.tail)
	copy(named.tail[len(named.tail)-14:], "\xff\xff\xff\xff")
	for name, src := range map[string]*repeatedSource{"one more": entries(sheet.MaxParts + 1), "many": entries(many), "named": named} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := reading.Open(src, datasetfile.Options{Format: datasetfile.XLSX})
		runtime.ReadMemStats(&after)
		var file *datasetfile.FileError
		require.ErrorAs(t, err, &file, name)
		assert.Contains(t, file.Detail, "more than 10000 parts", name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(bound), name)
	}
	var file *datasetfile.FileError
	_, err := reading.Open(entries(sheet.MaxParts), datasetfile.Options{Format: datasetfile.XLSX})
	require.ErrorAs(t, err, &file)
	assert.Contains(t, file.Detail, "it has no part xl/workbook.xml")
}

func TestXLSX(t *testing.T) {
	t.Parallel()
	no := false
	const header = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>`
	many := strings.Repeat(`<c t="s"><v>0</v></c>`, datasetfile.MaxColumns+1)
	for name, test := range map[string]struct {
		content string
		options datasetfile.Options
		want    []string
		fails   string
	}{
		"texts": {
			content: workbook(t, header+`<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="str"><f>A1</f><v>x &amp; y</v></c></row><row/><row><c><v></v></c></row><row><c t="inlineStr"><is><t>z</t></is></c></row>`),
			want:    []string{`3 {"question":"a b\r","b":"x & y"}`, `6 {"question":"z","b":null}`},
		},
		"numbers and booleans": {
			content: workbook(t, header+`<row><c><v>12345678901234567890.10</v></c><c t="b"><v>1</v></c></row><row><c><v>1E-3</v></c><c t="b"><v>0</v></c></row>`),
			want:    []string{`2 {"question":12345678901234567890.10,"b":true}`, `3 {"question":1E-3,"b":false}`},
		},
		"dates": {
			content: workbook(t, header+`<row><c s="1"><v>46024</v></c><c s="2"><v>46024.127835648149</v></c></row><row><c s="3"><v>0.5</v></c><c s="4"><v>1</v></c></row><row><c s="5"><v>1.5</v></c><c s="6"><v>2</v></c></row><row><c s="1"><v>-1</v></c></row>`),
			want:    []string{`2 {"question":"2026-01-02","b":"2026-01-02T03:04:05"}`, `3 {"question":"12:00:00","b":"1900-01-01"}`, `4 {"question":1.5,"b":2}`, `! line 5: question: is -1, which is no date: give the cell the format of a number`},
		},
		"errors and formulas": {
			content: workbook(t, header+`<row><c t="e"><f>1/0</f><v>#DIV/0!</v></c><c><f>1+1</f></c></row><row><c><f>1+1</f><v>2</v></c></row>`),
			want:    []string{`! line 2: question: has the error #DIV/0!: correct the formula, or clear the cell; b: has a formula without a value: open the file in a spreadsheet program and save it, so that it computes the value`, `3 {"question":2,"b":null}`},
		},
		"a value without a name": {content: workbook(t, header+`<row><c><v>1</v></c><c/><c r="E2"><v>5</v></c></row>`), want: []string{`! line 2: has a value in the column E, for which the header has no name: name the column, or clear the cell`}},
		"no header":              {content: workbook(t, header+`<row><c><v>1</v></c></row>`), options: datasetfile.Options{Header: &no}, want: []string{`1 {"column_1":"question","column_2":"b"}`, `2 {"column_1":1,"column_2":null}`}},
		"a name twice":           {content: workbook(t, `<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>`), fails: `the header names "question" twice`},
		"an empty sheet":         {content: workbook(t, ``), fails: "the sheet is empty"},
		"an unknown sheet":       {content: workbook(t, header), options: datasetfile.Options{Sheet: "Two"}, fails: `the file has no sheet "Two". It has: "One"`},
		"a text that is missing": {content: workbook(t, header+`<row><c t="s"><v>2</v></c></row>`), want: []string{`! line 2: question: refers to a text that the file does not have: the file is damaged`}},
		"too many cells":         {content: workbook(t, header+`<row>`+many+`</row>`), fails: "has a cell that is in none of the 16384 columns"},
		"cut":                    {content: xlsx(t, map[string]string{"xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + header + `<row><c><v>1`}), fails: "cannot be read as XLSX"},
		"no sheet":               {content: xlsx(t, nil), fails: "it has no part xl/worksheets/sheet1.xml"},
		"deep":                   {content: workbook(t, header+strings.Repeat("<a>", 200)), fails: "nests more than 100 deep"},
		"a token without end":    {content: workbook(t, header+`<row><c><v>`+strings.Repeat("1", datasetfile.MaxRow+1)+`</v></c></row>`), fails: "longer than 16 MiB"},
		"a table of many texts":  {content: xlsx(t, map[string]string{"xl/sharedStrings.xml": "<sst>" + strings.Repeat("<si><t>"+strings.Repeat("x", 1<<20)+"</t></si>", 65) + "</sst>"}), fails: "the texts of the file take more than the 64 MiB"},
		"a large row":            {content: xlsx(t, map[string]string{"xl/sharedStrings.xml": "<sst><si><t>" + strings.Repeat("x", 9<<20) + "</t></si></sst>", "xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + strings.ReplaceAll(header, ` t="s"`, "") + `<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row></sheetData></worksheet>`}), want: []string{"! line 2: b: makes the row longer than 16 MiB: at most that much can be read"}},
		"a table of short texts": {content: xlsx(t, map[string]string{"xl/sharedStrings.xml": "<sst>" + strings.Repeat("<si/>", sheet.MaxTextCount+1) + "</sst>"}), fails: "or are more than the 2000000"},
		"large styles":           {content: xlsx(t, map[string]string{"xl/styles.xml": "<styleSheet>" + strings.Repeat(" ", sheet.MaxPart) + "</styleSheet>"}), fails: "xl/styles.xml is too large"},
		"large relationships":    {content: xlsx(t, map[string]string{"_rels/.rels": strings.Repeat(" ", sheet.MaxPart) + "<Relationships/>"}), fails: "_rels/.rels is too large"},
		"a large sheet":          {content: declared(t, sheet.MaxSheet+1), fails: "xl/worksheets/sheet1.xml is too large"},
		"a sheet that says less": {content: declared(t, 10), fails: "cannot be read as XLSX"},
		"the beginning":          {content: workbook(t, header), options: datasetfile.Options{Partial: true}, fails: "its directory is at its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Format = datasetfile.XLSX
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

// The file was written by openpyxl, see testdata/README.md.
func TestXLSXOfOpenpyxl(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/openpyxl.xlsx")
	require.NoError(t, err)
	format, err := reading.DetectFormat("application/zip", "", content)
	require.NoError(t, err)
	assert.Equal(t, datasetfile.XLSX, format)
	got, err := read(t, string(content), datasetfile.Options{Format: format})
	require.NoError(t, err)
	assert.Equal(t, []string{
		`2 {"question":"What?\nWhy?","answer":"007","n":1.234567890123457e+16,"when":"2026-01-02T03:04:05","day":"2026-01-02","time":"03:04:05","ok":true,"empty":null,"7":0.1}`,
		`! line 4: answer: has the error #N/A: correct the formula, or clear the cell`,
		`! line 6: question: has a formula without a value: open the file in a spreadsheet program and save it, so that it computes the value; n: has the error #DIV/0!: correct the formula, or clear the cell`,
		`! line 7: has a value in the column L, for which the header has no name: name the column, or clear the cell`,
	}, got)
	f, err := reading.Open(bytes.NewReader(content), datasetfile.Options{Format: datasetfile.XLSX, Sheet: "Hidden"})
	require.NoError(t, err)
	assert.Equal(t, []string{"Questions", "Other", "Hidden"}, f.Layout().Sheets)
	assert.Equal(t, "Hidden", f.Layout().Sheet)
	assert.Equal(t, []string{"h"}, f.Columns())
	require.NoError(t, f.Close())
}
