package collector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/looptrace/looptrace/test/product"
)

// fill sets every field of a message, of lists two values, and of a oneof a random one, down to a depth at which further
// messages are empty. Identifiers have their lengths and times are of this century.
func fill(random *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
			continue
		}
		set(random, m, field, depth)
	}
	oneofs := m.Descriptor().Oneofs()
	for i := range oneofs.Len() {
		if oneof := oneofs.Get(i); !oneof.IsSynthetic() {
			set(random, m, oneof.Fields().Get(random.IntN(oneof.Fields().Len())), depth)
		}
	}
}

func set(random *rand.Rand, m protoreflect.Message, field protoreflect.FieldDescriptor, depth int) {
	isMessage := field.Kind() == protoreflect.MessageKind
	switch {
	case strings.HasSuffix(string(field.Name()), "_strindex"): // of profiles alone
	case isMessage && depth == 0:
		if !field.IsList() {
			m.Mutable(field) // empty, as pdata writes it
		}
	case field.IsList() && isMessage:
		list := m.Mutable(field).List()
		for range 2 {
			fill(random, list.AppendMutable().Message(), depth-1)
		}
	case field.IsList():
		list := m.Mutable(field).List()
		for range 2 {
			list.Append(scalar(random, field))
		}
	case isMessage:
		fill(random, m.Mutable(field).Message(), depth-1)
	default:
		m.Set(field, scalar(random, field))
	}
}

func scalar(random *rand.Rand, field protoreflect.FieldDescriptor) protoreflect.Value {
	name := string(field.Name())
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("%s ü %d", name, random.Uint32()))
	case protoreflect.BytesKind:
		size := 5
		if strings.HasSuffix(name, "trace_id") {
			size = 16
		} else if strings.HasSuffix(name, "span_id") {
			size = 8
		}
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(1 + random.IntN(255))
		}
		return protoreflect.ValueOfBytes(value)
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(1 + random.IntN(values.Len()-1)).Number())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(random.NormFloat64())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(-random.Int32N(1000) - 1)
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(-random.Int64N(1<<40) - 1)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(random.Uint32())
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if strings.HasSuffix(name, "time_unix_nano") {
			return protoreflect.ValueOfUint64(1_767_225_600_000_000_000 + random.Uint64N(1_000_000_000))
		}
		return protoreflect.ValueOfUint64(random.Uint64N(1 << 40))
	}
	panic(fmt.Sprintf("%s has the kind %s", field.FullName(), field.Kind()))
}

// generate returns a request with every field of its signal.
func generate(random *rand.Rand, request proto.Message) proto.Message {
	const depth = 9 // request, resource, scope, metric, sum, data point, exemplar, attribute, value
	fill(random, request.ProtoReflect(), depth)
	return request
}

func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// signal is how a request of a signal is sent.
type signal struct {
	path, method      string
	request, response proto.Message
	toJSON            func([]byte) ([]byte, error)
}

// signals returns all three, with empty requests.
func signals() []signal {
	return []signal{
		{"/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export", new(tracepb.ExportTraceServiceRequest), new(tracepb.ExportTraceServiceResponse), tracesToJSON},
		{"/v1/logs", "/opentelemetry.proto.collector.logs.v1.LogsService/Export", new(logspb.ExportLogsServiceRequest), new(logspb.ExportLogsServiceResponse), logsToJSON},
		{"/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", new(metricspb.ExportMetricsServiceRequest), new(metricspb.ExportMetricsServiceResponse), metricsToJSON},
	}
}

const (
	byGRPC     = "gRPC"
	byProtobuf = "HTTP protobuf"
	byJSON     = "HTTP JSON"
)

// ways are those of OTLP.
var ways = []string{byGRPC, byProtobuf, byJSON}

type generatedClient struct {
	conn     *grpc.ClientConn
	url, key string
}

func newGeneratedClient(t *testing.T, address, url, key string) *generatedClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return &generatedClient{conn: conn, url: url, key: key}
}

func (c *generatedClient) send(ctx context.Context, way string, signal signal) error {
	if way == byGRPC {
		return c.conn.Invoke(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.key), signal.method, signal.request, signal.response)
	}
	body, err := proto.Marshal(signal.request)
	contentType := product.Protobuf
	if err == nil && way == byJSON {
		body, err = signal.toJSON(body)
		contentType = product.JSON
	}
	if err != nil {
		return err
	}
	answer, err := product.Post(ctx, c.url+signal.path, c.key, contentType, body)
	if err == nil && answer.Status != http.StatusOK && answer.Status != http.StatusAccepted {
		err = fmt.Errorf("%d %s", answer.Status, answer.Body)
	}
	return err
}

func tracesToJSON(body []byte) ([]byte, error) {
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	return request.MarshalJSON()
}

func logsToJSON(body []byte) ([]byte, error) {
	request := plogotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	return request.MarshalJSON()
}

func metricsToJSON(body []byte) ([]byte, error) {
	request := pmetricotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	return request.MarshalJSON()
}
