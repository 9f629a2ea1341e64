package client

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
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
		r := wire.ReadRefusal(body)
		require.True(t, r.Status == 0 || r.Status >= 400 && r.Status < 600)
		require.Contains(t, r.Told(), r.Message)
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(r.Told(), r.Message))), wire.MaxProvider+len("…: "))
		require.NotNil(t, refused(&call{request: &llm.Request{}}, &http.Response{StatusCode: http.StatusOK}, body))
		_ = wire.Reported(body)
	})
}
