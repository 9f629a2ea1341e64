package runpdata

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// BenchmarkRows turns spans of real agents, whose calls carry their history, into rows, and compares that with
// decoding the same spans from protobuf.
func BenchmarkRows(b *testing.B) {
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		b.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	text, err := os.ReadFile(filepath.Join(folder, "tau-bench-airline", "otlp", "tau-airline-000.json"))
	require.NoError(b, err)
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	require.NoError(b, err)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
	}
	proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(b, err)
	spans := float64(td.SpanCount())
	var decode float64
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(proto)
			require.NoError(b, err)
		}
		decode = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		b.ReportMetric(decode/spans, "ns/span")
	})
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		var texts AgentTexts // as the exporter keeps them
		for b.Loop() {
			rows := Rows{AgentTexts: &texts}
			require.NoError(b, rows.Add(td))
		}
		each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		b.ReportMetric(each/spans, "ns/span")
		b.ReportMetric(each/decode, "×decode")
	})
}
