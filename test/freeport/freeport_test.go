package freeport

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// triedVariable makes the test binary a process that tries to reserve ports and prints the result.
const triedVariable = "FREEPORT_TEST_TRY"

func TestMain(m *testing.M) {
	if tried := os.Getenv(triedVariable); tried != "" {
		for text := range strings.SplitSeq(tried, ",") {
			port, err := strconv.Atoi(text)
			if err != nil {
				panic(err)
			}
			if held, err := Hold(port); held || err != nil {
				_, _ = os.Stdout.WriteString(text + "\n")
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestHeldUntilTheEnd checks that no process can reserve a port again, although nobody listens on it.
func TestHeldUntilTheEnd(t *testing.T) {
	t.Parallel()
	addresses := Take(t, 200)
	seen := map[string]bool{}
	var taken []string
	for _, a := range addresses {
		assert.False(t, seen[a], a)
		seen[a] = true
		_, port, err := net.SplitHostPort(a)
		require.NoError(t, err)
		taken = append(taken, port)
		n, err := strconv.Atoi(port)
		require.NoError(t, err)
		held, err := Hold(n)
		require.NoError(t, err)
		assert.False(t, held, a)
		listener, err := net.Listen("tcp", a)
		require.NoError(t, err, "it is free to be listened on")
		require.NoError(t, listener.Close())
	}
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), triedVariable+"="+strings.Join(taken, ","))
	got, err := other.Output()
	require.NoError(t, err)
	assert.Empty(t, string(got))
}

// TestUsedByAnother checks that a port with a listener is not reserved, nor those requested with it.
func TestUsedByAnother(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	used := listener.Addr().(*net.TCPAddr).Port
	_, text, err := net.SplitHostPort(Take(t, 1)[0])
	require.NoError(t, err)
	mine, err := strconv.Atoi(text)
	require.NoError(t, err)
	other := mine + 1
	for {
		held, err := Hold(other, used)
		require.NoError(t, err)
		require.False(t, held)
		if held, err = Hold(other); err == nil && held {
			break // the failed attempt before released it
		}
		require.Less(t, other, Highest)
		other++
	}
}
