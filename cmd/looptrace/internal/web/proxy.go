package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/looptrace/looptrace/internal/requestbody"
)

// retryAfter is how long a client should wait while a backend is unavailable, in seconds.
const retryAfter = "2"

// secretHeader has the secret of web.
const secretHeader = "Looptrace-Web-Secret"

// statusClientGone is the same as in ingest and the API, for answers that nobody reads.
const statusClientGone = 499

const resourcePolicy = "Cross-Origin-Resource-Policy"

// newProxy forwards to the named backend, streaming in both directions. It keeps the browser's Host header, because the API
// compares it with Origin. It drops forwarding headers, except those of a trusted proxy, and says with its secret that they are its own.
func newProxy(name string, target *url.URL, c Config) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host
			p.SetXForwarded()
			c.TrustedProxies.forward(p)
			p.Out.Header.Set(secretHeader, c.Secret)
		},
		Transport: livingTransport{backend: newLiveness(target), RoundTripper: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true, // forward the backend's encoding
		}},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del(resourcePolicy) // every answer of web has it already
			if r.StatusCode == http.StatusMethodNotAllowed && r.Request.URL.Path == runsPath {
				r.Header.Set("Allow", r.Header.Get("Allow")+", "+http.MethodPost) // that of ingest
			}
			return nil
		},
		FlushInterval: -1, // server-sent events must not wait for a full buffer
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			answerUpstreamError(w, r, name, err)
		},
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
}

func answerUpstreamError(w http.ResponseWriter, r *http.Request, name string, err error) {
	var sent *requestbody.Error
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		if sent = requestbody.Failure(r.Context()); sent == nil {
			// A client that only closed its own side must not read success.
			answerProblem(w, statusClientGone, "client_gone", "The client closed the connection before its request ended.")
			return
		}
	}
	if sent != nil || errors.As(err, &sent) {
		answerBodyError(w, sent)
		return
	}
	slog.WarnContext(r.Context(), "backend does not answer", "path", r.URL.Path, "error", err)
	w.Header().Set("Retry-After", retryAfter)
	var hung *hungError
	if !errors.As(err, &hung) {
		answerProblem(w, http.StatusServiceUnavailable, "upstream_unavailable", name+" is not running or cannot be reached. Try again in a few seconds. If it stays away, `looptrace doctor` says what is wrong.")
		return
	}
	detail := name + " is not answering: its process is stopped or overloaded. Try again in a few seconds. "
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		detail += "It may still carry out this request. "
	}
	answerProblem(w, http.StatusServiceUnavailable, "upstream_silent", detail+"If it stays silent, `looptrace doctor` says what is wrong.")
}

// answerBodyError answers a request whose body did not arrive completely.
func answerBodyError(w http.ResponseWriter, err *requestbody.Error) {
	switch {
	case err.Stopped():
		w.Header().Set("Retry-After", retryAfter)
		answerProblem(w, http.StatusServiceUnavailable, "upstream_unavailable", "Looptrace is stopping and had not received the whole request: nothing was accepted.")
	case err.Late():
		answerProblem(w, http.StatusRequestTimeout, "body_timeout", "The body did not arrive in time.")
	default:
		answerProblem(w, http.StatusBadRequest, "malformed_body", "The body ends early, or its chunks are malformed.")
	}
}
