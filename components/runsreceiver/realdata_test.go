package runsreceiver

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// TestRealTraces sends recorded traces as JSON and as protobuf, and expects all of their spans.
func TestRealTraces(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("LOOPTRACE_REALDATA")
	if dir == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "otlp", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, dir)
	sink := new(consumertest.TracesSink)
	r := start(t, sink)
	total := 0
	for _, file := range files {
		body := readFile(t, file)
		resp, answer := send(t, r, sent{path: "/v1/traces", header: map[string]string{"Content-Type": typeJSON}, body: body})
		if strings.Contains(file, "base64ids") { // deliberately not OTLP
			assert.Equal(t, http.StatusBadRequest, resp.StatusCode, file)
			continue
		}
		require.Equal(t, http.StatusAccepted, resp.StatusCode, "%s: %s", file, answer)
		assert.NotContains(t, answer, "rejectedSpans", file) // some have wrong clocks, which is a warning

		td, err := decodeTraces(&otlpFormat{signal: signals[routeTraces], mediaType: typeJSON}, []byte(body))
		require.NoError(t, err)
		wire, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		require.NoError(t, err)
		resp, _ = send(t, r, sent{path: "/v1/traces", header: map[string]string{"Content-Type": typeProtobuf}, body: string(wire)})
		require.Equal(t, http.StatusAccepted, resp.StatusCode, file)
		total += 2 * td.SpanCount()
	}
	assert.Equal(t, total, sink.SpanCount())
	t.Logf("%d files, %d spans", len(files), total)
}
