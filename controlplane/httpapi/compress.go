package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"

	"github.com/looptrace/looptrace/internal/contentcoding"
)

// minCompressed is the length from which an answer is compressed. Shorter ones fit in a packet as they are.
const minCompressed = 1 << 10

// gzipWriters are writers at rest: a new one allocates some hundred kilobytes.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // a level that exists
	return w
}}

// compress sends answers with gzip if the operation has it enabled and the client accepts it.
func compress(c *gin.Context) {
	if !callOf(c.Request.Context()).operation.compress {
		return
	}
	c.Writer.Header().Add("Vary", "Accept-Encoding")
	if !contentcoding.Accepted(c.Request.Header, contentcoding.Gzip) {
		return
	}
	writer := &gzipWriter{ResponseWriter: c.Writer}
	c.Writer = writer
	defer func() { c.Writer = writer.ResponseWriter }() // after a panic, the problem is sent in place of what is held back
	c.Next()
	if err := writer.end(); err != nil {
		_ = c.Error(err)
	}
}

// gzipWriter compresses all that is written. It holds back the beginning, to send a short answer as it is.
type gzipWriter struct {
	gin.ResponseWriter
	held []byte
	gzip *gzip.Writer
}

func (w *gzipWriter) Write(data []byte) (int, error) {
	if w.gzip == nil {
		if len(w.held)+len(data) < minCompressed {
			w.held = append(w.held, data...)
			return len(data), nil
		}
		w.Header().Set("Content-Encoding", contentcoding.Gzip)
		w.Header().Del("Content-Length")
		w.gzip = gzipWriters.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool has no others
		w.gzip.Reset(w.ResponseWriter)
		if _, err := w.gzip.Write(w.held); err != nil {
			return 0, fmt.Errorf("compress answer: %w", err)
		}
	}
	n, err := w.gzip.Write(data)
	if err != nil {
		return n, fmt.Errorf("compress answer: %w", err)
	}
	return n, nil
}

// Written also reports what is held back.
func (w *gzipWriter) Written() bool { return len(w.held) > 0 || w.ResponseWriter.Written() }

// Unwrap lets [http.ResponseController] set the deadlines of the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gzipWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

// end sends the rest.
func (w *gzipWriter) end() error {
	if w.gzip == nil {
		if len(w.held) == 0 {
			return nil
		}
		if _, err := w.ResponseWriter.Write(w.held); err != nil {
			return fmt.Errorf("send answer: %w", err)
		}
		return nil
	}
	defer gzipWriters.Put(w.gzip)
	if err := w.gzip.Close(); err != nil {
		return fmt.Errorf("compress answer: %w", err)
	}
	return nil
}
