package web

import (
	"io/fs"
	"net/http"
	"strings"

	"github.com/looptrace/looptrace/internal/contentcoding"
)

// compressed are the extensions of the files that the build of the UI made of others, the smallest first.
var compressed = []struct{ extension, coding string }{{".br", contentcoding.Brotli}, {".gz", contentcoding.Gzip}}

// isCompressed reports whether the build made the named file of another.
func isCompressed(name string) bool {
	for _, c := range compressed {
		if strings.HasSuffix(name, c.extension) {
			return true
		}
	}
	return false
}

// choose returns the file to send for the named one: the smallest that the client accepts, with its coding, or the file itself. It notes
// in the header that the choice depends on the request.
func choose(w http.ResponseWriter, r *http.Request, root fs.FS, name string) (file, coding string) {
	file, hasOther := name, false
	for _, c := range compressed {
		if !isFile(root, name+c.extension) {
			continue
		}
		hasOther = true
		if coding == "" && contentcoding.Accepted(r.Header, c.coding) {
			file, coding = name+c.extension, c.coding
		}
	}
	if hasOther {
		w.Header().Add("Vary", "Accept-Encoding")
	}
	return file, coding
}
