package deadletters

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, ünïcode, 日本":       "plain, ünïcode, 日本",
		"\x1b]0;title\x07":         `\x1b]0;title\x07`,
		"a\nb\tc\rd":               `a\nb\tc\x0dd`,
		"c1 \u009b31m":             `c1 \u009b31m`,
		"bidi \u202egnp":           `bidi \u202egnp`,
		"tag \U000e0041":           `tag \udb40\udc41`,
		"broken \xff\xc3":          `broken \xff\xc3`,
		"replacement \ufffd stays": "replacement \ufffd stays",
	} {
		assert.Equal(t, want, escape(text))
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range escape(text) {
			require.True(t, unicode.IsPrint(r), "%q", r)
		}
		raw, err := json.Marshal(text)
		require.NoError(t, err)
		escaped := escapeJSON(string(raw))
		for _, r := range escaped {
			require.True(t, unicode.IsPrint(r) || r == '\n', "%q", r)
		}
		var want, got string
		require.NoError(t, json.Unmarshal(raw, &want))
		require.NoError(t, json.Unmarshal([]byte(escaped), &got))
		require.Equal(t, want, got)
	})
}

func TestParseLocation(t *testing.T) {
	t.Parallel()
	got, err := parseLocation("3:17")
	require.NoError(t, err)
	assert.Equal(t, location{3, 17}, got)
	for _, text := range []string{"", "3", "3:", ":3", "-1:3", "3:-1", "a:b", "3:17:1", "99999999999:1"} {
		_, err := parseLocation(text)
		require.Error(t, err, text)
	}
}

// The set has exactly the offsets that were added, in any order, and parsing its note restores it.
func TestDone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const size = 40
		var d done
		want := map[int64]bool{}
		for _, offset := range random.Perm(size)[:random.IntN(size+1)] {
			d.add(int64(offset), 0)
			want[int64(offset)] = true
		}
		back, err := parseDone(d.below, d.note())
		require.NoError(t, err)
		for offset := range int64(size) {
			require.Equal(t, want[offset], d.has(offset))
			require.Equal(t, want[offset], back.has(offset))
		}
		if len(want) == size {
			require.Equal(t, done{below: size}, d)
		}
	}
}

func TestDoneForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	var d done
	d.add(7, 7)
	assert.Equal(t, done{below: 8}, d)
}

func TestDoneFitsItsNote(t *testing.T) {
	t.Parallel()
	var d done
	for offset := int64(1); offset < 10_000; offset += 2 {
		d.add(offset, 0)
	}
	note := d.note()
	assert.LessOrEqual(t, len(note), maxMetadata)
	back, err := parseDone(d.below, note)
	require.NoError(t, err)
	assert.True(t, back.has(1))
	assert.False(t, back.has(9_999))
}

func FuzzParseDone(f *testing.F) {
	f.Add(int64(3), "5,7-9")
	f.Fuzz(func(t *testing.T, below int64, note string) {
		d, err := parseDone(below, note)
		if err != nil {
			return
		}
		_, err = parseDone(d.below, d.note())
		require.NoError(t, err)
	})
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, ok := range map[string]bool{"y\n": true, "Yes\n": true, "y": true, "\n": false, "": false, "no\n": false} {
		var out strings.Builder
		err := confirm(strings.NewReader(answer), &out, "Redrive?")
		assert.Equal(t, ok, err == nil, answer)
		assert.Equal(t, "Redrive? [y/N] ", out.String())
	}
	in, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close(); _ = out.Close() })
	require.ErrorContains(t, confirm(in, io.Discard, "Redrive?"), "--yes")
}
