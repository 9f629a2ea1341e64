package apikey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// known is a fixed key that detects changes of the format: existing keys must stay valid.
const known = "lt_0123456789ABCDEF.0000000000abcdefghijklmnopqrstuvwxyzABCDEFG"

func TestMintedKeysParse(t *testing.T) {
	t.Parallel()
	scanner := regexp.MustCompile(`^\blt_[0-9A-Za-z]{16}\.[0-9A-Za-z]{49}\b$`)
	seen := map[string]bool{}
	for range 1000 {
		minted := Mint()
		require.Regexp(t, scanner, minted.Reveal())
		parsed, err := Parse(minted.Reveal())
		require.NoError(t, err)
		require.Equal(t, minted.Reveal(), parsed.Reveal())
		require.Equal(t, minted.PublicID(), parsed.PublicID())
		hash := minted.Hash()
		require.True(t, parsed.Matches(hash[:]))
		require.False(t, seen[minted.PublicID()], "public id repeated")
		seen[minted.PublicID()] = true
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := known + checksum(known)
	tests := map[string]struct {
		text string
		want error
	}{
		"good":                    {text: good},
		"empty":                   {text: "", want: ErrMalformed},
		"prefix only":             {text: "lt_", want: ErrMalformed},
		"other prefix":            {text: "xx_" + good[3:], want: ErrMalformed},
		"cut off":                 {text: good[:len(good)-1], want: ErrMalformed},
		"one more":                {text: good + "0", want: ErrMalformed},
		"space around":            {text: " " + good + " ", want: ErrMalformed},
		"no dot":                  {text: strings.Replace(good, ".", "_", 1), want: ErrMalformed},
		"wrong checksum":          {text: good[:len(good)-1] + "!", want: ErrMalformed},
		"typo in the public id":   {text: strings.Replace(good, "0123", "0124", 1), want: ErrMalformed},
		"two characters swapped":  {text: strings.Replace(good, "abcd", "bacd", 1), want: ErrMalformed},
		"not base62, public id":   {text: withChecksum("lt_0123456789ABCDE-.0000000000abcdefghijklmnopqrstuvwxyzABCDEFG"), want: ErrMalformed},
		"not base62, secret":      {text: withChecksum("lt_0123456789ABCDEF.0000000000abcdefghijklmnopqrstuvwxyzABCDEF/"), want: ErrMalformed},
		"a multi-byte character":  {text: withChecksum("lt_0123456789ABCDEF.0000000000abcdefghijklmnopqrstuvwxyzABCDEé"), want: ErrMalformed},
		"checksum in lower case":  {text: known + strings.ToLower(checksum(known)), want: ErrMalformed},
		"the redacted form of it": {text: Key{text: good}.String(), want: ErrMalformed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := Parse(tt.text)
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil {
				assert.Equal(t, "0123456789ABCDEF", key.PublicID())
			}
		})
	}
}

func withChecksum(text string) string { return text + checksum(text) }

// The expected values were computed by a different implementation (Python's zlib and hashlib).
func TestFormIsFixed(t *testing.T) {
	t.Parallel()
	key, err := Parse(known + "18VSB3")
	require.NoError(t, err)
	assert.Equal(t, "1ee13f24e5b9986afa1e15616d1fef53c41c4df7c9abe021e22cb4cad3adbdfb", fmt.Sprintf("%x", key.Hash()))
}

func TestMatches(t *testing.T) {
	t.Parallel()
	key, other := Mint(), Mint()
	hash, otherHash := key.Hash(), other.Hash()
	assert.True(t, key.Matches(hash[:]))
	assert.False(t, key.Matches(otherHash[:]))
	assert.False(t, key.Matches(nil))
	assert.False(t, key.Matches(hash[:31]))
	assert.False(t, key.Matches(make([]byte, 32)))
	assert.False(t, Key{}.Matches(make([]byte, 32)), "no key matches nothing")
}

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	key := Mint()
	secret := key.Reveal()[secretStart:secretEnd]
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "nested", struct{ Key Key }{key})
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "nested", struct{ Key Key }{key})
	encoded, err := json.Marshal(map[string]any{"key": key})
	require.NoError(t, err)
	printed := log.String() + string(encoded) + fmt.Sprint(key, &key)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		printed += fmt.Sprintf(verb, key) + fmt.Sprintf(verb, struct{ Key Key }{key})
	}
	assert.NotContains(t, printed, secret)
	assert.NotContains(t, printed, fmt.Sprintf("%x", secret))
	assert.Contains(t, printed, key.PublicID())
	assert.Equal(t, "no key", Key{}.String())
}

func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add(known)
	f.Add(known + checksum(known))
	f.Add(Mint().Reveal())
	f.Fuzz(func(t *testing.T, text string) {
		key, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			require.Equal(t, Key{}, key)
			return
		}
		require.Equal(t, text, key.Reveal())
		require.Len(t, key.PublicID(), publicIDLength)
		hash := key.Hash()
		require.True(t, key.Matches(hash[:]))
	})
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for _, scope := range Scopes() {
		assert.True(t, ValidScope(scope), scope)
		assert.True(t, Allows([]string{scope}, scope), scope)
		assert.True(t, Allows([]string{ScopeAdmin}, scope), scope)
	}
	for _, scope := range []string{"", "ingest", "Ingest:write", "ingest:read", "*"} {
		assert.False(t, ValidScope(scope), scope)
	}
	assert.False(t, Allows([]string{ScopeRunsRead}, ScopeRunsWrite))
	assert.False(t, Allows(nil, ScopeIngestWrite))

	Scopes()[0] = "changed"
	assert.Equal(t, ScopeIngestWrite, Scopes()[0], "the list is the caller's own")
}
