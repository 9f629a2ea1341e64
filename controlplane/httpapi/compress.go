package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"
)

// compress sends answers with gzip if the operation has it enabled and the client accepts it.
func compress(c *gin.Context) {
	if !callOf(c.Request.Context()).operation.compress {
		return
	}
	c.Writer.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(c.Request.Header.Values("Accept-Encoding")) {
		return
	}
	writer := &gzipWriter{ResponseWriter: c.Writer}
	c.Writer = writer
	c.Next()
	if err := writer.end(); err != nil {
		_ = c.Error(err)
	}
}

// acceptsGzip reads Accept-Encoding (RFC 9110, 12.5.3): codings with weights, 0 meaning refused. "*" accepts gzip too.
func acceptsGzip(values []string) bool {
	accepted, named := false, false
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && (coding != "*" || named) {
			continue
		}
		named = named || coding == "gzip"
		accepted = true
		if weight, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(parameters), " ", ""), "q="); ok {
			q, err := strconv.ParseFloat(weight, 64)
			accepted = err == nil && q > 0
		}
	}
	return accepted
}

// gzipWriter compresses all that is written.
type gzipWriter struct {
	gin.ResponseWriter
	gzip *gzip.Writer
}

func (w *gzipWriter) Write(data []byte) (int, error) {
	if w.gzip == nil {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Del("Content-Length")
		w.gzip, _ = gzip.NewWriterLevel(w.ResponseWriter, gzip.BestSpeed) // a level that exists
	}
	n, err := w.gzip.Write(data)
	if err != nil {
		return n, fmt.Errorf("compress answer: %w", err)
	}
	return n, nil
}

// Unwrap lets [http.ResponseController] set the deadlines of the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gzipWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

func (w *gzipWriter) end() error {
	if w.gzip == nil {
		return nil
	}
	if err := w.gzip.Close(); err != nil {
		return fmt.Errorf("compress answer: %w", err)
	}
	return nil
}
