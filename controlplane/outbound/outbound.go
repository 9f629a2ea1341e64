// Package outbound makes HTTP clients for addresses that a user names.
//
// A [Policy] decides which addresses they may connect to: public ones always, others only if the setting allows them.
// A client checks the address of each connection when it makes it, after the name is resolved, so that a name that
// resolves differently a moment later (DNS rebinding) reaches nothing else. It follows no redirects and uses no proxy
// of the environment, but that of [ProxySetting], which it asks for public addresses alone.
//
// The special addresses are those of the IANA registries:
//   - https://www.iana.org/assignments/iana-ipv4-special-registry
//   - https://www.iana.org/assignments/iana-ipv6-special-registry
package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Setting is the environment variable that allows addresses which are not public: "loopback", CIDRs, or "all", with
// commas between.
const Setting = "PROVIDER_PRIVATE_ADDRESSES"

const loopback = "loopback"

// Policy decides which addresses may be connected to. The zero value allows public addresses alone.
type Policy struct {
	all, loopback bool
	ranges        []netip.Prefix
	proxy         *url.URL
}

// Parse reads the value of [Setting]. The error names each invalid part.
func Parse(value string) (Policy, error) {
	var p Policy
	var errs []error
	for text := range strings.SplitSeq(value, ",") {
		switch text = strings.TrimSpace(text); text {
		case "":
		case "all":
			p.all = true
		case loopback:
			p.loopback = true
		default:
			r, err := parseRange(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s has %q and must have loopback, all or ranges such as 10.0.0.0/8 or 192.168.1.7/32, with commas between", Setting, text))
				continue
			}
			p.ranges = append(p.ranges, r)
		}
	}
	return p, errors.Join(errs...)
}

// parseRange parses a CIDR. A range of IPv4-mapped addresses becomes one of IPv4, as which addresses are compared.
func parseRange(text string) (netip.Prefix, error) {
	r, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if r.Addr().Is4In6() && r.Bits() >= 96 {
		r = netip.PrefixFrom(r.Addr().Unmap(), r.Bits()-96)
	}
	return r.Masked(), nil
}

// Allows reports whether the policy allows the address. An address that leads to an IPv4 address (mapped, NAT64, 6to4)
// is allowed if that one is; loopback is this machine's only in its own form and the mapped one.
func (p Policy) Allows(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return false
	case p.all, contains(p.ranges, addr), p.loopback && addr.IsLoopback(), classOf(addr) == "":
		return true
	}
	inner, form := embedded(addr)
	return form != "" && contains(p.ranges, inner)
}

// AddressError is the error for an address that the policy does not allow.
type AddressError struct {
	// Host is the name or the address that was asked for, Address what it resolved to.
	Host    string
	Address netip.Addr
	// Class says what the address is: loopback, private, link-local …
	Class string
}

func (e *AddressError) Error() string {
	what := e.Address.String()
	if e.Host != what {
		what = fmt.Sprintf("%s, to which %s resolves,", what, e.Host)
	}
	return fmt.Sprintf("%s is not a public address (%s). To allow it, add %s to the setting %s and start the control plane again.",
		what, e.Class, e.allowance(), Setting)
}

// allowance is the part of the setting that allows the address and no other.
func (e *AddressError) allowance() string {
	addr := e.Address.Unmap().WithZone("")
	if addr.IsLoopback() {
		return loopback
	}
	return netip.PrefixFrom(addr, addr.BitLen()).String()
}
