package outbound

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

const (
	// connectTimeout limits the connection and, again, the TLS handshake.
	connectTimeout  = 10 * time.Second
	idleConnections = 90 * time.Second
	maxHeaderBytes  = 1 << 20
)

// Client returns an HTTP client that connects to allowed addresses only. Its error for another is an [*AddressError]
// in the tree of the returned one. Limits of the time that an answer takes are the caller's.
func (p Policy) Client() *http.Client {
	return p.client(net.DefaultResolver)
}

func (p Policy) client(resolver *net.Resolver) *http.Client {
	proxy, dial := p.route(resolver)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  proxy,
			DialContext:            dial,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    connectTimeout,
			IdleConnTimeout:        idleConnections,
			MaxIdleConns:           100,
			MaxIdleConnsPerHost:    20,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dialer checks the addresses in the Control function, which the dialer of net calls for each address that it is about
// to connect to.
func (p Policy) dialer(resolver *net.Resolver) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		name, err := hostName(host)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{
			Timeout:  connectTimeout,
			Resolver: resolver,
			Control: func(_, resolved string, _ syscall.RawConn) error {
				return p.check(host, resolved)
			},
		}
		return d.DialContext(ctx, network, net.JoinHostPort(name, port))
	}
}

func (p Policy) check(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return fmt.Errorf("read the address %q of %s: %w", resolved, host, err)
	}
	if p.Allows(at.Addr()) {
		return nil
	}
	return &AddressError{Host: host, Address: at.Addr(), Class: classOf(at.Addr().Unmap().WithZone(""))}
}

// hostName returns the host to dial. Resolvers disagree about addresses in other forms than the usual one (2130706433,
// 0x7f.1, 127.1, 0177.0.0.1), so that what such a form means cannot be told: it is an error.
func hostName(host string) (string, error) {
	bare := strings.TrimSuffix(host, ".")
	if _, err := netip.ParseAddr(bare); err == nil {
		return bare, nil
	}
	label := bare[strings.LastIndexByte(bare, '.')+1:]
	if label == "" || endsInNumber(label) {
		return "", fmt.Errorf("the host %q is neither a name nor an address in the usual form, such as 192.0.2.1 or [2001:db8::1]", host)
	}
	return host, nil
}

// endsInNumber reports whether a host with this last label is an IPv4 address by the URL standard
// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func endsInNumber(label string) bool {
	digits := strings.TrimLeft(label, "0123456789") == ""
	hex := len(label) >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X') && strings.Trim(label[2:], "0123456789abcdefABCDEF") == ""
	return digits || hex
}
