package web

import (
	"io"
	"net/http"
	"strings"

	"github.com/looptrace/looptrace/internal/allowedhost"
)

// checkHost refuses requests for the UI with a foreign Host header, against DNS rebinding. Forwarded requests are
// checked by their backends, which know whether a request has a key.
func checkHost(hosts allowedhost.List, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hosts.Allows(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		detail := allowedhost.Refusal(r.Host)
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			answerProblem(w, http.StatusMisdirectedRequest, allowedhost.Code, detail)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = io.WriteString(w, detail+"\n") //nolint:gosec // plain text, never sniffed; the client may be gone
	})
}
