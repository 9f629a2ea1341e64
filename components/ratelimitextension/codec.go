package ratelimitextension

import (
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

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
	return c.CodecV2.Unmarshal(mem.BufferSlice{body}, v) //nolint:wrapcheck // as if there were nothing between
}

// look returns an error for what must not be decoded. What is malformed is the decoder's to tell.
func look(body []byte, into any) error {
	var err error
	if reflect.Indirect(reflect.ValueOf(into)).Type().Name() == "ExportLogsServiceRequest" { // of a package that is pdata's own
		_, err = otlpwire.WeighLogs(body, maxDepth, maxDecoded)
	} else {
		_, err = otlpwire.Look(body, maxDepth, maxDecoded)
	}
	switch {
	case errors.Is(err, otlpwire.ErrDepth):
		return fmt.Errorf("the request nests deeper than %d levels; nothing was accepted", maxDepth)
	case errors.Is(err, otlpwire.ErrDense):
		return fmt.Errorf("the request takes more than %d MiB when it is decoded: send fewer spans in one request; nothing was accepted", maxDecoded>>20)
	}
	return nil
}
