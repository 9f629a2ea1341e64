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

// ownHost refuses requests for a host that is not Looptrace's own. Otherwise a page whose host name resolves to this server (DNS
// rebinding) would have the same origin and could do all that the user can. It lets requests with a key pass, because browsers do
// not add keys automatically.
func (a *api) ownHost(c *gin.Context) {
	a.pass(c, func() error {
		if presentsKey(c.Request) {
			return nil
		}
		return a.foreignHost(c.Request)
	})
}

// ownSite is for operations. It also refuses requests that another site makes a browser send. Public operations check the host even if a
// key is sent, since the key may be invented. Health checks accept any host, such as a container's address: they return no recorded data.
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

// ownOrigin refuses requests from pages of other sites, with or without a key, as MCP requires.
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
	// The same origin does not suffice: the host itself may not be ours.
	if origin := r.Header.Get("Origin"); origin != "" && !a.addresses.Hosts.AllowsOrigin(origin) {
		return fmt.Errorf("%w: origin %q is not allowed", errCrossOrigin, origin)
	}
	return nil
}
