package outbound

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"time"
)

// resolveTimeout limits the look-up of a name.
const resolveTimeout = 3 * time.Second

// Check returns an [*AddressError] if no address of the URL's host may be connected to. It lets a user know early: a client checks
// each connection again. A name that does not resolve now is no error.
func (p Policy) Check(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return err
	}
	host, err := hostName(u.Hostname())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil // the connection will tell
	}
	var refused error
	for _, addr := range found {
		if err := p.check(host, netip.AddrPortFrom(addr.Unmap(), 0).String()); err == nil {
			return nil
		} else if refused == nil {
			refused = err
		}
	}
	return refused
}
