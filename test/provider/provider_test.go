package provider_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/provider"
)

// TestLoad makes a thousand calls of 200 ms, fifty at once, and reports how long they took beyond the four seconds that
// they need.
func TestLoad(t *testing.T) {
	t.Parallel()
	const calls, atOnce = 1000, 50
	s := provider.Start(t, provider.Options{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	t.Cleanup(client.CloseIdleConnections)
	begun := time.Now()
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for range calls / atOnce {
				if body, err := streamed(t, client, s, "text@200ms"); err != nil || !bytes.HasSuffix(body, []byte("data: [DONE]\n\n")) {
					t.Errorf("the stream ended with %q: %v", body, err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d calls of 200 ms, %d at once: %v", calls, atOnce, time.Since(begun))
	assert.Len(t, s.Requests(), calls)
}

// streamed returns the bytes of a stream of OpenAI's.
func streamed(t *testing.T, client *http.Client, s *provider.Server, model string) ([]byte, error) {
	t.Helper()
	body := strings.NewReader(`{"model": "` + model + `", "messages": [{"role": "user", "content": "Hello"}], "stream": true}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/chat/completions", body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.Key)
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// TestRaw checks what belongs to no protocol.
func TestRaw(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	get := func(model string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(`{"model": "`+model+`", "messages": [{"role": "user", "content": "Hello"}]}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+s.Key)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	size, err := io.Copy(io.Discard, get("huge").Body)
	require.NoError(t, err)
	assert.EqualValues(t, 256<<20, size)
	gateway := get("bad-gateway")
	assert.Equal(t, []any{502, "text/html"}, []any{gateway.StatusCode, gateway.Header.Get("Content-Type")})
	_, err = io.ReadAll(get("reset").Body)
	require.ErrorContains(t, err, "reset")
	half, err := io.ReadAll(get("cut").Body)
	require.NoError(t, err, "the end is clean")
	assert.False(t, json.Valid(half))
}
