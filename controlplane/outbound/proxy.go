package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// ProxySetting is the environment variable with the address of a proxy for public addresses.
const ProxySetting = "OUTBOUND_PROXY"

// Through returns the policy with the proxy of the value of [ProxySetting], none if it is empty. The error does not contain the value, which
// may have a password.
func (p Policy) Through(value string) (Policy, error) {
	if value == "" {
		return p, nil
	}
	proxy, err := url.Parse(value)
	isProxy := err == nil && proxy.Hostname() != "" && (proxy.Path == "" || proxy.Path == "/") && proxy.RawQuery == "" && proxy.Fragment == ""
	if isProxy {
		switch proxy.Scheme {
		case "http", "https", "socks5", "socks5h":
			p.proxy = proxy
			return p, nil
		}
	}
	return p, fmt.Errorf("%s must be an address such as http://proxy.example:3128, https://user:password@proxy.example or socks5://10.0.0.1:1080", ProxySetting)
}

// proxyPorts are those of a proxy's address that has none.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// route returns how requests reach their servers: through the proxy where all addresses of the server are public, and else directly, to
// addresses that are checked.
func (p Policy) route(resolver *net.Resolver) (func(*http.Request) (*url.URL, error), func(context.Context, string, string) (net.Conn, error)) {
	direct := p.dialer(resolver)
	if p.proxy == nil {
		return nil, direct
	}
	port := p.proxy.Port()
	if port == "" {
		port = proxyPorts[p.proxy.Scheme]
	}
	address := net.JoinHostPort(p.proxy.Hostname(), port)
	choose := func(r *http.Request) (*url.URL, error) { return p.choose(r.Context(), resolver, r.URL.Hostname()) }
	return choose, func(ctx context.Context, network, to string) (net.Conn, error) {
		// Whoever names the proxy as a server is checked before, too.
		if to == address {
			return (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, to)
		}
		return direct(ctx, network, to)
	}
}

// choose returns the proxy for a host, or nil for one that is called directly. The proxy may take any address of a host, so all of them must be
// allowed.
func (p Policy) choose(ctx context.Context, resolver *net.Resolver, host string) (*url.URL, error) {
	name, err := hostName(host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := resolver.LookupNetIP(ctx, "ip", name)
	var unknown *net.DNSError
	switch {
	case err == nil:
	case p.all && errors.As(err, &unknown): // left to the proxy
		return p.proxy, nil
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("the address of %s cannot be checked before the proxy is asked for it. Let the name resolve on the control plane's machine, or set %s=all: %w", host, Setting, err)
	default:
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	isPublic := true
	for _, addr := range found {
		addr = addr.Unmap().WithZone("")
		if err := p.check(host, netip.AddrPortFrom(addr, 0).String()); err != nil {
			return nil, err
		}
		isPublic = isPublic && classOf(addr) == ""
	}
	if isPublic {
		return p.proxy, nil
	}
	return nil, nil
}
