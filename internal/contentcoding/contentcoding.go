// Package contentcoding reads which codings of a body a client accepts.
package contentcoding

import (
	"net/http"
	"strconv"
	"strings"
)

// Codings that answers have.
const (
	Brotli = "br"
	Gzip   = "gzip"
)

// Accepted reports whether Accept-Encoding (RFC 9110, 12.5.3) accepts a coding: named, or else by "*", with a weight other than 0.
func Accepted(header http.Header, coding string) bool {
	accepted, named := false, false
	for part := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(strings.ToLower(part), ";")
		name = strings.TrimSpace(name)
		if name != coding && (name != "*" || named) {
			continue
		}
		named = named || name == coding
		accepted = true
		if weight, ok := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q="); ok {
			q, err := strconv.ParseFloat(weight, 64)
			accepted = err == nil && q > 0
		}
	}
	return accepted
}
