package llm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRefusal reads any error. What it says stands in the body, and the name of the provider is short.
func FuzzRefusal(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"no\"}}","provider_name":"X"}}}`,
		`[{"error":{"details":[{"fieldViolations":[{"field":"a","description":"b"}]}]}}]`, `{"detail":[{"loc":["body",3],"msg":"m"}]}`,
		"data: {\"error\":\"no\"}", `{"status":"435","msg":"m"}`, "\ufeff{}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := readRefusal(body)
		require.True(t, r.status == 0 || r.status >= 400 && r.status < 600)
		require.Contains(t, r.told(), r.message)
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(r.told(), r.message))), maxProvider+len("…: "))
		require.NotNil(t, refused(&call{request: &Request{}}, &http.Response{StatusCode: http.StatusOK}, body))
		_ = reported(body)
	})
}
