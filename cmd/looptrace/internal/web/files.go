package web

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
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
		case isFile(root, name) && name != indexFile:
			if strings.HasPrefix(name, "assets/") { // their names change with their content
				header.Set("Cache-Control", "public, max-age=31536000, immutable")
			} else {
				header.Set("Cache-Control", "no-cache")
			}
			http.ServeFileFS(w, r, root, name) //nolint:gosec // an fs.FS has nothing above its root
		case path.Ext(name) != "" && name != indexFile:
			header.Set("Cache-Control", "no-cache")
			answerProblem(w, http.StatusNotFound, "not_found", "The file does not exist.")
		default:
			serveIndex(w, r, root)
		}
	})
}

func isFile(root fs.FS, name string) bool {
	info, err := fs.Stat(root, name)
	return err == nil && info.Mode().IsRegular()
}

// serveIndex avoids http.ServeFileFS, which redirects a path that ends in index.html.
func serveIndex(w http.ResponseWriter, r *http.Request, root fs.FS) {
	w.Header().Set("Cache-Control", "no-cache")
	page, err := fs.ReadFile(root, indexFile)
	if err != nil {
		detail := "The UI cannot be read."
		if errors.Is(err, fs.ErrNotExist) {
			detail = "The UI is not built: run `make ui`."
		}
		answerProblem(w, http.StatusServiceUnavailable, "ui_unavailable", detail)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method == http.MethodGet {
		_, _ = w.Write(page) // the client may be gone
	}
}
