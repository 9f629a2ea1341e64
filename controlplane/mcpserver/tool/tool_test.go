package tool

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// TestPanicOfATool is an error of the call: the process goes on.
func TestPanicOfATool(t *testing.T) {
	t.Parallel()
	body, err := recovered(func() ([]byte, error) { return jsontext.MustEncode(math.NaN()), nil })
	require.ErrorContains(t, err, "unsupported value: NaN")
	require.Empty(t, body)
	body, err = recovered(func() ([]byte, error) { return []byte("{}"), nil })
	require.NoError(t, err)
	require.Equal(t, "{}", string(body))
}
