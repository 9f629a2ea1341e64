// Package hostile makes files that are small and stand for much.
package hostile

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// Parquet returns a file of a few kB that stands for 80 MB of JSON.
func Parquet(tb testing.TB) []byte {
	tb.Helper()
	type row struct {
		Input []string `parquet:"input,list,zstd,dict"`
	}
	list := make([]string, 1_000_000)
	for i := range list {
		list[i] = "a"
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	for range 20 {
		_, err := w.Write([]row{{list}})
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return file.Bytes()
}
