package ratelimitextension

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/looptrace/looptrace/internal/otlpwire"
)

const (
	// maxDepth limits how deep messages may nest, as over HTTP.
	maxDepth = 200
	// maxDecoded limits the memory in bytes of a decoded message. 8 MiB of spans from SDKs take 20 to 50 MiB.
	maxDecoded = 64 << 20
)

// checkingCodec is the codec of gRPC. It decodes messages of any sender before interceptors run: 4 kB of gzip can
// hold four million empty spans, which take 0.9 GB. It refuses messages that take too much memory or nest too deep
// without decoding them. gRPC gives a codec no other status than Internal, after which OTLP clients do not retry.
type checkingCodec struct{ encoding.CodecV2 }

func (c checkingCodec) Unmarshal(data mem.BufferSlice, v any) error {
	body := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer body.Free()
	if err := check(body.ReadOnlyData(), v); err != nil {
		return err
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{body}, v)
}

// encoded is a message in its wire format.
type encoded []byte

// Marshal leaves out an empty partial_success: OTLP wants it unset if everything was accepted, but pdata sets it.
func (c checkingCodec) Marshal(v any) (mem.BufferSlice, error) {
	if message, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(message)}, nil
	}
	out, err := c.CodecV2.Marshal(v)
	if err == nil && out.Len() == len(emptyPartialSuccess) && bytes.Equal(out.Materialize(), emptyPartialSuccess) {
		out.Free()
		return nil, nil
	}
	return out, err
}

// emptyPartialSuccess is how pdata encodes a response without content: field 1, of length 0.
var emptyPartialSuccess = []byte{0x0a, 0}

// check returns an error if a message must not be decoded. Malformed ones are left to the decoder.
func check(body []byte, into any) error {
	var err error
	switch reflect.Indirect(reflect.ValueOf(into)).Type().Name() { // the types are internal to pdata
	case "ExportLogsServiceRequest":
		_, err = otlpwire.WeighLogs(body, maxDepth, maxDecoded)
	case "ExportMetricsServiceRequest":
		_, err = otlpwire.WeighMetrics(body, maxDepth, maxDecoded)
	default:
		_, err = otlpwire.Scan(body, maxDepth, maxDecoded)
	}
	switch {
	case errors.Is(err, otlpwire.ErrDepth):
		return fmt.Errorf("the request nests deeper than %d levels; nothing was accepted", maxDepth)
	case errors.Is(err, otlpwire.ErrDense):
		return fmt.Errorf("the request takes more than %d MiB when it is decoded: send less in one request; nothing was accepted", maxDecoded>>20)
	}
	return nil
}
