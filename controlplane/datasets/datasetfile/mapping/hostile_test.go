package mapping

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

func errorsAs[T error](err error, target *T) bool { return errors.As(err, target) }

// assertKnown reports whether an error is one of a row or of the file, or its end.
func assertKnown(t *testing.T, err error) bool {
	t.Helper()
	var row *datasetfile.RowError
	var file *datasetfile.FileError
	if !errors.As(err, &row) && !errors.As(err, &file) && !errors.Is(err, io.EOF) {
		t.Errorf("not an error of the file: %v", err)
		return false
	}
	return true
}

// readAll reads a file as an import does, and checks what holds for every file.
func readAll(t *testing.T, content []byte, o datasetfile.Options) {
	t.Helper()
	result, err := Preview(t.Context(), bytes.NewReader(content), o, nil, 50)
	if err != nil {
		assertKnown(t, err)
		return
	}
	if len(result.Columns) > 0 {
		require.NoError(t, result.Mapping.valid())
	}
	f, err := reading.Open(bytes.NewReader(content), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	last := int64(0)
	for range 1_000_000 {
		row, err := f.Next()
		var bad *datasetfile.RowError
		switch {
		case errors.As(err, &bad):
			for _, field := range bad.Fields {
				checkField(t, field)
			}
			continue
		case err != nil:
			assertKnown(t, err)
			_, again := f.Next()
			require.Equal(t, err, again)
			return
		}
		require.GreaterOrEqual(t, row.Line, int64(1))
		if o.Format != datasetfile.XLSX { // whose rows have their numbers in the file
			require.GreaterOrEqual(t, row.Line, last)
		}
		last = row.Line
		for _, cell := range row.Cells {
			_, err := datasetfile.ParseJSON(string(cell.Value))
			require.NoError(t, err, "%s", cell.Value)
		}
		item, errs := result.Mapping.Item(row)
		for _, field := range errs {
			checkField(t, field)
		}
		if len(errs) > 0 {
			continue
		}
		for _, value := range [][]byte{item.Input, item.ReferenceOutput, item.Metadata} {
			if value != nil {
				_, err := datasetfile.ParseJSON(string(value))
				require.NoError(t, err, "%s", value)
			}
		}
		require.NotNil(t, item.Input)
	}
	t.Error("the file does not end")
}

func checkField(t *testing.T, f datasetfile.FieldError) {
	t.Helper()
	require.NotEmpty(t, f.Reason)
	require.True(t, utf8.ValidString(f.Value) && utf8.ValidString(f.Reason), "%q %q", f.Reason, f.Value)
	require.LessOrEqual(t, len(f.Value), datasetfile.MaxShown)
}

func TestHostileFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"empty": "", "NUL": "\x00", "NULs": strings.Repeat("\x00", 5000), "BOM": "\xef\xbb\xbf", "UTF-16 BOM": "\xff\xfe", "UTF-16, odd": "\xff\xfea",
		"quotes": strings.Repeat(`"`, 1001), "commas": strings.Repeat(",", 100_000), "lines": strings.Repeat("\n", 100_000), "CRs": strings.Repeat("\r", 1000),
		"brackets": strings.Repeat("[", 300_000), "braces": strings.Repeat(`{"a":`, 100_000), "backslashes": `{"a":"` + strings.Repeat(`\`, 1001),
		"a long name": strings.Repeat("x", 1<<20) + "\n1\n", "many columns": strings.Repeat("x,", 20_000) + "\n", "invalid": "\xff\xff\xff,\xc0\x80\n\xed\xa0\x80,x\n",
		"many members": "{" + strings.Repeat(`"a":1,`, 1000) + `"b":1}`, "zip": "PK\x03\x04", "PAR1": "PAR1PAR1PAR1", "anchors": "a: &a *a\n", "tags": "- !!float x\n- !x y\n- !!int 1e9\n",
		"deep shapes":  `{"messages":[{"role":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}]}`,
		"odd chat":     `{"messages":{}}` + "\n" + `{"messages":[1]}` + "\n" + `{"messages":[{"role":"assistant"}]}` + "\n" + `{"messages":null}`,
		"odd tests":    `{"vars":{},"assert":[1,{"type":"equals"},{"type":"equals","value":null}],"metadata":[1]}` + "\n" + `{"vars":{"a":1},"assert":{}}`,
		"odd evals":    `{"item":{},"sample":null}` + "\n" + `{"item":{"answer":1}}` + "\n" + `{"item":3}`,
		"odd export":   `{"key":1,"input":null,"reference_output":null,"metadata":null,"split":[],"tags":"[1]","source_run_id":1,"source_span_id":{}}`,
		"odd phoenix":  "id,node_id,input.,input..,input.a,input.a.b,output.a.b,output.a\n1,2,3,4,5,6,7,8\n,,,,,,,\nx,,,,,,,\n",
		"odd viewer":   `{"rows":[{"row_idx":0,"row":3},{"row_idx":0,"row":{"a":1},"truncated_cells":[1,{}]},{"row_idx":1,"row":{"a":2},"truncated_cells":"a"}]}`,
		"odd expected": "__expected,__metadata:,__metadata:[],q\nequals:,,,x\n(,a,b\\,,y\n",
	}
	samples, err := filepath.Glob("testdata/*")
	require.NoError(t, err)
	for _, name := range samples {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		files[name] = string(content)
	}
	no := false
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, format := range []datasetfile.Format{"", datasetfile.CSV, datasetfile.JSONL, datasetfile.JSON, datasetfile.YAML, datasetfile.Parquet, datasetfile.XLSX} {
				for _, o := range []datasetfile.Options{{}, {Partial: true}, {Header: &no}, {Encoding: datasetfile.UTF16LE}, {Encoding: datasetfile.UTF16BE}, {Encoding: datasetfile.Windows1252}, {Delimiter: "x"}} {
					o.Format = format
					readAll(t, []byte(content), o)
				}
			}
		})
	}
}

// Files with damaged bytes and cut files are read or refused.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/*.*[^d]") // not README.md
	require.NoError(t, err)
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			format, err := reading.DetectFormat("", name, content)
			require.NoError(t, err)
			random := rand.New(rand.NewPCG(1, 2))
			const marks = "\x00\"',;:[]{}\\\n\r\t -#&*!|>\xff<=/0e"
			for range 60 {
				damaged := bytes.Clone(content)
				for range 1 + random.IntN(3) {
					damaged[random.IntN(len(damaged))] = marks[random.IntN(len(marks))]
				}
				readAll(t, damaged, datasetfile.Options{Format: format})
				readAll(t, damaged[:random.IntN(len(damaged))], datasetfile.Options{Format: format, Partial: format != datasetfile.YAML && format != datasetfile.Parquet && format != datasetfile.XLSX})
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.*")
	require.NoError(f, err)
	formats := []datasetfile.Format{"", datasetfile.CSV, datasetfile.JSONL, datasetfile.JSON, datasetfile.YAML, datasetfile.Parquet, datasetfile.XLSX}
	for _, name := range samples {
		content, err := os.ReadFile(name)
		require.NoError(f, err)
		format, err := reading.DetectFormat("", name, content)
		require.NoError(f, err)
		f.Add(content, uint8(slices.Index(formats, format)), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, format uint8, partial bool) {
		readAll(t, content, datasetfile.Options{Format: formats[int(format)%len(formats)], Partial: partial})
	})
}

// failingSource fails after a part of the file.
type failingSource struct {
	*bytes.Reader
	after int64
}

func (s failingSource) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > s.after {
		return 0, iotest.ErrTimeout
	}
	return s.Reader.ReadAt(p, at)
}

// An error of the source is no error of the file.
func TestErrorsOfTheSource(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w, err := NewWriter(&file, datasetfile.Parquet)
	require.NoError(t, err)
	require.NoError(t, w.Write(hardItems()...))
	require.NoError(t, w.Close())
	workbook, err := os.ReadFile("testdata/openpyxl.xlsx")
	require.NoError(t, err)
	lines := strings.Repeat("{\"a\":1}\n", 100_000)
	for format, content := range map[datasetfile.Format][]byte{
		datasetfile.JSONL: []byte(lines), datasetfile.CSV: []byte(lines), datasetfile.JSON: []byte("[" + strings.Repeat("{},", 200_000) + "{}]"), datasetfile.YAML: []byte(strings.Repeat("- {}\n", 100_000)),
		datasetfile.Parquet: file.Bytes(), datasetfile.XLSX: workbook,
	} {
		f, err := reading.Open(failingSource{bytes.NewReader(content), min(300<<10, int64(len(content))-1)}, datasetfile.Options{Format: format})
		for err == nil {
			var bad *datasetfile.RowError
			if _, err = f.Next(); errors.As(err, &bad) {
				err = nil
			}
		}
		assert.ErrorIs(t, err, iotest.ErrTimeout, format)
	}
}
