package ratelimitextension

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/x-protobuf"

	codeRateLimited = "rate_limited"

	typeURLRetryInfo = "type.googleapis.com/google.rpc.RetryInfo"
)

func (l *rateLimit) refuseGRPC(d *ratelimit.Decision) error {
	return status.ErrorProto(statusOf(d, d.Delay(l.jitter)))
}

// statusOf returns the refusal as a google.rpc.Status.
func statusOf(d *ratelimit.Decision, delay time.Duration) *spb.Status {
	s := &spb.Status{Code: int32(codes.ResourceExhausted), Message: d.Detail()}
	if info, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}); err == nil { // always
		s.Details = append(s.Details, info)
	}
	return s
}

// refuseHTTP answers in the form of the path: problem details on native paths, and on OTLP paths a
// google.rpc.Status in the encoding of the request.
func (l *rateLimit) refuseHTTP(w http.ResponseWriter, r *http.Request, d *ratelimit.Decision) {
	delay := d.Delay(l.jitter)
	httpStatus, contentType, body := l.cfg.OTLPStatus, typeJSON, []byte(nil)
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.URL.Path == "/v1/runs" || strings.HasPrefix(r.URL.Path, "/v1/runs/"):
		httpStatus, contentType = http.StatusTooManyRequests, problem.ContentType
		body, _ = json.Marshal(problem.NewDocument(httpStatus, codeRateLimited, d.Detail(), w.Header().Get("X-Request-Id"))) // always marshals
	case mediaType == typeProtobuf:
		contentType = typeProtobuf
		body, _ = proto.MarshalOptions{Deterministic: true}.Marshal(statusOf(d, delay))
	default:
		// Not protojson, whose white space varies.
		body, _ = json.Marshal(rpcStatus{
			Code: uint32(codes.ResourceExhausted), Message: d.Detail(),
			Details: []retryInfo{{Type: typeURLRetryInfo, RetryDelay: strconv.FormatInt(ratelimit.Seconds(delay), 10) + "s"}},
		})
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Retry-After", strconv.FormatInt(ratelimit.Seconds(delay), 10))
	w.WriteHeader(httpStatus)
	_, _ = w.Write(body) // the client may be gone
}

type rpcStatus struct {
	Code    uint32      `json:"code"`
	Message string      `json:"message"`
	Details []retryInfo `json:"details"`
}

type retryInfo struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"`
}

// Attribute sets of the metrics. They are used on every request, so they are built once.
var (
	admittedSet    = attribute.NewSet(attribute.String("outcome", "admitted"))
	refusedSet     = attribute.NewSet(attribute.String("outcome", "refused"))
	admittedOption = metric.WithAttributeSet(admittedSet)
	refusedOption  = metric.WithAttributeSet(refusedSet)
)

func refusalSet(d *ratelimit.Decision) attribute.Set {
	return attribute.NewSet(attribute.String("subject", d.Kind.String()), attribute.String("measure", d.Measure.String()))
}

func (l *rateLimit) count(ctx context.Context, d *ratelimit.Decision) {
	if d.Allowed {
		l.telemetry.RatelimitRequests.Add(ctx, 1, admittedOption)
		return
	}
	l.telemetry.RatelimitRequests.Add(ctx, 1, refusedOption)
	l.telemetry.RatelimitRefusals.Add(ctx, 1, metric.WithAttributeSet(refusalSet(d)))
}
