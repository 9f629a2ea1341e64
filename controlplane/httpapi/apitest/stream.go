package apitest

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Event is one server-sent event.
type Event struct{ ID, Name, Data string }

// Stream reads the events of a stream until it ends.
type Stream struct {
	Status int
	Events chan Event
	Close  context.CancelFunc
}

// OpenStream asks for a stream, which ends with the test.
func OpenStream(t *testing.T, url string, options ...Option) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	for _, o := range options {
		o(r)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	s := &Stream{Status: resp.StatusCode, Events: make(chan Event, 100), Close: cancel}
	go func() {
		defer close(s.Events)
		defer resp.Body.Close()
		var e Event
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "id":
				e.ID = value
			case "event":
				e.Name = value
			case "data":
				e.Data = value
			case "":
				if value == "" && e.Name != "" {
					s.Events <- e
				}
				e = Event{}
			}
		}
	}()
	return s
}

// Next returns the next event.
func (s *Stream) Next(t *testing.T) Event {
	t.Helper()
	select {
	case e, open := <-s.Events:
		require.True(t, open, "the stream has ended")
		return e
	case <-time.After(time.Minute):
		require.Fail(t, "no event came")
		return Event{}
	}
}
