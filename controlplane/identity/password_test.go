package identity

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var cheap = Cost{MemoryKiB: 64, Passes: 1, Threads: 1}

func TestHasher(t *testing.T) {
	t.Parallel()
	h := newHasher(cheap)
	one, err := h.hash(t.Context(), "secret")
	require.NoError(t, err)
	two, err := h.hash(t.Context(), "secret")
	require.NoError(t, err)
	assert.NotEqual(t, one, two)
	assert.True(t, strings.HasPrefix(one, "$argon2id$v=19$m=64,t=1,p=1$"), one)

	ok, stale, err := h.verify(t.Context(), "secret", one)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.False(t, stale)
	ok, _, err = h.verify(t.Context(), "Secret", one)
	require.NoError(t, err)
	assert.False(t, ok)

	ok, stale, err = newHasher(Cost{MemoryKiB: 128, Passes: 1, Threads: 1}).verify(t.Context(), "secret", one)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.True(t, stale, "the cost has changed")

	ok, _, err = h.verify(t.Context(), "", h.dummy)
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestHasherReadsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	// From the tests of the reference implementation (phc-winner-argon2, test.c).
	const reference = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	ok, _, err := newHasher(cheap).verify(t.Context(), "password", reference)
	require.NoError(t, err)
	assert.True(t, ok)
}

func TestHasherIsBounded(t *testing.T) {
	t.Parallel()
	h := newHasher(cheap)
	for range maxConcurrentHashes {
		require.NoError(t, h.acquire(t.Context()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.hash(ctx, "secret")
	require.ErrorIs(t, err, context.Canceled)
	h.release()
	_, err = h.hash(t.Context(), "secret")
	require.NoError(t, err)
}

func FuzzDecodeHash(f *testing.F) {
	f.Add(newHasher(cheap).dummy)
	f.Add("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4")
	f.Add("$argon2id$v=19$m=4294967295,t=1,p=255$$")
	f.Fuzz(func(t *testing.T, text string) {
		c, salt, sum, err := decodeHash(text)
		if err != nil {
			return
		}
		if encodeHash(c, salt, sum) != text {
			t.Errorf("%q is read as %q", text, encodeHash(c, salt, sum))
		}
		if c.MemoryKiB > maxCost.MemoryKiB || c.Passes > maxCost.Passes || c.Threads > maxCost.Threads {
			t.Errorf("%q asks for too much", text)
		}
	})
}
