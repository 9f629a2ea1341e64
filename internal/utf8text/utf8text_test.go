package utf8text

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 1, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"ab", 1, "…"},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
		{"日本語日本語", 4, "日本語…"},
		{"a\xff\xffb", 3, "a\xff…"},
		{"a\xff\xffb", 4, "a\xff\xffb"},
	} {
		assert.Equal(t, c.want, Cut(c.text, c.n), "%q, %d", c.text, c.n)
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 5, "abc"},
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"aä", 2, "a"},
		{"ä", 1, ""},
		{"日本", 5, "日"},
		{"日本", 6, "日本"},
		{"a😀", 4, "a"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
	} {
		assert.Equal(t, c.want, Bytes(c.text, c.n), "%q, %d", c.text, c.n)
	}
}

func TestRuneStart(t *testing.T) {
	const text = "aä日"
	for i, want := range [][2]int{{0, 0}, {1, 1}, {1, 3}, {3, 3}, {3, 6}, {3, 6}, {6, 6}, {6, 6}} {
		assert.Equal(t, want, [2]int{RuneStart(text, i), NextRuneStart(text, i)}, "%d", i)
	}
}

func TestStorable(t *testing.T) {
	for text, want := range map[string]string{"": "", "ä日": "ä日", "a\x00b": "a\uFFFDb", "a\xff\xfeb": "a\uFFFDb", "a\x00\xffb": "a\uFFFD\uFFFDb"} {
		assert.Equal(t, want, Storable(text), "%q", text)
	}
}
