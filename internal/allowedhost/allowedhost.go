// Package allowedhost says which hosts a request without a key may name. A name of a stranger can be made to lead to this
// machine (DNS rebinding): the browser then takes what answers here for the stranger's own site, and lets its pages read
// it. The Host of such a request is that name, which no page can change.
package allowedhost

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Setting is the variable with the names that are allowed beside loopback and the addresses of Looptrace itself.
const Setting = "ALLOWED_HOSTS"

// Code is the stable code of a refusal, whose status is 421 (Misdirected Request).
const Code = "host_not_allowed"

// maxName is the longest name of DNS.
const maxName = 253

// List has the hosts that are allowed. The zero value allows loopback alone.
type List struct{ names map[string]bool }

// FromEnvironment allows the names in ALLOWED_HOSTS, with commas between, and the hosts of the addresses PUBLIC_URL and
// WEB_URL.
func FromEnvironment(getenv func(string) string) (List, error) {
	l := List{names: map[string]bool{}}
	var errs []error
	for text := range strings.SplitSeq(getenv("ALLOWED_HOSTS"), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		name, ok := Name(text)
		if !ok {
			errs = append(errs, fmt.Errorf("%s has %q and must have names or addresses such as looptrace.example.com or 192.168.1.7, with commas between", Setting, text))
		}
		l.names[name] = true
	}
	for _, variable := range [...]struct{ name, text string }{{"PUBLIC_URL", getenv("PUBLIC_URL")}, {"WEB_URL", getenv("WEB_URL")}} {
		if variable.text == "" {
			continue
		}
		address, err := url.Parse(variable.text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is %q and must be an address like https://looptrace.example.com", variable.name, variable.text))
			continue
		}
		name, ok := Name(address.Host)
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %q and must name a host in ASCII, as https://looptrace.example.com does", variable.name, variable.text))
		}
		l.names[name] = true
	}
	return l, errors.Join(errs...)
}

// Allows tells whether a Host header names an allowed host, at whatever port.
func (l List) Allows(host string) bool {
	name, ok := Name(host)
	if !ok {
		return false
	}
	if l.names[name] || name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// AllowsOrigin tells whether an Origin header names an allowed host. One that is opaque ("null") names none.
func (l List) AllowsOrigin(origin string) bool {
	address, err := url.Parse(origin)
	return err == nil && address.Host != "" && l.Allows(address.Host)
}

// Refusal tells a person what to do who was refused, in one line of text.
func Refusal(host string) string {
	name, ok := Name(host)
	if !ok {
		return fmt.Sprintf("The request names the host %q, which is neither a name nor an address. Without a key, Looptrace answers to its own names only.", shorten(host))
	}
	return fmt.Sprintf("Without a key, Looptrace answers to its own names only, and %s is none of them. "+
		"If it should be, add it to the setting %s of web and of the control plane (%s=%s, several with commas between) and start them again.",
		name, Setting, Setting, name)
}

// shorten keeps an answer small, whatever the request.
func shorten(text string) string {
	return text[:min(len(text), maxName)]
}

// Name is the host in a Host header or in an authority, without its port, in the one way in which it is compared: names in
// lower case without the dot of the root, addresses as Go writes them. It is false for what is neither.
func Name(host string) (string, bool) {
	name, port := host, ""
	if end := strings.LastIndexByte(host, ':'); end >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:end], host[end+1:]
	}
	if port != "" && !isPort(port) {
		return "", false
	}
	if inner, bracketed := strings.CutPrefix(name, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", false
		}
		return addr.Unmap().String(), true
	}
	name = strings.TrimSuffix(name, ".")
	if !isName(name) {
		return "", false
	}
	return strings.ToLower(name), true // of ASCII: other letters fold into it, too
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// isName tells whether text may be a name of DNS, or an address of IPv4. Underscores are no part of a host's name, but
// names inside of networks of containers have them.
func isName(text string) bool {
	if text == "" || len(text) > maxName {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}
