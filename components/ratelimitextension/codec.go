package ratelimitextension

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/internal/otlpwire"
)

const (
	// maxDepth is how many messages may stand in each other: as many as the doors over HTTP take.
	maxDepth = 200
	// maxDecoded is how many bytes of memory a message may take when it is decoded. 8 MiB of spans as SDKs send them take 20 to 50.
	maxDecoded = 64 << 20
)

// looking is the codec of gRPC, which decodes before any interceptor is asked, whoever has sent the message: 4 kB of gzip can
// hold four million empty spans, which take 0.9 GB. What takes too much or nests too deep is refused undecoded, with Internal,
// which OTLP's clients do not send again: gRPC gives a codec no other.
type looking struct{ encoding.CodecV2 }

func (c looking) Unmarshal(data mem.BufferSlice, v any) error {
	body := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer body.Free()
	if err := look(body.ReadOnlyData(), v); err != nil {
		return err
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{body}, v)
}

// encoded is a message as it is on the wire.
type encoded []byte

// Marshal writes no empty partial_success: OTLP wants it unset where all was accepted, and pdata sets it.
func (c looking) Marshal(v any) (mem.BufferSlice, error) {
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

// emptyPartialSuccess is what pdata makes of a response without anything in it: field 1, of length 0.
var emptyPartialSuccess = []byte{0x0a, 0}

// partialSuccess is the response to a request of which a part was not accepted; those of traces, logs and metrics are alike.
func partialSuccess(rejected int64, why string) encoded {
	var message []byte
	message = protowire.AppendTag(message, 1, protowire.VarintType)
	message = protowire.AppendVarint(message, uint64(rejected))
	message = protowire.AppendTag(message, 2, protowire.BytesType)
	message = protowire.AppendString(message, why)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), message)
}

// look returns an error for what must not be decoded. What is malformed is the decoder's to tell.
func look(body []byte, into any) error {
	var err error
	if reflect.Indirect(reflect.ValueOf(into)).Type().Name() == "ExportLogsServiceRequest" { // of a package that is pdata's own
		_, err = otlpwire.WeighLogs(body, maxDepth, maxDecoded)
	} else {
		_, err = otlpwire.Scan(body, maxDepth, maxDecoded)
	}
	switch {
	case errors.Is(err, otlpwire.ErrDepth):
		return fmt.Errorf("the request nests deeper than %d levels; nothing was accepted", maxDepth)
	case errors.Is(err, otlpwire.ErrDense):
		return fmt.Errorf("the request takes more than %d MiB when it is decoded: send fewer spans in one request; nothing was accepted", maxDecoded>>20)
	}
	return nil
}
