package outbound

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProxySetting(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"http://proxy:3128", "https://user:secret@proxy.example/", "socks5://[::1]:1080", "socks5h://proxy"} {
		p, err := Policy{}.Through(value)
		require.NoError(t, err, value)
		assert.NotNil(t, p.proxy)
	}
	p, err := Policy{}.Through("")
	require.NoError(t, err)
	assert.Nil(t, p.proxy)
	for _, value := range []string{"proxy:3128", "http://", "ftp://user:secret@proxy", "http://proxy/path", "http://proxy?x=secret", "http://secret\x00"} {
		_, err := Policy{}.Through(value)
		require.ErrorContains(t, err, "OUTBOUND_PROXY must be an address", value)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// TestProxyIsAskedForPublicAddresses: those that are not public are checked as ever, and are not asked for.
func TestProxyIsAskedForPublicAddresses(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		asked = append(asked, r.Method+" "+r.RequestURI+" "+user+":"+password)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(proxy.Close)
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	get := func(setting, address string, answers ...string) error {
		policy, err := Parse(setting)
		require.NoError(t, err)
		policy, err = policy.Through(strings.Replace(proxy.URL, "http://", "http://ann:secret@", 1))
		require.NoError(t, err)
		client := policy.client((&names{answers: [][]string{answers}}).resolver(t))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		if response != nil {
			require.NoError(t, response.Body.Close())
		}
		return err
	}
	require.NoError(t, get("", "http://model.example/v1", "8.8.8.8"))
	assert.Equal(t, []string{"GET http://model.example/v1 ann:secret"}, asked)
	require.ErrorContains(t, get("", "https://model.example/v1", "8.8.8.8"), "Forbidden")
	assert.Equal(t, "CONNECT model.example:443 ann:secret", asked[1])

	var refused *AddressError
	require.ErrorAs(t, get("", "http://model.example/v1", "10.0.0.1"), &refused)
	require.ErrorAs(t, get("", "http://model.example/v1", "8.8.8.8", "169.254.169.254"), &refused, "the proxy may take either")
	require.ErrorAs(t, get("loopback", "http://169.254.169.254/v1"), &refused)
	require.ErrorAs(t, get("", proxy.URL), &refused, "the proxy is no server")
	require.ErrorContains(t, get("", "http://0x7f.1/"), "neither a name nor an address")
	require.ErrorContains(t, get("", "http://unknown.example/"), "cannot be checked before the proxy is asked")
	assert.Len(t, asked, 2)

	require.NoError(t, get("loopback", "http://model.example:"+port, "127.0.0.1"), "an allowed address is called directly")
	assert.Equal(t, 1, reached)
	assert.Len(t, asked, 2)
	require.NoError(t, get("all", "http://unknown.example/"))
	assert.Equal(t, "GET http://unknown.example/ ann:secret", asked[2])
}

func TestProxyOfSOCKS(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	asked := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 512)
		read := func(n int) []byte {
			_, _ = io.ReadFull(conn, buffer[:n])
			return buffer[:n]
		}
		read(int(read(2)[1])) // the ways to log in
		_, _ = conn.Write([]byte{5, 0})
		asked <- string(read(int(read(5)[4]) + 2)) // a name and a port
		_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		_, _ = conn.Read(buffer)
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	}()
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		<-done
	})
	policy, err := Policy{}.Through("socks5://" + listener.Addr().String())
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model.example/", nil)
	require.NoError(t, err)
	response, err := policy.client((&names{answers: [][]string{{"8.8.8.8"}}}).resolver(t)).Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
	assert.Equal(t, "model.example\x00P", <-asked)
}
