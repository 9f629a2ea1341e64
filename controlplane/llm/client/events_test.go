package client

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(stream io.Reader) (data []string, err error) {
	for event, failed := range events(stream) {
		if failed != nil {
			return data, failed
		}
		data = append(data, string(event.data))
	}
	return data, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"names, ids, comments and unknown fields", "event: x\nid: 1\nretry: 5\n: hello\nother: y\ndata: a\n\n:\n\ndata: b\n\n", []string{"a", "b"}},
		{"one space goes", "data:a\n\ndata: b\n\ndata:  {\"c\": 1}\n\n", []string{"a", "b", `{"c": 1}`}},
		{"several lines are one event", "data: {\ndata: }\n\n", []string{"{\n}"}},
		{"lines end as they do elsewhere", "data: a\r\n\r\ndata: b\n\n", []string{"a", "b"}},
		{"without data", "data\n\ndata:\n\ndata: \n\nevent: x\n\n\n\ndata: a\n\n", []string{"a"}},
		{"a colon in the data", "data: a: b\n\n", []string{"a: b"}},
		{"a byte order mark", "\ufeffdata: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"cut off", "data: a\n\ndata: b\n", []string{"a"}},
	} {
		got, err := read(strings.NewReader(test.stream))
		require.NoError(t, err, test.name)
		assert.Equal(t, test.want, got, test.name)
		got, err = read(iotest.OneByteReader(strings.NewReader(test.stream)))
		require.NoError(t, err, test.name)
		assert.Equal(t, test.want, got, test.name)
	}
}

func TestEventsOfBrokenStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n\ndata: c"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	assert.Equal(t, []string{"a", "b"}, got)
	_, err = read(io.MultiReader(strings.NewReader("data: "), io.LimitReader(endless{}, 3*maxLine)))
	require.ErrorContains(t, err, "too long")
	for range events(strings.NewReader("data: a\n\ndata: b\n\n")) {
		break // the caller may stop early
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzEvents reads any stream: however it is cut into reads, its events are the same, and none is empty.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: x\ndata: a\ndata: b\n\n: c\r\n\r\ndata:d\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, err := read(bytes.NewReader(stream))
		require.NoError(t, err)
		halves, err := read(iotest.HalfReader(bytes.NewReader(stream)))
		require.NoError(t, err)
		require.Equal(t, whole, halves)
		for _, event := range whole {
			require.NotEmpty(t, strings.TrimSpace(event))
			require.Contains(t, string(stream), "data")
		}
	})
}
