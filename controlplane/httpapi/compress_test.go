package httpapi

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGzipWriter(t *testing.T) {
	t.Parallel()
	send := func(pieces ...string) *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		c, _ := gin.CreateTestContext(recorder)
		w := &gzipWriter{ResponseWriter: c.Writer}
		for _, piece := range pieces {
			n, err := w.WriteString(piece)
			require.NoError(t, err)
			assert.Equal(t, len(piece), n)
			assert.True(t, w.Written())
		}
		require.NoError(t, w.end())
		return recorder
	}
	short := send("{", "}")
	assert.Equal(t, "{}", short.Body.String())
	assert.Empty(t, short.Header().Get("Content-Encoding"))
	assert.Empty(t, send().Body.String())

	for range 2 { // also with a writer of the pool
		half := strings.Repeat("x", minCompressed/2)
		long := send(half, half, "end")
		assert.Equal(t, "gzip", long.Header().Get("Content-Encoding"))
		body, err := gzip.NewReader(long.Body)
		require.NoError(t, err)
		text, err := io.ReadAll(body)
		require.NoError(t, err)
		assert.Equal(t, half+half+"end", string(text))
	}
}

// After a panic the middleware before sends a problem, and nothing of what was held back.
func TestCompressAfterPanic(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	c, engine := gin.CreateTestContext(recorder)
	engine.Use(func(c *gin.Context) {
		defer func() {
			require.NotNil(t, recover())
			assert.False(t, c.Writer.Written())
			c.String(http.StatusInternalServerError, "problem")
		}()
		c.Next()
	}, func(c *gin.Context) {
		writer := c.Writer
		c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), callKey{}, &call{operation: &operation{compress: true}}))
		compress(c)
		assert.Same(t, writer, c.Writer)
	})
	engine.GET("/", func(c *gin.Context) {
		_, _ = c.Writer.WriteString("held")
		panic("bug")
	})
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	c.Request.Header.Set("Accept-Encoding", "gzip")
	engine.HandleContext(c)
	assert.Equal(t, "problem", recorder.Body.String())
}
