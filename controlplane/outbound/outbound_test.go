package outbound

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                          "",
		" loopback , 10.0.0.0/8,":   "",
		"all":                       "",
		"::ffff:10.0.0.0/104":       "",
		"10.0.0.1":                  `has "10.0.0.1"`,
		"LOOPBACK":                  `has "LOOPBACK"`,
		"10.0.0.0/33":               `has "10.0.0.0/33"`,
		"fe80::%eth0/64":            `has "fe80::%eth0/64"`,
		"localhost, 10.0.0.0/8, x/": `has "localhost"`,
	} {
		_, err := Parse(value)
		if want == "" {
			require.NoError(t, err, value)
			continue
		}
		require.ErrorContains(t, err, Setting+" "+want, value)
	}
	_, err := Parse("localhost, x/")
	assert.ErrorContains(t, err, `"x/"`, "every invalid part is named")
}

func TestPolicyAllows(t *testing.T) {
	t.Parallel()
	const nobody, loopbackOnly, all = "", "loopback", "all"
	for _, c := range []struct {
		addr, setting string
		allowed       bool
	}{
		{"8.8.8.8", nobody, true},
		{"2606:4700::1111", nobody, true},
		{"::ffff:8.8.8.8", nobody, true},
		{"64:ff9b::8.8.8.8", nobody, true},
		{"2002:808:808::1", nobody, true},

		{"127.0.0.1", nobody, false},
		{"127.255.255.254", nobody, false},
		{"127.0.0.1", loopbackOnly, true},
		{"::1", nobody, false},
		{"::1", loopbackOnly, true},
		{"::ffff:127.0.0.1", nobody, false},
		{"::ffff:127.0.0.1", loopbackOnly, true},
		{"64:ff9b::127.0.0.1", loopbackOnly, false},
		{"2002:7f00:1::", loopbackOnly, false},
		{"::127.0.0.1", loopbackOnly, false},
		{"::ffff:0:127.0.0.1", loopbackOnly, false},
		{"0.0.0.0", loopbackOnly, false},
		{"::", loopbackOnly, false},
		{"::ffff:0.0.0.0", loopbackOnly, false},

		{"10.1.2.3", nobody, false},
		{"10.1.2.3", loopbackOnly, false},
		{"10.1.2.3", "10.0.0.0/8", true},
		{"10.1.2.3", "::ffff:10.0.0.0/104", true},
		{"11.1.2.3", "10.0.0.0/8", true},
		{"172.15.255.255", nobody, true},
		{"172.16.0.1", nobody, false},
		{"172.31.255.255", nobody, false},
		{"172.32.0.1", nobody, true},
		{"192.168.0.1", nobody, false},
		{"192.168.0.1", "10.0.0.0/8", false},
		{"::ffff:10.1.2.3", nobody, false},
		{"::ffff:10.1.2.3", "10.0.0.0/8", true},
		{"64:ff9b::10.1.2.3", nobody, false},
		{"64:ff9b::10.1.2.3", "10.0.0.0/8", true},
		{"2002:a01:203::1", nobody, false},
		{"2002:a01:203::1", "10.0.0.0/8", true},
		{"64:ff9b:1::10.1.2.3", "10.0.0.0/8", false},
		{"100.64.0.1", nobody, false},
		{"100.128.0.1", nobody, true},
		{"fd12::1", nobody, false},
		{"fd12::1", "fd12::/16", true},
		{"fec0::1", nobody, false},

		{"169.254.1.1", loopbackOnly, false},
		{"169.254.1.1", "169.254.0.0/16", true},
		{"169.254.169.254", loopbackOnly, false},
		{"169.254.169.254", "10.0.0.0/8,loopback", false},
		{"169.254.169.254", "169.254.169.254/32", true},
		{"::ffff:169.254.169.254", nobody, false},
		{"64:ff9b::169.254.169.254", nobody, false},
		{"2002:a9fe:a9fe::", nobody, false},
		{"fd00:ec2::254", loopbackOnly, false},
		{"fd00:ec2::254", "fd00:ec2::254/128", true},
		{"168.63.129.16", nobody, false},
		{"100.100.100.200", nobody, false},
		{"fe80::1", loopbackOnly, false},
		{"fe80::1%eth0", nobody, false},
		{"fe80::1%eth0", "fe80::/10", true},
		{"::1%lo", loopbackOnly, true},
		{"2606:4700::1111%eth0", nobody, true},

		{"224.0.0.1", nobody, false},
		{"ff02::1", nobody, false},
		{"255.255.255.255", nobody, false},
		{"240.0.0.1", nobody, false},
		{"192.0.2.1", nobody, false},
		{"198.18.0.1", nobody, false},
		{"2001::1", nobody, false},
		{"2001:db8::1", nobody, false},
		{"3fff::1", nobody, false},
		{"5f00::1", nobody, false},
		{"4000::1", nobody, false},
		{"::8.8.8.8", nobody, true},
		{"169.254.169.254", all, true},
		{"ff02::1", all, true},
	} {
		policy, err := Parse(c.setting)
		require.NoError(t, err)
		assert.Equal(t, c.allowed, policy.Allows(netip.MustParseAddr(c.addr)), "%s with %q", c.addr, c.setting)
	}
	assert.False(t, Policy{}.Allows(netip.Addr{}))
}

// FuzzPolicyAllows holds the table to net/netip's own predicates, and the setting that an error suggests to the policy.
func FuzzPolicyAllows(f *testing.F) {
	for _, text := range []string{"8.8.8.8", "127.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "fe80::1", "fd00:ec2::254"} {
		bytes := netip.MustParseAddr(text).As16()
		f.Add(bytes[:])
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) != 16 {
			return
		}
		addr := netip.AddrFrom16([16]byte(bytes))
		plain := addr.Unmap()
		if special := !plain.IsGlobalUnicast() || plain.IsPrivate(); special && (Policy{}).Allows(addr) {
			t.Fatalf("%s is allowed", addr)
		}
		if (Policy{}).Allows(addr) {
			return
		}
		e := &AddressError{Host: "h", Address: addr, Class: classOf(plain)}
		if e.Class == "" {
			t.Fatalf("%s is refused without a class", addr)
		}
		policy, err := Parse(e.allowance())
		if err != nil || !policy.Allows(addr) {
			t.Fatalf("%s is refused after %q was allowed: %v", addr, e.allowance(), err)
		}
	})
}

func TestClientRefusesForms(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a refused address was reached")
	}))
	t.Cleanup(server.Close)
	port := netip.MustParseAddrPort(server.Listener.Addr().String()).Port()

	for host, want := range map[string]string{
		"127.0.0.1":          "127.0.0.1 is not a public address (loopback)",
		"127.0.0.1.":         "is not a public address (loopback)",
		"localhost":          "to which localhost resolves, is not a public address (loopback)",
		"LOCALHOST":          "is not a public address (loopback)",
		"[::ffff:127.0.0.1]": "is not a public address (loopback)",
		"[::ffff:7f00:1]":    "is not a public address (loopback)",
		"[::1]":              "is not a public address (loopback)",
		"[::1%25lo]":         "is not a public address (loopback)",
		"0.0.0.0":            "is not a public address (unspecified)",
		"[::]":               "is not a public address (unspecified)",
		"2130706433":         "neither a name nor an address in the usual form",
		"017700000001":       "neither a name nor an address in the usual form",
		"0x7f000001":         "neither a name nor an address in the usual form",
		"0x7f.0.0.0x1":       "neither a name nor an address in the usual form",
		"0177.0.0.1":         "neither a name nor an address in the usual form",
		"127.1":              "neither a name nor an address in the usual form",
		"127.1.":             "neither a name nor an address in the usual form",
		"127.0.0.1..":        "neither a name nor an address in the usual form",
	} {
		address := &url.URL{Scheme: "http", Host: host + ":" + portText(port)}
		if zoned, err := url.Parse(address.Scheme + "://" + host + ":" + portText(port)); err == nil {
			address = zoned
		}
		request := (&http.Request{Method: http.MethodGet, URL: address, Header: http.Header{}}).WithContext(t.Context())
		response, err := Policy{}.Client().Do(request)
		if response != nil {
			require.NoError(t, response.Body.Close())
		}
		require.ErrorContains(t, err, want, host)
		if strings.Contains(want, "public") {
			var refused *AddressError
			require.ErrorAs(t, err, &refused, host)
			assert.Contains(t, err.Error(), Setting, host)
			assert.Contains(t, err.Error(), refused.Address.String(), host)
		}
	}
}

func portText(port uint16) string {
	_, text, _ := strings.Cut(netip.AddrPortFrom(netip.IPv4Unspecified(), port).String(), ":")
	return text
}

func TestErrorSaysHowToAllow(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1":        "add loopback to the setting PROVIDER_PRIVATE_ADDRESSES",
		"10.0.0.5":         "add 10.0.0.5/32 to the setting",
		"::ffff:10.0.0.5":  "add 10.0.0.5/32 to the setting",
		"fe80::1%eth0":     "add fe80::1/128 to the setting",
		"64:ff9b::a00:5":   "(NAT64 form of 10.0.0.5, which is private)",
		"2002:a9fe:a9fe::": "(6to4 form of 169.254.169.254, which is cloud metadata)",
	} {
		err := Policy{}.check("model.example", netip.AddrPortFrom(netip.MustParseAddr(addr), 443).String())
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "to which model.example resolves")
	}
}

// names is a DNS server whose answers for IPv4 are taken in turn; the last one stays.
type names struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
}

func (n *names) next() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := n.answers[min(n.asked, len(n.answers)-1)]
	n.asked++
	return answer
}

func (n *names) times() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// resolver returns a resolver that asks the server.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 4096)
		for {
			size, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buffer[:size]) != nil {
				continue
			}
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: query.ID, Response: true}, Questions: query.Questions}
			if question := query.Questions[0]; question.Type == dnsmessage.TypeA {
				for _, addr := range n.next() {
					reply.Answers = append(reply.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addr).As4()},
					})
				}
			}
			packed, err := reply.Pack()
			if err != nil {
				return
			}
			if _, err := conn.WriteTo(packed, from); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestClientChecksTheAddressThatItDials(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.Host }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	get := func(client *http.Client) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model.example:"+port, nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		if err == nil {
			require.NoError(t, response.Body.Close())
		}
		return err
	}

	// Stands for a public address: the policy allows it and nothing else that is not public.
	policy, err := Parse("127.0.0.1/32")
	require.NoError(t, err)

	rebinding := &names{answers: [][]string{{"127.0.0.1"}, {"127.0.0.2"}}}
	client := policy.client(rebinding.resolver(t))
	client.Transport.(*http.Transport).DisableKeepAlives = true
	require.NoError(t, get(client))
	assert.Equal(t, "model.example:"+port, <-reached)
	var refused *AddressError
	require.ErrorAs(t, get(client), &refused, "the second answer is another address")
	assert.Equal(t, "127.0.0.2", refused.Address.String())
	assert.Equal(t, "model.example", refused.Host)
	assert.Equal(t, 2, rebinding.times(), "each connection asks once")

	mixed := &names{answers: [][]string{{"127.0.0.2", "127.0.0.1"}}}
	require.NoError(t, get(policy.client(mixed.resolver(t))), "an allowed address beside another one")
	<-reached
	assert.Empty(t, reached)
}

func TestClientFollowsNoRedirects(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	policy, err := Parse("loopback")
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
	require.NoError(t, err)
	response, err := policy.Client().Do(request)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusTemporaryRedirect, response.StatusCode)
}

func TestClientUsesNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	policy, err := Parse("10.0.0.0/8")
	require.NoError(t, err)
	resolver := (&names{answers: [][]string{{"127.0.0.1"}}}).resolver(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model.example", nil)
	require.NoError(t, err)
	response, err := policy.client(resolver).Do(request)
	if response != nil {
		require.NoError(t, response.Body.Close())
	}
	var refused *AddressError
	require.ErrorAs(t, err, &refused)
}
