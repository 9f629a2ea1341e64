package apikeyauthextension

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

// retryAfter is when a client whose key could not be checked should retry. PostgreSQL is probed more often.
const retryAfter = 2 * time.Second

// answer is what the middleware answers instead of the receiver.
type answer struct {
	httpStatus int
	grpcCode   codes.Code
	code       string
	detail     string
	retry      bool
}

// refusal returns the answer to a request that may not pass, or nil.
func (a *apiKeyAuth) refusal(ctx context.Context) *answer {
	auth, ok := client.FromContext(ctx).Auth.(*authData)
	switch {
	case !ok:
		// The receiver lists the middleware without the authenticator, so no request may pass.
		return &answer{
			httpStatus: http.StatusUnauthorized, grpcCode: codes.Unauthenticated, code: "unauthenticated",
			detail: "The key was not checked: apikeyauth is missing from auth of the receiver.",
		}
	case auth.state != stateOK:
		return &answer{
			httpStatus: http.StatusServiceUnavailable, grpcCode: codes.Unavailable, code: "key_store_unavailable",
			detail: "The key cannot be checked now. Nothing was accepted.", retry: true,
		}
	case !apikey.Allows(auth.scopes, a.cfg.RequiredScope):
		return &answer{
			httpStatus: http.StatusForbidden, grpcCode: codes.PermissionDenied, code: "scope_missing",
			detail: "This key lacks the scope " + a.cfg.RequiredScope + ".",
		}
	default:
		return nil
	}
}

// GetHTTPHandler returns the middleware for HTTP servers.
func (a *apiKeyAuth) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	a.guarding.Store(true)
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refused := a.refusal(r.Context()); refused != nil {
				refused.write(w, r)
				return
			}
			next.ServeHTTP(w, r)
		}), nil
	}, nil
}

// GetGRPCServerOptions returns the middleware for gRPC servers.
func (a *apiKeyAuth) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	a.guarding.Store(true)
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if refused := a.refusal(ctx); refused != nil {
				return nil, refused.status().Err()
			}
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error { //nolint:contextcheck // the stream carries it
			if refused := a.refusal(stream.Context()); refused != nil {
				return refused.status().Err()
			}
			return next(srv, stream)
		}),
	}, nil
}

func (a *answer) status() *status.Status {
	s := status.New(a.grpcCode, a.detail)
	if !a.retry {
		return s
	}
	withRetry, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	if err != nil {
		return s
	}
	return withRetry
}

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/x-protobuf"
)

// write answers in the form of the path: problem details on native paths, and a google.rpc.Status in the request's
// encoding on OTLP paths.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	contentType, body := typeJSON, []byte(nil)
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.URL.Path == "/v1/runs" || strings.HasPrefix(r.URL.Path, "/v1/runs/"):
		contentType = problem.ContentType
		body, _ = json.Marshal(problem.NewDocument(a.httpStatus, a.code, a.detail, w.Header().Get("X-Request-Id"))) // always marshals
	case mediaType == typeProtobuf:
		contentType = typeProtobuf
		body, _ = proto.Marshal(&spb.Status{Code: int32(a.grpcCode), Message: a.detail})
	default:
		// Not protojson, whose white space varies.
		body, _ = json.Marshal(rpcStatus{Code: uint32(a.grpcCode), Message: a.detail})
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	if a.retry {
		h.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	w.WriteHeader(a.httpStatus)
	_, _ = w.Write(body) // the client is gone
}

type rpcStatus struct {
	Code    uint32 `json:"code"`
	Message string `json:"message"`
}
