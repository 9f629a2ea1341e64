package jsonpull

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const unlimited = 1 << 40

func TestText(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`null`, ` true `, "\tfalse\n", `0`, `-0.10e+5`, `12345678901234567890.10`, `""`, `"a\"\\\/\b\f\n\r\té😀"`,
		`[]`, `[ 1 , [ ] ]`, `" a \" b\\ "`, `[ " ]\\" , "\"" ]`, `{}`, `{ "a" : { "b" : [ null ] } }`, `{"a":1,"a":2}`,
	} {
		r := NewReader([]byte(in), 10, unlimited)
		got := r.Text()
		r.End()
		require.NoError(t, r.Err(), in)
		assert.Equal(t, strings.TrimSpace(in), string(got))

		var want bytes.Buffer
		require.NoError(t, json.Compact(&want, []byte(in)))
		assert.Equal(t, want.String(), NewReader([]byte(in), 10, unlimited).CompactText())
	}
}

func TestSyntaxError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in     string
		offset int
	}{
		{``, 0},
		{`nul`, 0},
		{`tru}`, 0},
		{`01`, 1},
		{`-`, 1},
		{`1.`, 2},
		{`1e`, 2},
		{`+1`, 0},
		{`"a`, 2},
		{`"\x"`, 1},
		{`"\u12g4"`, 1},
		{`"\`, 1},
		{"\"\n\"", 1},
		{"\"\xff\"", 0},
		{`[1 2]`, 3},
		{`[1,]`, 3},
		{`{"a"}`, 4},
		{`{a:1}`, 1},
		{`{"a":1,}`, 7},
		{`{"a":1]`, 6},
		{`{} x`, 3},
		{`{ `, 2},
	} {
		r := NewReader([]byte(tt.in), 10, unlimited)
		r.CompactText()
		r.End()
		var syntax *SyntaxError
		require.ErrorAs(t, r.Err(), &syntax, tt.in)
		assert.Equal(t, tt.offset, syntax.Offset, tt.in)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := NewReader([]byte(`[[[]]]`), 2, unlimited)
	r.Text()
	require.ErrorIs(t, r.Err(), ErrDepth)

	const weight = 7 + 4*valueWeight + containerWeight
	r = NewReader([]byte(`[1,2,3]`), 2, weight-1)
	r.Text()
	require.ErrorIs(t, r.Err(), ErrWeight)

	r = NewReader([]byte(`[1,2,3]`), 1, weight)
	r.Text()
	require.NoError(t, r.Err())
	assert.Equal(t, int64(weight), r.Weight())
}

func TestString(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"plain"`, `"\u00e9\n\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d\ude00"`, `"\"\\\/"`} {
		var want string
		require.NoError(t, json.Unmarshal([]byte(in), &want))
		r := NewReader([]byte(in), 1, unlimited)
		assert.Equal(t, want, r.String(), in)
		require.NoError(t, r.Err())
	}
}

// FuzzText compares the reader with encoding/json: the same texts are valid, and strings have the same value.
func FuzzText(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,true,false,null,"\u00e9\ud83d\ude00"]}`, `[[[`, `"\ud800"`, ` 0 `, `{"":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(in, 100, unlimited)
		r.Text()
		r.End()
		if errors.Is(r.Err(), ErrDepth) {
			return
		}
		if want := json.Valid(in) && utf8.Valid(in); want != (r.Err() == nil) {
			t.Fatalf("valid is %v, reader says %v", want, r.Err())
		}
		if r.Err() != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, in); err != nil {
			t.Fatal(err)
		}
		if got := NewReader(in, 100, unlimited).CompactText(); got != compact.String() {
			t.Fatalf("compacted to %q, encoding/json compacts to %q", got, compact.String())
		}
		if NewReader(in, 100, unlimited).Kind() != String {
			return
		}
		var want string
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatal(err)
		}
		if got := NewReader(in, 100, unlimited).String(); got != want {
			t.Fatalf("read %q, encoding/json reads %q", got, want)
		}
	})
}

// TestPlain compares the check of eight bytes at once with the check of each byte.
func TestPlain(t *testing.T) {
	t.Parallel()
	for at := range 20 {
		for c := range 256 {
			data := []byte(strings.Repeat("\x7f \xff~", 6))
			data[at] = byte(c)
			data[at+1] = '"'
			want := at + 1
			if c == '"' || c == '\\' || c < ' ' {
				want = at
			}
			require.Equal(t, want, plain(data, 0), "%q", data)
		}
	}
	require.Equal(t, 9, plain([]byte("123456789"), 0))
}

func FuzzString(f *testing.F) {
	for _, in := range []string{`plain and a "word"`, `a\"b\\`, `\\\\\"`, `\u00e9\n\x`, "tab\t", `#"#\]"`, "é\\", `01234567\n0123456\`} {
		f.Add(in, 3)
	}
	f.Fuzz(func(t *testing.T, in string, shift int) {
		if !utf8.ValidString(in) {
			return
		}
		for _, inside := range []string{in, strings.ReplaceAll(in, `"`, `\"`)} {
			text := `["` + strings.Repeat("-", shift&15) + inside + `", "behind"]`
			r := NewReader([]byte(text), 10, unlimited)
			r.Text()
			r.End()
			assert.Equal(t, json.Valid([]byte(text)), r.Err() == nil, "%q", text)

			var want []string
			if json.Unmarshal([]byte(text), &want) != nil {
				continue
			}
			var got []string
			r = NewReader([]byte(text), 10, unlimited)
			r.Array(func(int) { got = append(got, r.String()) })
			assert.Equal(t, want, got)
		}
	})
}
