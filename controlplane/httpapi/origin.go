package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/problem"
)

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

// ownSite is for operations. It refuses also what another site makes a browser send. Where no key is asked for, to send one, be it made
// up, opens nothing. Health is asked at whatever host, such as the address of a container: its answers hold nothing that was recorded.
func (a *api) ownSite(c *gin.Context) {
	a.pass(c, func() error {
		switch op := callOf(c.Request.Context()).operation; {
		case !strings.HasPrefix(c.FullPath(), "/v1/"):
			return nil
		case !op.public && presentsKey(c.Request):
			return nil
		}
		return cmp.Or(a.foreignHost(c.Request), a.foreignOrigin(c.Request))
	})
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

func (a *api) foreignHost(r *http.Request) error {
	for _, host := range callOf(r.Context()).hosts {
		if !a.addresses.Hosts.Allows(host) {
			return &problem.Error{Kind: problem.Misdirected, Code: allowedhost.Code, Detail: allowedhost.Refusal(host)}
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
