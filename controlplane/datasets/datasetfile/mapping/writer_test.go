package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
	"github.com/looptrace/looptrace/internal/jsontext"
)

func str(s string) *string { return &s }

// hardItems are items that a file could easily change.
func hardItems() []Item {
	return []Item{
		{Input: json.RawMessage(`"text"`)},
		{Input: json.RawMessage(`null`), ReferenceOutput: json.RawMessage(`false`)},
		{Input: json.RawMessage(`"null"`), ReferenceOutput: json.RawMessage(`""`), Metadata: json.RawMessage(`{}`)},
		{
			Key: str(` a,"b"` + "\r\n;\t'=1+1"), Input: json.RawMessage(`{"b":12345678901234567890,"a":1.10,"c":1E400,"a b":"\ud83d\ude00 \u0000 \" \\n"}`),
			ReferenceOutput: json.RawMessage(`[1,"2",null,{"<&>":"😀` + "\u2028" + `"}]`), Metadata: json.RawMessage(`{"tags":"x","n":0.0}`),
			Split: str("test,1"), Tags: []string{"a,b", `"c"`, "[d]"},
			SourceRunID: str("0197f3a0-0000-7000-8000-000000000001"), SourceSpanID: str("00000000000000ab"),
		},
		{Key: str("=1+1"), Input: json.RawMessage(`-1`), Split: str("@x")},
		{Key: str("'=1+1"), Input: json.RawMessage(`"=1+1"`), Split: str("'x")},
		{Key: str("''-1"), Input: json.RawMessage(`"'=1"`)},
		{Key: str("123"), Input: json.RawMessage(`"[1]"`), Split: str("true"), Tags: []string{"1"}},
	}
}

// stored is an item as a dataset has it.
func stored(item Item) Item {
	if jsontext.IsNull(item.ReferenceOutput) {
		item.ReferenceOutput = datasetfile.Null
	}
	if item.Metadata == nil {
		item.Metadata = json.RawMessage("{}")
	}
	return item
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	for _, format := range []datasetfile.Format{datasetfile.JSONL, datasetfile.CSV, datasetfile.Parquet} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			for name, items := range map[string][]Item{"all": hardItems(), "one": hardItems()[:1], "none": nil} {
				var file bytes.Buffer
				w, err := NewWriter(&file, format)
				require.NoError(t, err)
				require.NoError(t, w.Write(items...))
				require.NoError(t, w.Close())
				if name == "none" && format == datasetfile.JSONL {
					assert.Empty(t, file.String())
					continue
				}
				found, err := reading.DetectFormat("", "", file.Bytes())
				require.NoError(t, err)
				assert.Equal(t, format, found)
				src := bytes.NewReader(file.Bytes())
				m, err := Infer(t.Context(), src, datasetfile.Options{})
				require.NoError(t, err)
				assert.Equal(t, Looptrace, m.Shape)
				f, err := reading.Open(src, datasetfile.Options{})
				require.NoError(t, err)
				for i := range items {
					row, err := f.Next()
					require.NoError(t, err)
					item, bad := m.Item(row)
					require.Empty(t, bad)
					assert.Equal(t, stored(items[i]), stored(item), fmt.Sprint(name, i))
				}
				_, err = f.Next()
				require.ErrorIs(t, err, io.EOF)
				require.NoError(t, f.Close())
			}
		})
	}
	_, err := NewWriter(io.Discard, datasetfile.XLSX)
	require.EqualError(t, err, `files of the format "xlsx" are not written: use jsonl, csv or parquet`)
}

// TestNoFormulas: what a spreadsheet would take for a formula is a text in it.
func TestNoFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a": "a", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "'=x": "''=x", "'x": "'x", "'": "'", "a=1": "a=1",
	} {
		assert.Equal(t, want, datasetfile.TextCell(text))
		assert.Equal(t, text, string(datasetfile.PlainText([]byte(want))))
	}
	var file bytes.Buffer
	w, err := NewWriter(&file, datasetfile.CSV)
	require.NoError(t, err)
	require.NoError(t, w.Write(Item{Key: str("=1+1"), Input: json.RawMessage("1"), Split: str("@x")}))
	require.NoError(t, w.Close())
	assert.Contains(t, file.String(), "\n'=1+1,1,null,{},'@x,")
	// Another's file is taken as it is.
	_, items := preview(t, "key,input\n'=1,a\n", datasetfile.Options{})
	assert.Contains(t, items[0], "'=1")
}

func TestEmptyInputOfAnExport(t *testing.T) {
	t.Parallel()
	content := "key,input,reference_output,metadata,split,tags,source_run_id,source_span_id\na,,1,{},,[],,\nb,1,,{},,[],x,Y\n"
	_, items := preview(t, content, datasetfile.Options{})
	assert.Equal(t, []string{
		"! 2 [has no input: every item needs one]",
		"! 3 [source_run_id: must be a UUID source_span_id: must be 16 hexadecimal digits]",
	}, items)
}

// Many row groups are read in turn.
func TestManyParquetRows(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w, err := NewWriter(&file, datasetfile.Parquet)
	require.NoError(t, err)
	const n = 2*groupRows + 17
	for i := range n {
		require.NoError(t, w.Write(Item{Input: json.RawMessage(fmt.Sprint(i))}))
	}
	require.NoError(t, w.Close())
	f, err := reading.Open(bytes.NewReader(file.Bytes()), datasetfile.Options{Format: datasetfile.Parquet})
	require.NoError(t, err)
	m, err := Infer(t.Context(), bytes.NewReader(file.Bytes()), datasetfile.Options{})
	require.NoError(t, err)
	for i := range n {
		row, err := f.Next()
		require.NoError(t, err)
		item, bad := m.Item(row)
		require.Empty(t, bad)
		require.Equal(t, fmt.Sprint(i), string(item.Input))
		require.Equal(t, int64(i+1), row.Line)
	}
	_, err = f.Next()
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, int64(file.Len()), f.Offset())
}
