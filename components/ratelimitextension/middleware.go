package ratelimitextension

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

const (
	// estimatedSpanBytes is the estimated size of a span if nobody reports the number of spans. Most spans are
	// larger, so the estimate is on the safe side.
	estimatedSpanBytes = 512
	// chargeEvery is how many bytes are read before they are charged. It is also how many bytes of the declared
	// length are charged in advance: bytes that are never sent must not be charged, and no more is read than may be
	// accepted.
	chargeEvery = 64 << 10
)

// request is an admitted request.
type request struct {
	limit  *rateLimit
	caller caller
	bytes  atomic.Int64
	// reported is set once the number of spans was reported.
	reported atomic.Bool
}

// admit decides about a request, whose size may be known. It returns no request if it refuses.
func (l *rateLimit) admit(ctx context.Context, size uint64) (*request, ratelimit.Decision) {
	r := &request{limit: l, caller: l.callerOf(ctx)}
	decision := l.limiter.Admit(ratelimit.Cost{ratelimit.Requests: 1, ratelimit.Bytes: size}, r.caller.all()...)
	r.bytes.Store(int64(size))
	l.count(ctx, &decision)
	return r, decision
}

func (r *request) chargeBytes(n int64) {
	r.bytes.Add(n)
	r.limit.limiter.Charge(ratelimit.Cost{ratelimit.Bytes: uint64(n)}, r.caller.all()...)
}

// chargeSpans charges the spans of a request. Only the first call counts.
func (r *request) chargeSpans(n int) {
	if r.reported.Swap(true) || n <= 0 {
		return
	}
	r.limit.limiter.Charge(ratelimit.Cost{ratelimit.Spans: uint64(n)}, r.caller.all()...)
}

// estimateSpans is for accepted requests whose number of spans was not reported.
func (r *request) estimateSpans() {
	r.chargeSpans(int(r.bytes.Load() / estimatedSpanBytes))
}

// GetHTTPHandler returns the middleware for HTTP servers.
func (l *rateLimit) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l.serveHTTP(w, r, next)
		}), nil
	}, nil
}

func (l *rateLimit) serveHTTP(w http.ResponseWriter, r *http.Request, next http.Handler) {
	declared := min(max(0, r.ContentLength), chargeEvery)
	admitted, decision := l.admit(r.Context(), uint64(declared))
	if decision.Limited {
		// On every answer, so before the handler writes one.
		h := w.Header()
		for _, field := range decision.Fields() {
			h.Set(field.Name, field.Value)
		}
	}
	if !decision.Allowed {
		l.refuseHTTP(w, r, &decision)
		return
	}
	if !decision.Limited {
		next.ServeHTTP(w, r)
		return
	}
	counted := &countedBody{ReadCloser: r.Body, request: admitted, pending: -declared}
	r = r.WithContext(ratelimit.WithSpans(r.Context(), admitted.chargeSpans))
	r.Body = counted
	answer := &watchedAnswer{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, r)
	counted.charge()
	if answer.status < http.StatusMultipleChoices {
		admitted.estimateSpans()
	}
}

// countedBody charges what is read of a body.
type countedBody struct {
	io.ReadCloser
	request *request
	pending int64 // read and not charged, or, if negative, charged and not read
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.pending += int64(n); b.pending >= chargeEvery {
		b.charge()
	}
	return n, err
}

func (b *countedBody) charge() {
	if b.pending > 0 {
		b.request.chargeBytes(b.pending)
		b.pending = 0
	}
}

// watchedAnswer remembers the status.
type watchedAnswer struct {
	http.ResponseWriter
	status int
}

func (a *watchedAnswer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *watchedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// GetGRPCServerOptions returns the middleware for gRPC servers. gRPC decodes a message before interceptors run, so a
// refusal saves only the work after that. checkingCodec refuses messages that would take too much memory. The stock
// receiver cannot report a partial success, so the middleware does.
func (l *rateLimit) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(checkingCodec{encoding.GetCodecV2("proto")}),
		grpc.StatsHandler(weigher{}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			admitted, decision := l.admit(ctx, uint64(max(0, received(ctx).Load())))
			if decision.Limited {
				_ = grpc.SetHeader(ctx, pairs(&decision)) // fails only if the answer is already under way
			}
			if !decision.Allowed {
				return nil, l.refuseGRPC(&decision)
			}
			var report partialsuccess.Report
			resp, err := next(partialsuccess.With(ratelimit.WithSpans(ctx, admitted.chargeSpans), &report), req)
			if err == nil && decision.Limited {
				admitted.estimateSpans()
			}
			if rejected, why := report.Rejected(); err == nil && rejected > 0 {
				return encoded(partialsuccess.MarshalProto(rejected, why)), nil
			}
			return resp, err
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error { //nolint:contextcheck // the stream carries it
			admitted, decision := l.admit(stream.Context(), 0)
			if decision.Limited {
				_ = stream.SetHeader(pairs(&decision)) // fails only if the answer is already under way
			}
			if !decision.Allowed {
				return l.refuseGRPC(&decision)
			}
			err := next(srv, stream)
			admitted.chargeBytes(received(stream.Context()).Load())
			return err
		}),
	}, nil
}

// weigher notes the size of a call's messages.
type weigher struct{}

type receivedKey struct{}

// received is the decompressed size of the messages that a call has received.
func received(ctx context.Context) *atomic.Int64 {
	if n, ok := ctx.Value(receivedKey{}).(*atomic.Int64); ok {
		return n
	}
	return new(atomic.Int64)
}

func (weigher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, receivedKey{}, new(atomic.Int64))
}

func (weigher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		received(ctx).Add(int64(in.Length))
	}
}

func (weigher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (weigher) HandleConn(context.Context, stats.ConnStats) {}

func pairs(d *ratelimit.Decision) metadata.MD {
	md := make(metadata.MD, 3)
	for _, f := range d.Fields() {
		md.Set(f.Name, f.Value)
	}
	return md
}
