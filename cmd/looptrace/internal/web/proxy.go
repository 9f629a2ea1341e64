package web

import (
	"context"
	"errors"
	"fmt"
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
	proxy := &httputil.ReverseProxy{
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
		ErrorLog:      slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it the server closes the request's body where the answer begins. The transport may just then be
		// looking for the end of it, and drops the connection for what it reads: the answer would be cut off.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			answerUpstreamError(w, r, fmt.Errorf("enable full duplex: %w", err))
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

func answerUpstreamError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has left
	}
	slog.WarnContext(r.Context(), "backend does not answer", "path", r.URL.Path, "error", err)
	w.Header().Set("Retry-After", retryAfter)
	answerProblem(w, http.StatusServiceUnavailable, "upstream_unavailable", "A part of Looptrace is not there at the moment; try again shortly.")
}
