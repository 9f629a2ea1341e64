package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

const indexFile = "index.html"

// securityHeaders are sent with every part of the UI. Styles may be inline because the component library sets them,
// scripts may not.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
		"object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Referrer-Policy":            "no-referrer",
	"X-Content-Type-Options":     "nosniff",
}

// newFiles serves the built UI. Any other path returns the index page, because the UI routes it.
func newFiles(dir string) http.Handler {
	root := os.DirFS(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		for name, value := range securityHeaders {
			header.Set(name, value)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			answerProblem(w, http.StatusMethodNotAllowed, "method_not_allowed", "The UI allows GET and HEAD only.")
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		switch {
		case isFile(root, name) && !isCompressed(name):
			serveFile(w, r, root, name)
		case path.Ext(name) != "" && name != indexFile:
			header.Set("Cache-Control", "no-cache")
			answerProblem(w, http.StatusNotFound, "not_found", "The file does not exist.")
		default:
			serveFile(w, r, root, indexFile)
		}
	})
}

func isFile(root fs.FS, name string) bool {
	info, err := fs.Stat(root, name)
	return err == nil && info.Mode().IsRegular()
}

// serveFile sends a file, compressed if the client accepts that. Browsers ask again for each file but those whose names change with
// their content, and the ETag tells them what they have already.
func serveFile(w http.ResponseWriter, r *http.Request, root fs.FS, name string) {
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	file, coding := choose(w, r, root, name)
	content, err := fs.ReadFile(root, file)
	if err != nil {
		detail := "The UI cannot be read."
		if errors.Is(err, fs.ErrNotExist) {
			detail = "The UI is not built: run `make ui`."
		}
		answerProblem(w, http.StatusServiceUnavailable, "ui_unavailable", detail)
		return
	}
	if strings.HasPrefix(name, "assets/") {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", contentType(name, content))
	if coding != "" {
		header.Set("Content-Encoding", coding)
		header.Set("Content-Length", strconv.Itoa(len(content))) // ServeContent leaves it out of encoded files
	}
	digest := sha256.Sum256(content)
	header.Set("ETag", `"`+hex.EncodeToString(digest[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func contentType(name string, content []byte) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return http.DetectContentType(content)
}
