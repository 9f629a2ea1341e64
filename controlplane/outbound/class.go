package outbound

import (
	"net/netip"
)

// metadata are the addresses at which clouds give a machine's credentials to whoever asks from it. Azure's is the only
// one that is not in a special range.
var metadata = prefixes(
	"169.254.169.254/32", "fd00:ec2::254/128", // Amazon, Google, Azure, DigitalOcean …
	"169.254.170.2/32", "fd00:ec2::23/128", // Amazon's containers
	"100.100.100.200/32", // Alibaba
	"192.0.0.192/32",     // Oracle
	"168.63.129.16/32",   // Azure's platform
)

// special are the ranges of the IANA registries that are not reachable from everywhere.
var special = []struct {
	class  string
	ranges []netip.Prefix
}{
	{"unspecified", prefixes("0.0.0.0/8", "::/128")},
	{"loopback", prefixes("127.0.0.0/8", "::1/128")},
	{"private", prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")},
	{"shared (carrier-grade NAT)", prefixes("100.64.0.0/10")},
	{"link-local", prefixes("169.254.0.0/16", "fe80::/10")},
	{"multicast", prefixes("224.0.0.0/4", "ff00::/8")},
	{"reserved", prefixes(
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20",
	)},
}

// embedding are the IPv6 ranges whose addresses lead to an IPv4 address, with the offset of its four bytes.
var embedding = []struct {
	form   string
	prefix netip.Prefix
	offset int
}{
	{"NAT64", netip.MustParsePrefix("64:ff9b::/96"), 12},
	{"6to4", netip.MustParsePrefix("2002::/16"), 2},
	{"IPv4-compatible", netip.MustParsePrefix("::/96"), 12},
	{"IPv4-translated", netip.MustParsePrefix("::ffff:0:0:0/96"), 12},
}

var globalUnicast = netip.MustParsePrefix("2000::/3")

// classOf returns what an address is if it is not public, or "". The address is unmapped and has no zone.
func classOf(addr netip.Addr) string {
	if contains(metadata, addr) {
		return "cloud metadata"
	}
	for _, s := range special {
		if contains(s.ranges, addr) {
			return s.class
		}
	}
	if inner, form := embedded(addr); form != "" {
		if class := classOf(inner); class != "" {
			return form + " form of " + inner.String() + ", which is " + class
		}
		return ""
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return "reserved"
	}
	return ""
}

// embedded returns the IPv4 address that an IPv6 address leads to, and the name of its form.
func embedded(addr netip.Addr) (netip.Addr, string) {
	for _, e := range embedding {
		if e.prefix.Contains(addr) {
			bytes := addr.As16()
			return netip.AddrFrom4([4]byte(bytes[e.offset : e.offset+4])), e.form
		}
	}
	return netip.Addr{}, ""
}

func contains(ranges []netip.Prefix, addr netip.Addr) bool {
	for _, r := range ranges {
		if r.Contains(addr) {
			return true
		}
	}
	return false
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}
