package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/looptrace/looptrace/test/product"
)

// connections are the gRPC connections of a client, one per address, which it keeps open like an SDK.
type connections struct {
	mu   sync.Mutex
	open map[string]*grpc.ClientConn
}

func (c *connections) to(address string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.open[address]; conn != nil {
		return conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		// Reconnects as fast as over HTTP. The default delay grows to two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryPause, Multiplier: 1, MaxDelay: retryPause},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	if c.open == nil {
		c.open = map[string]*grpc.ClientConn{}
	}
	c.open[address] = conn
	return conn, nil
}

func (c *connections) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, conn := range c.open {
		errs = append(errs, conn.Close())
	}
	c.open = nil
	return errors.Join(errs...)
}

// export sends a protobuf request and converts the answer to the HTTP status that has the same meaning for an OTLP
// client (https://opentelemetry.io/docs/specs/otlp/#failures).
func (c *connections) export(ctx context.Context, ports product.Ports, key string, body []byte) (product.Answer, error) {
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return product.Answer{}, fmt.Errorf("decode the request: %w", err)
	}
	conn, err := c.to(ports.Addr(product.OTLPGRPC))
	if err != nil {
		return product.Answer{}, err
	}
	response, err := ptraceotlp.NewGRPCClient(conn).Export(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key), request)
	if err == nil {
		if rejected := response.PartialSuccess().RejectedSpans(); rejected > 0 {
			return product.Answer{}, fmt.Errorf("%d spans are rejected: %s", rejected, response.PartialSuccess().ErrorMessage())
		}
		return product.Answer{Status: http.StatusOK}, nil
	}
	answer := status.Convert(err)
	switch answer.Code() {
	case codes.Unavailable:
		if strings.Contains(answer.Message(), syscall.ECONNREFUSED.Error()) {
			return product.Answer{}, fmt.Errorf("%w: %w", syscall.ECONNREFUSED, err)
		}
		return product.Answer{Status: http.StatusServiceUnavailable, Body: []byte(answer.Message())}, nil
	case codes.ResourceExhausted:
		if !slices.ContainsFunc(answer.Details(), func(d any) bool { _, ok := d.(*errdetails.RetryInfo); return ok }) {
			return product.Answer{Status: http.StatusRequestEntityTooLarge, Body: []byte(answer.Message())}, nil
		}
		return product.Answer{Status: http.StatusTooManyRequests, Body: []byte(answer.Message())}, nil
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return product.Answer{}, err
	default:
		return product.Answer{Status: http.StatusBadRequest, Body: []byte(answer.String())}, nil
	}
}
