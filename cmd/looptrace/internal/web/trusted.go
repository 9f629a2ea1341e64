package web

import (
	"fmt"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
)

// TrustedProxies are the networks of proxies in front of web.
type TrustedProxies []netip.Prefix

// ParseTrustedProxies parses a comma-separated list of addresses and networks.
func ParseTrustedProxies(text string) (TrustedProxies, error) {
	var trusted TrustedProxies
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			addr, addrErr := netip.ParseAddr(part)
			if addrErr != nil {
				return nil, fmt.Errorf("%q is neither an address like 10.0.0.7 nor a network like 10.0.0.0/8", part)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		trusted = append(trusted, prefix.Masked())
	}
	return trusted, nil
}

// LackProxy reports whether people use the public address through a proxy that is not named: without TLS of its own, web
// is behind one.
func (t TrustedProxies) LackProxy(publicURL string) bool {
	return len(t) == 0 && strings.HasPrefix(publicURL, "https:")
}

func (t TrustedProxies) contains(addr netip.Addr) bool {
	return slices.ContainsFunc(t, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

// forward replaces the client's address and scheme by those that a trusted proxy states. In a list of addresses the
// client is the last that is not a trusted proxy: earlier ones come from the client itself.
func (t TrustedProxies) forward(p *httputil.ProxyRequest) {
	peer, err := netip.ParseAddrPort(p.In.RemoteAddr)
	if err != nil || !t.contains(peer.Addr()) {
		return
	}
	if proto := p.In.Header.Get("X-Forwarded-Proto"); proto == "https" || proto == "http" {
		p.Out.Header.Set("X-Forwarded-Proto", proto)
	}
	client := peer.Addr()
	chain := strings.Split(strings.Join(p.In.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(chain) {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			break
		}
		client = addr
		if !t.contains(addr) {
			break
		}
	}
	p.Out.Header.Set("X-Forwarded-For", client.Unmap().String())
}
