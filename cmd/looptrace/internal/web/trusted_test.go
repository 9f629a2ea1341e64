package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/web"
)

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	trusted, err := web.ParseTrustedProxies(" 10.0.0.0/8, 192.0.2.7,2001:db8::/32 ")
	require.NoError(t, err)
	handler := web.NewHandler(web.Config{API: backend(t, "api"), Ingest: backend(t, "ingest"), UI: uiDir(t), TrustedProxies: trusted})
	for name, c := range map[string]struct {
		peer, proto string
		chain       []string
		want        string
	}{
		"a proxy with TLS":                {"10.1.2.3:40000", "https", []string{"198.51.100.7"}, "for=198.51.100.7 proto=https"},
		"one address, IPv4 in IPv6":       {"[::ffff:192.0.2.7]:40000", "https", []string{"198.51.100.7"}, "for=198.51.100.7 proto=https"},
		"IPv6":                            {"[2001:db8::1]:40000", "https", []string{"2001:4860::1"}, "for=2001:4860::1 proto=https"},
		"two proxies":                     {"10.1.2.3:40000", "https", []string{"198.51.100.7, 10.9.9.9"}, "for=198.51.100.7 proto=https"},
		"the client lists others":         {"10.1.2.3:40000", "https", []string{"6.6.6.6, 198.51.100.7"}, "for=198.51.100.7 proto=https"},
		"the client lists a proxy":        {"10.1.2.3:40000", "https", []string{"10.6.6.6, 198.51.100.7"}, "for=198.51.100.7 proto=https"},
		"in two headers":                  {"10.1.2.3:40000", "https", []string{"6.6.6.6", "198.51.100.7"}, "for=198.51.100.7 proto=https"},
		"the proxy's own machine":         {"10.1.2.3:40000", "http", []string{"10.1.2.3"}, "for=10.1.2.3 proto=http"},
		"no list":                         {"10.1.2.3:40000", "https", nil, "for=10.1.2.3 proto=https"},
		"no address":                      {"10.1.2.3:40000", "https", []string{"unknown"}, "for=10.1.2.3 proto=https"},
		"no address before a known proxy": {"10.1.2.3:40000", "https", []string{"unknown, 10.9.9.9"}, "for=10.9.9.9 proto=https"},
		"another scheme":                  {"10.1.2.3:40000", "gopher", []string{"198.51.100.7"}, "for=198.51.100.7 proto=http"},
		"a stranger":                      {"198.51.100.9:40000", "https", []string{"198.51.100.7"}, "for=198.51.100.9 proto=http"},
		"a neighbour of the one address":  {"192.0.2.8:40000", "https", []string{"198.51.100.7"}, "for=192.0.2.8 proto=http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me", nil)
			request.RemoteAddr = c.peer
			request.Header.Set("X-Forwarded-Proto", c.proto)
			request.Header["X-Forwarded-For"] = c.chain
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			assert.Contains(t, recorder.Body.String(), c.want+" ")
		})
	}
}

func TestParseTrustedProxies(t *testing.T) {
	t.Parallel()
	trusted, err := web.ParseTrustedProxies("")
	require.NoError(t, err)
	assert.Empty(t, trusted)
	for _, text := range []string{"proxy.example.com", "10.0.0.0/33", "10.0.0"} {
		_, err := web.ParseTrustedProxies("10.0.0.1," + text)
		require.ErrorContains(t, err, text)
	}
}

func TestUnnamedProxyIsNoticed(t *testing.T) {
	t.Parallel()
	named, err := web.ParseTrustedProxies("10.0.0.7")
	require.NoError(t, err)
	assert.True(t, web.TrustedProxies(nil).LackProxy("https://looptrace.example.com"))
	assert.False(t, named.LackProxy("https://looptrace.example.com"))
	assert.False(t, web.TrustedProxies(nil).LackProxy("http://127.0.0.1:7090"))
	assert.False(t, web.TrustedProxies(nil).LackProxy(""))
}

// Any program can reach the port of the API: web proves itself, and passes on no proof of others.
func TestWebProvesItself(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 1)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r.Header.Get("Looptrace-Web-Secret") }))
	t.Cleanup(target.Close)
	address, err := url.Parse(target.URL)
	require.NoError(t, err)
	for _, secret := range []string{"proof", ""} {
		handler := web.NewHandler(web.Config{API: address, Ingest: address, UI: uiDir(t), Secret: secret})
		for _, path := range []string{"/v1/me", "/v1/traces"} {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, http.NoBody)
			request.Header.Set("Looptrace-Web-Secret", "a client's")
			handler.ServeHTTP(httptest.NewRecorder(), request)
			assert.Equal(t, secret, <-sent, path)
		}
	}
}
