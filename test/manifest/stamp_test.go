package manifest

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/resourceprocessor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/looptrace/looptrace/internal/runmodel"
)

type auth map[string]any

func (a auth) GetAttribute(name string) any { return a[name] }

func (a auth) GetAttributeNames() []string { return nil }

// The project is the key's, however often and with whatever type a client sends the attribute.
func TestStampedProjectIsTheKeys(t *testing.T) {
	t.Parallel()
	// A pdata map cannot have duplicate keys, so this is encoded by hand.
	field := func(number int, content []byte) []byte {
		return append(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(content))), content...)
	}
	claim := func(key, value string) []byte {
		return field(1, slices.Concat(field(1, []byte(key)), field(2, field(1, []byte(value)))))
	}
	body := field(1, field(1, slices.Concat(
		claim(runmodel.KeyProjectID, "claimed-1"),
		claim("service.name", "agent"),
		claim(runmodel.KeyProjectID, "claimed-2"),
		claim(runmodel.KeyReceivedAt, "claimed"),
		claim(runmodel.KeyProjectID, "claimed-3"),
	)))
	var unmarshaler ptrace.ProtoUnmarshaler
	traces, err := unmarshaler.UnmarshalTraces(body)
	require.NoError(t, err)
	require.Equal(t, 5, traces.ResourceSpans().At(0).Resource().Attributes().Len())

	shipped, err := confmaptest.LoadConf(filepath.Join(root, "otelcol-config.yaml"))
	require.NoError(t, err)
	stamp, err := shipped.Sub("processors::resource/stamp")
	require.NoError(t, err)
	factory := resourceprocessor.NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, stamp.Unmarshal(cfg))
	var sink consumertest.TracesSink
	processor, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), cfg, &sink)
	require.NoError(t, err)

	ctx := client.NewContext(t.Context(), client.Info{Auth: auth{"project_id": "of-the-key"}})
	require.NoError(t, processor.ConsumeTraces(ctx, traces))
	attributes := sink.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes()
	assert.Equal(t, 2, attributes.Len())
	assert.Equal(t, map[string]any{runmodel.KeyProjectID: "of-the-key", "service.name": "agent"}, attributes.AsRaw())
}
