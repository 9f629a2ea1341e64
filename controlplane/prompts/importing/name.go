package importing

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/looptrace/looptrace/internal/utf8text"
)

var aliasPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const maxName = 128

// promptName makes the name of a prompt from the name that it has elsewhere:
//
//   - letters lose their accents,
//   - each run of other characters than A-Z, a-z, 0-9, ".", "_", "-" and "/" becomes one "-",
//   - "-", "." and "_" at the start of a part between slashes, and "-" at its end, are dropped, then parts that are empty,
//   - it is cut to 128 characters,
//   - it is "prompt" if nothing is left.
func promptName(source string) string {
	var b strings.Builder
	replaced := false
	for _, r := range norm.NFKD.String(utf8text.Cut(source, 4*maxName)) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/", r)):
			b.WriteRune(r)
			replaced = false
		case !replaced:
			b.WriteByte('-')
			replaced = true
		}
	}
	var parts []string
	for part := range strings.SplitSeq(b.String(), "/") {
		if part = strings.TrimRight(strings.TrimLeft(part, "-._"), "-"); part != "" {
			parts = append(parts, part)
		}
	}
	name := strings.Join(parts, "/")
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-/")
	}
	if name == "" {
		return "prompt"
	}
	return name
}

// namer gives each prompt of a file its own name: the second one of a name gets "-2" at its end, and so on.
type namer struct {
	taken map[string]bool
	next  map[string]int
}

func (n namer) name(source string) string {
	base := promptName(source)
	name := base
	for n.taken[name] {
		n.next[base] = max(n.next[base], 1) + 1
		suffix := "-" + strconv.Itoa(n.next[base])
		name = strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-/") + suffix
	}
	n.taken[name] = true
	return name
}
