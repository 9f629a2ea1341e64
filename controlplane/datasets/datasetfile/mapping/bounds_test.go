package mapping

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/sheet"
)

type longList struct {
	Input []string `parquet:"input,list,zstd,dict"`
}

// longLists is a Parquet file of few bytes with a long list in each row.
func longLists(t *testing.T, rows, elements int) []byte {
	t.Helper()
	list := make([]string, elements)
	for i := range list {
		list[i] = "a"
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[longList](&file)
	for range rows {
		_, err := w.Write([]longList{{list}})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

// TestPreviewOfLongLists has a file of a few kB that stands for 80 MB of JSON.
func TestPreviewOfLongLists(t *testing.T) {
	t.Parallel()
	file := longLists(t, 20, 1_000_000)
	require.Less(t, len(file), 100_000)
	result, err := Preview(t.Context(), bytes.NewReader(file), datasetfile.Options{}, nil, 50)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(result.Rows), 3, "8 MiB are enough")
	assert.False(t, result.Complete)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Preview(ctx, bytes.NewReader(file), datasetfile.Options{}, nil, 50)
	require.ErrorIs(t, err, context.Canceled)
}

// TestRowsWithTooManyValues are refused one by one, and those after them are read.
func TestRowsWithTooManyValues(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[longList](&file)
	_, err := w.Write([]longList{{make([]string, 2*sheet.MaxRowValues)}, {[]string{"x"}}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got, err := read(t, file.String(), datasetfile.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"! line 1: the row has 2097152 values in its lists: at most 1048576 can be read", `2 {"input":["x"]}`,
	}, got)
}

// FuzzPreview searches for files whose preview is wrong or takes much.
func FuzzPreview(f *testing.F) {
	f.Add("csv", "a,b\n1,2\n")
	f.Add("jsonl", `{"input": [[[1]]]}`+"\n")
	f.Add("json", `[{"input": "x"}]`)
	f.Add("yaml", "- input: &a [1]\n- input: *a\n")
	f.Add("csv", strings.Repeat(",", 1000)+"\n"+strings.Repeat("x,", 1000))
	var file bytes.Buffer
	w := parquet.NewGenericWriter[longList](&file)
	_, err := w.Write([]longList{{[]string{"x", "y"}}, {nil}})
	require.NoError(f, err)
	require.NoError(f, w.Close())
	f.Add("parquet", file.String())
	f.Fuzz(func(t *testing.T, format, content string) {
		result, err := Preview(t.Context(), strings.NewReader(content), datasetfile.Options{Format: datasetfile.Format(format)}, nil, 50)
		if err != nil {
			return
		}
		assert.LessOrEqual(t, len(result.Rows), 50)
		size := 0
		for _, row := range result.Rows {
			for _, cell := range row.Cells {
				size += len(cell.Value)
			}
		}
		assert.LessOrEqual(t, size, sampleBytes+datasetfile.MaxRow)
	})
}
