package clickhouse

import (
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestCompression checks that only connections to other machines are compressed, unless the address says so.
func TestCompression(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]ch.CompressionMethod{
		"clickhouse://127.0.0.1:9000/looptrace":               ch.CompressionNone,
		"clickhouse://localhost:9000/looptrace":               ch.CompressionNone,
		"clickhouse://[::1]:9000/looptrace":                   ch.CompressionNone,
		"clickhouse://127.0.0.1:9000/looptrace?compress=lz4":  ch.CompressionLZ4,
		"clickhouse://127.0.0.1:9000/looptrace?compress=zstd": ch.CompressionZSTD,
		"clickhouse://store:9000/looptrace":                   ch.CompressionLZ4,
		"clickhouse://10.0.0.1:9000/looptrace":                ch.CompressionLZ4,
		"clickhouse://127.0.0.1:9000,10.0.0.1:9000/looptrace": ch.CompressionLZ4,
		"clickhouse://10.0.0.1:9000/looptrace?compress=none":  ch.CompressionNone,
	} {
		opts, err := options(url)
		require.NoError(t, err)
		assert.Equal(t, want, opts.Compression.Method, url)
	}
}

// TestCompressed writes and reads as if to a remote machine.
func TestCompressed(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	for _, method := range []string{"lz4", "zstd"} {
		conn, err := Open(url + "?compress=" + method)
		require.NoError(t, err)
		writer, err := NewWriter(t.Context(), url+"?compress="+method)
		require.NoError(t, err)
		want := runmodel.SharedContent{ProjectID: uuid.New(), ContentID: 1, SharedTail: 2, Frame: method, Texts: []string{"a", "b"}}
		require.NoError(t, writer.InsertSharedContents(t.Context(), []runmodel.SharedContent{want}))
		var frame string
		var texts []string
		require.NoError(t, conn.QueryRow(t.Context(),
			"SELECT frame, texts FROM shared_contents WHERE project_id = ?", want.ProjectID).Scan(&frame, &texts))
		assert.Equal(t, want.Frame, frame)
		assert.Equal(t, want.Texts, texts)
		writer.Close()
		require.NoError(t, conn.Close())
	}
}
