package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
)

// trustedProxies may say on whose behalf they ask: the web service runs on the same machine.
var trustedProxies = []string{"127.0.0.0/8", "::1/128"}

// The session's cookie. Browsers keep a __Host- cookie to this host and to HTTPS, and refuse it over HTTP.
const (
	cookieHTTPS = "__Host-looptrace_session"
	cookieHTTP  = "looptrace_session"
)

// call is what the middlewares find out about a request, for the handlers.
type call struct {
	id     string
	client identity.Client
	// https is whether the client's side of the connection is encrypted.
	https bool
	// web is the host at which web was asked, empty where the request did not come through it.
	web string
	// hosts are all that the request names: also a page that was loaded from this port can say that it is web.
	hosts []string
	// session is the token in the cookie, whether or not it is valid.
	session    string
	credential identity.Credential
	principal  *identity.Principal
}

// noRoute stands for the route of requests that match none.
const noRoute = "none"

type callKey struct{}

func callOf(ctx context.Context) *call {
	return ctx.Value(callKey{}).(*call) // the first middleware put it there
}

// identify gives the request an id and finds out where it comes from.
func identify(c *gin.Context) {
	request := &call{id: uuid.Must(uuid.NewV7()).String(), https: c.Request.TLS != nil}
	request.hosts = []string{c.Request.Host}
	request.client.UserAgent = c.Request.UserAgent()
	request.client.Address, _ = netip.ParseAddr(c.ClientIP()) // the zero address is "unknown"
	if fromTrustedProxy(c) {
		request.https = request.https || c.GetHeader("X-Forwarded-Proto") == "https"
		if host := c.GetHeader("X-Forwarded-Host"); host != "" {
			c.Request.Host = host // what the browser's Origin is compared with
			request.web = host
			request.hosts = append(request.hosts, host)
		}
	}
	if cookie, err := c.Request.Cookie(cookieName(request.https)); err == nil {
		request.session = cookie.Value
	}
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), callKey{}, request))
	c.Header("X-Request-Id", request.id)
	c.Next()
}

func fromTrustedProxy(c *gin.Context) bool {
	addr, err := netip.ParseAddr(c.RemoteIP())
	return err == nil && addr.Unmap().IsLoopback()
}

func cookieName(https bool) string {
	if https {
		return cookieHTTPS
	}
	return cookieHTTP
}

// observe writes the access log and measures, also of answers that are broken off. Neither holds a query string, a body
// or a credential.
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

// recoverPanic answers 500 for a bug, and lets the process go on.
func (a *api) recoverPanic(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause) // net/http's own way to cut a connection
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

// secureHeaders keeps answers out of caches and frames, and browsers from guessing at them.
func secureHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Next()
}

// ownHost refuses what names a host that is not ours: a page at a name that was made to lead here (DNS rebinding) is of
// the same origin as what it asks, and could read and do all that the user can. A request with a key is none of its
// business: browsers do not add keys by themselves.
func (a *api) ownHost(c *gin.Context) {
	a.pass(c, func() error {
		if presentsKey(c.Request) {
			return nil
		}
		return a.foreignHost(c.Request)
	})
}

// sameOrigin refuses what another site makes a browser send, likewise.
func (a *api) sameOrigin(c *gin.Context) {
	a.pass(c, func() error {
		if presentsKey(c.Request) {
			return nil
		}
		return a.foreignOrigin(c.Request)
	})
}

// ownSite is for what asks for no key: to send one, be it made up, opens nothing.
func (a *api) ownSite(c *gin.Context) {
	a.pass(c, func() error { return cmp.Or(a.foreignHost(c.Request), a.foreignOrigin(c.Request)) })
}

// ownOrigin refuses what another site's page sends, with a key or without: MCP asks for it.
func (a *api) ownOrigin(c *gin.Context) {
	a.pass(c, func() error { return a.foreignOrigin(c.Request) })
}

func (a *api) pass(c *gin.Context, refusal func() error) {
	if err := refusal(); err != nil {
		a.fail(c, err)
		return
	}
	c.Next()
}

// foreignHostError is about a host that is not ours.
type foreignHostError struct{ host string }

func (e *foreignHostError) Error() string { return fmt.Sprintf("host %q is not allowed", e.host) }

func (a *api) foreignHost(r *http.Request) error {
	for _, host := range callOf(r.Context()).hosts {
		if !a.addresses.Hosts.Allows(host) {
			return &foreignHostError{host}
		}
	}
	return nil
}

func (a *api) foreignOrigin(r *http.Request) error {
	if err := a.crossOrigin.Check(r); err != nil {
		return fmt.Errorf("%w: %w", errCrossOrigin, err)
	}
	// Of the same origin as a host that is not ours is not ours.
	if origin := r.Header.Get("Origin"); origin != "" && !a.addresses.Hosts.AllowsOrigin(origin) {
		return fmt.Errorf("%w: origin %q is not allowed", errCrossOrigin, origin)
	}
	return nil
}

// toolCaller is who calls a tool of the MCP server.
func toolCaller(ctx context.Context) mcpserver.Caller {
	request := callOf(ctx)
	return mcpserver.Caller{Principal: request.principal, RequestID: request.id}
}

// authenticate finds out who asks.
func (a *api) authenticate(c *gin.Context) {
	request := callOf(c.Request.Context())
	request.credential = credential(c.Request, request.session)
	principal, err := a.identity.Resolve(c.Request.Context(), request.credential)
	if err != nil {
		a.fail(c, err)
		return
	}
	request.principal = principal
	c.Next()
}

// presentedKey takes the key of a request, which may be no key at all, and tells whether there is one. Another scheme than
// Bearer is that of a proxy before us, and browsers add it by themselves.
func presentedKey(r *http.Request) (string, bool) {
	for _, header := range r.Header.Values("Authorization") {
		if scheme, key, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(key), true
		}
	}
	key := r.Header.Get("X-Api-Key")
	return key, key != ""
}

// presentsKey tells whether the request carries a key. Then its cookies do not count.
func presentsKey(r *http.Request) bool {
	_, presented := presentedKey(r)
	return presented
}

// credential takes the key of the request, else its session.
func credential(r *http.Request, session string) identity.Credential {
	if key, presented := presentedKey(r); presented {
		return identity.Credential{Key: key}
	}
	return identity.Credential{Session: session}
}

// validate holds the request to the OpenAPI document.
func (a *api) validate(c *gin.Context) {
	if err := a.validator.check(c); err != nil {
		a.fail(c, err)
		return
	}
	c.Next()
}
