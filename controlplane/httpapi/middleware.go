package httpapi

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/identity"
)

// webSecretHeader has the secret with which web proves itself.
const webSecretHeader = "Looptrace-Web-Secret"

// secretHeader has the secret of a bound session, which the UI keeps where only its own origin can read it.
const secretHeader = "Looptrace-Session-Secret"

// call is the state of a request that middleware collects for the handlers.
type call struct {
	id     string
	client identity.Client
	// https is whether the client connected over HTTPS.
	https bool
	// host is the one that the client asked, with its port.
	host string
	// web is the host that web received, empty if the request did not come through web.
	web string
	// hosts are all hosts that the request names. Any page loaded from this port can send the headers of web.
	hosts []string
	// session is what the request presents of a session, whether or not it is valid.
	session   identity.Presented
	operation *operation
	// mediaType is that of a body that the handler reads.
	mediaType string
	principal *access.Principal
	// grantFor authorizes an operation that this one does too, with what the caller may do now.
	grantFor func(ctx context.Context, operation string, target access.Target) (access.Grant, error)
	// recheck checks again whether the caller may do the operation on the target.
	recheck func(ctx context.Context, target access.Target) error
	// begin takes the places of the process, for an operation that reads its body itself.
	begin func() error
	// grant is what the operation may access.
	grant access.Grant
}

// grantOf returns the grant of the operation.
func grantOf(ctx context.Context) access.Grant { return callOf(ctx).grant }

// extend sets the write deadline for the answer of the operation, or for its next piece.
func (r *call) extend(connection *http.ResponseController) error {
	return extendBy(connection, r.operation.writeTimeout)
}

func extendBy(connection *http.ResponseController, d time.Duration) error {
	err := connection.SetWriteDeadline(time.Now().Add(d))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set the write deadline: %w", err)
	}
	return nil
}

// noRoute is the route label of requests that match no route.
const noRoute = "none"

type callKey struct{}

func callOf(ctx context.Context) *call {
	return ctx.Value(callKey{}).(*call) // set by identify, the first middleware
}

// identify gives the request an id and reads its origin. The headers that tell of a client behind a proxy count from web only:
// any program of this machine can reach the API's own port.
func (a Addresses) identify(c *gin.Context) {
	request := &call{id: uuid.Must(uuid.NewV7()).String(), https: c.Request.TLS != nil}
	request.hosts = []string{c.Request.Host}
	request.client.UserAgent = c.Request.UserAgent()
	request.client.Address, _ = netip.ParseAddr(c.RemoteIP()) // the zero address is "unknown"
	if a.isWeb(request.client.Address, c.GetHeader(webSecretHeader)) {
		// The last address is the one that web saw or believes.
		chain := strings.Split(strings.Join(c.Request.Header.Values("X-Forwarded-For"), ","), ",")
		if client, err := netip.ParseAddr(strings.TrimSpace(chain[len(chain)-1])); err == nil {
			request.client.Address = client
		}
		request.https = request.https || c.GetHeader("X-Forwarded-Proto") == "https"
		if host := c.GetHeader("X-Forwarded-Host"); host != "" {
			c.Request.Host = host // compared with the browser's Origin
			request.web = host
			request.hosts = append(request.hosts, host)
		}
	}
	request.host = c.Request.Host
	cookie := func(name string) string {
		if cookie, err := c.Request.Cookie(request.cookieName(name)); err == nil {
			return cookie.Value
		}
		return ""
	}
	request.session = identity.Presented{Token: cookie(sessionCookieName), Secret: c.GetHeader(secretHeader)}
	request.client.Secret, request.client.Device = request.session.Secret, cookie(deviceCookieName)
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), callKey{}, request))
	c.Header("X-Request-Id", request.id)
	c.Next()
}

// isWeb reports whether a request comes from web: it has the secret, or there is none and web runs on the same machine.
func (a Addresses) isWeb(peer netip.Addr, secret string) bool {
	if a.WebSecret == "" {
		return peer.Unmap().IsLoopback()
	}
	return subtle.ConstantTimeCompare([]byte(secret), []byte(a.WebSecret)) == 1
}

// cookieName returns the full name of a cookie. It has the port, because cookies of all ports of a host are together:
// two installations on one machine would log each other out. Browsers restrict a __Host- cookie to this host and to
// HTTPS, and refuse it over HTTP.
func (r *call) cookieName(name string) string {
	if _, port, err := net.SplitHostPort(r.host); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err == nil {
			name += "_" + strconv.FormatUint(number, 10)
		}
	}
	if r.https {
		return "__Host-" + name
	}
	return name
}

// observe writes the access log and the metrics, also for answers that break off. Neither has query strings, bodies
// or credentials.
func (a *api) observe(c *gin.Context) {
	start := time.Now()
	defer func() { a.tell(c, time.Since(start)) }()
	c.Next()
}

func (a *api) tell(c *gin.Context, elapsed time.Duration) {
	route := c.FullPath()
	if route == "" {
		route = noRoute
	}
	status := c.Writer.Status()
	a.metrics.observe(c.Request.Method, route, status, elapsed)

	request := callOf(c.Request.Context())
	attrs := []slog.Attr{
		slog.String("request_id", request.id),
		slog.String("method", c.Request.Method),
		slog.String("path", c.Request.URL.Path),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Float64("duration_ms", float64(elapsed.Microseconds())/1000),
		slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.String("client", request.client.Address.String()),
	}
	if p := request.principal; p != nil && p.User != nil {
		attrs = append(attrs, slog.String("user_id", p.User.ID.String()))
	}
	if p := request.principal; p != nil && p.Key != nil {
		attrs = append(attrs, slog.String("key_id", p.Key.ID.String()))
	}
	a.log.LogAttrs(c, slog.LevelInfo, "request", attrs...)
}

// recoverPanic answers 500 after a panic and keeps the process running.
func (a *api) recoverPanic(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause) // aborts the connection in net/http
		}
		err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		if c.Writer.Written() {
			a.log.ErrorContext(c, "request failed after its answer began", "request_id", callOf(c.Request.Context()).id, "error", err)
			c.Abort()
			return
		}
		a.fail(c, err)
	}()
	c.Next()
}

// secureHeaders forbids caching, framing, content sniffing and loading by pages of other ports of answers. What an operation allows to be cached is only for
// the same caller: several people may use one browser.
func secureHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Authorization, Cookie, "+secretHeader+", X-Api-Key")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Next()
}
