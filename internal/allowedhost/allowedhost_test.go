package allowedhost

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func environment(settings map[string]string) func(string) string {
	return func(name string) string { return settings[name] }
}

func TestAllows(t *testing.T) {
	t.Parallel()
	configured, err := FromEnvironment(environment(map[string]string{
		Setting:      " Looptrace.LAN. , 192.168.1.7:7090,,[2001:DB8::7], my_web",
		"PUBLIC_URL": "https://looptrace.example.com:8443/",
		"WEB_URL":    "http://web:7090",
	}))
	require.NoError(t, err)
	for host, want := range map[string]struct{ alone, configured bool }{
		"localhost":                       {true, true},
		"LocalHost.:7090":                 {true, true},
		"localhost:":                      {true, true},
		"127.0.0.1":                       {true, true},
		"127.200.3.4:80":                  {true, true},
		"[::1]":                           {true, true},
		"[::1]:7090":                      {true, true},
		"[0:0:0:0:0:0:0:1]:7090":          {true, true},
		"[::ffff:127.0.0.1]:7090":         {true, true},
		"looptrace.lan":                   {false, true},
		"LOOPTRACE.lan.:443":              {false, true},
		"192.168.1.7:1":                   {false, true},
		"[2001:db8::7]:7090":              {false, true},
		"my_web":                          {false, true},
		"looptrace.example.com":           {false, true},
		"web:7090":                        {false, true},
		"":                                {false, false},
		":7090":                           {false, false},
		".":                               {false, false},
		"localhost..":                     {false, false},
		"evil.example":                    {false, false},
		"localhost.evil.example":          {false, false},
		"127.0.0.1.evil.example":          {false, false},
		"evil.looptrace.example.com":      {false, false},
		"128.0.0.1":                       {false, false},
		"0.0.0.0:7090":                    {false, false},
		"127.1":                           {false, false},
		"0x7f000001":                      {false, false},
		"2130706433":                      {false, false},
		"::1":                             {false, false},
		"[::1":                            {false, false},
		"[::1]x":                          {false, false},
		"[::1]:7090:1":                    {false, false},
		"[::1%25lo]:7090":                 {false, false},
		"[127.0.0.1]":                     {false, false},
		"localhost:port":                  {false, false},
		"localhost:99999":                 {false, false},
		"localhost:-1":                    {false, false},
		"user@localhost":                  {false, false},
		"localhost:80@evil.example":       {false, false},
		"localhost/":                      {false, false},
		"localhost evil":                  {false, false},
		"localhost\x00":                   {false, false},
		"localhoſt":                       {false, false},
		"ｌocalhost":                       {false, false},
		"localhost。":                      {false, false},
		strings.Repeat("a.", 200) + "lan": {false, false},
	} {
		assert.Equal(t, want.alone, List{}.Allows(host), "%q", host)
		assert.Equal(t, want.configured, configured.Allows(host), "configured: %q", host)
	}
}

func TestNameIsASCII(t *testing.T) {
	t.Parallel()
	name, ok := Name("\u212a8s") // its lower case is k8s
	assert.False(t, ok, name)
}

func TestAllowsOrigin(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]bool{
		"http://localhost:7090":         true,
		"https://127.0.0.1":             true,
		"http://[::1]:3000":             true,
		"null":                          false,
		"":                              false,
		"localhost":                     false,
		"http://evil.example":           false,
		"http://localhost@evil.example": false,
		"http://\x00":                   false,
	} {
		assert.Equal(t, want, List{}.AllowsOrigin(origin), "%q", origin)
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	_, err := FromEnvironment(environment(map[string]string{
		Setting: "http://looptrace.lan,*,ok.example", "PUBLIC_URL": "https://büro.example", "WEB_URL": "http://[::1",
	}))
	for _, text := range []string{
		`ALLOWED_HOSTS has "http://looptrace.lan" and must have names or addresses`, `ALLOWED_HOSTS has "*"`,
		`PUBLIC_URL is "https://büro.example" and must name a host in ASCII`, `WEB_URL is "http://[::1" and must be an address`,
	} {
		require.ErrorContains(t, err, text)
	}
	assert.NotContains(t, err.Error(), `has "ok.example"`)
}

// TestPathsAreRefused: the UI and the API are served at the root of a host.
func TestPathsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PUBLIC_URL", "WEB_URL"} {
		_, err := FromEnvironment(environment(map[string]string{name: "https://example.com/looptrace/"}))
		require.ErrorContains(t, err, name+` is "https://example.com/looptrace/" and must have no path`)
		_, err = FromEnvironment(environment(map[string]string{name: "https://looptrace.example.com/"}))
		require.NoError(t, err)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Without a key, Looptrace answers to its own names only, and 192.168.1.7 is none of them. If it should be, add it to the "+
		"setting ALLOWED_HOSTS of web and of the control plane (ALLOWED_HOSTS=192.168.1.7, several with commas between) and start them again.",
		Refusal("192.168.1.7:7090"))
	assert.Equal(t, `The request names the host "<b>\n", which is neither a name nor an address. Without a key, Looptrace answers to its own names only.`,
		Refusal("<b>\n"))
	assert.Less(t, len(Refusal(strings.Repeat("/", 60_000))), 500)
}

// FuzzName checks that an allowed name is a configured or a loopback name, has only characters of a Host, and maps to
// itself.
func FuzzName(f *testing.F) {
	for _, host := range []string{
		"localhost:7090", "[::1]:7090", "127.0.0.1", "a@localhost", "LOCALHOST.", "", ":", "[", "[::ffff:127.0.0.1]", "büro.example", "a:b:c", "1.2.3.4:65536",
	} {
		f.Add(host)
	}
	list, err := FromEnvironment(environment(map[string]string{Setting: "looptrace.lan"}))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, host string) {
		_ = Refusal(host)
		name, ok := Name(host)
		if !ok {
			assert.False(t, list.Allows(host))
			return
		}
		written := name
		if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
			written = "[" + name + "]"
		}
		again, ok := Name(written)
		assert.True(t, ok, "%q", written)
		assert.Equal(t, name, again)
		assert.NotContains(t, host, "@")
		assert.NotContains(t, host, "/")
		if list.Allows(host) && name != "localhost" && name != "looptrace.lan" {
			addr, err := netip.ParseAddr(name)
			require.NoError(t, err)
			assert.True(t, addr.IsLoopback())
		}
	})
}
