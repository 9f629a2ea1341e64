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
)

// retryAfter is what a client is told to wait for while a backend is away; it is back within seconds.
const retryAfter = "2"

// newProxy forwards to a backend, streaming in both directions. The Host stays the one that the browser
// asked for, since the API compares it with the Origin; forwarding headers from outside are dropped, but for what a
// trusted proxy says.
func newProxy(target *url.URL, trusted TrustedProxies) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host
			p.SetXForwarded()
			trusted.forward(p)
		},
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true, // hand on what the backend has encoded
		},
		FlushInterval: -1, // server-sent events must not wait for a full buffer
		ErrorHandler:  answerUpstreamError,
	}
}

func answerUpstreamError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has left
	}
	slog.WarnContext(r.Context(), "backend does not answer", "path", r.URL.Path, "error", err)
	w.Header().Set("Retry-After", retryAfter)
	answerProblem(w, http.StatusServiceUnavailable, "upstream_unavailable", "A part of Looptrace is not there at the moment; try again shortly.")
}
