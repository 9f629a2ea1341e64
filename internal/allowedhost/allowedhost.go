// Package allowedhost checks the Host of requests that have no key, to prevent DNS rebinding: an attacker can point a
// name of their own to this machine, so that a browser takes Looptrace for the attacker's site and lets that site's
// pages read it. The Host of such a request is the attacker's name, which pages cannot change.
package allowedhost

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Setting is the environment variable that lists allowed names beside loopback and Looptrace's own addresses.
const Setting = "ALLOWED_HOSTS"

// Code is the code of the refusal. Its status is 421 (Misdirected Request).
const Code = "host_not_allowed"

// maxName is the maximum length of a DNS name.
const maxName = 253

// List holds the allowed hosts. The zero value allows loopback alone.
type List struct{ names map[string]bool }

// FromEnvironment allows the comma-separated names in ALLOWED_HOSTS and the hosts of PUBLIC_URL and WEB_URL.
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
		if strings.Trim(address.Path, "/") != "" {
			errs = append(errs, fmt.Errorf("%s is %q and must have no path: Looptrace is served at the root of a host; give it a name of its own, such as https://looptrace.example.com",
				variable.name, variable.text))
		}
		l.names[name] = true
	}
	return l, errors.Join(errs...)
}

// Allows reports whether a Host header names an allowed host. The port does not matter.
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

// AllowsOrigin reports whether an Origin header names an allowed host. An opaque one ("null") names none.
func (l List) AllowsOrigin(origin string) bool {
	address, err := url.Parse(origin)
	return err == nil && address.Host != "" && l.Allows(address.Host)
}

// Refusal returns one line of text that tells the user what to do.
func Refusal(host string) string {
	name, ok := Name(host)
	if !ok {
		return fmt.Sprintf("The request names the host %q, which is neither a name nor an address. Without a key, Looptrace answers to its own names only.", shorten(host))
	}
	return fmt.Sprintf("Without a key, Looptrace answers to its own names only, and %s is none of them. "+
		"If it should be, add it to the setting %s of web and of the control plane (%s=%s, several with commas between) and start them again.",
		name, Setting, Setting, name)
}

// shorten limits the size of an answer, whatever the request.
func shorten(text string) string { return utf8text.Bytes(text, maxName) }

// Name returns the host of a Host header or an authority without its port, normalized: names in lower case without a
// trailing dot, addresses as Go formats them. It returns false if it is neither.
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
	return strings.ToLower(name), true // ASCII only: other letters may fold into it
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// isName reports whether text may be a DNS name or an IPv4 address. Host names have no underscores, but names in
// container networks do.
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
