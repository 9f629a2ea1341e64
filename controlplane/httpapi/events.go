package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
)

const (
	// streamBeat is the interval of keep-alive comments.
	streamBeat = 15 * time.Second
	// streamCheck is the interval at which access is checked again: a revoked key ends a stream within 5 seconds.
	streamCheck = 3 * time.Second
	// eventTimeout limits how long a client takes to read an event.
	eventTimeout = 30 * time.Second
	// streamLife is the maximum life of a stream, so that clients spread over the current replicas.
	streamLife = time.Hour
)

// eventStream writes server-sent events.
type eventStream struct {
	ctx context.Context
	w   http.ResponseWriter
	rc  *http.ResponseController
}

func newEventStream(ctx context.Context, w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &eventStream{ctx, w, http.NewResponseController(w)}
}

// follow calls next again and again, and passes its results to send, until the client disconnects or loses access to
// the target, the stream is too old, or send returns false or an error.
func follow[T any](s *eventStream, target access.Target, next func(context.Context) T, send func(T) (bool, error)) error {
	ctx, cancel := context.WithTimeout(s.ctx, streamLife)
	results := make(chan T)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			result := next(ctx)
			select {
			case results <- result:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		<-ended
	}()
	beat, check := time.NewTicker(streamBeat), time.NewTicker(streamCheck)
	defer beat.Stop()
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err := s.write([]byte(": alive\n\n")); err != nil {
				return err
			}
		case <-check.C:
			if refused := callOf(ctx).recheck(ctx, target); refused != nil {
				return s.end(refused)
			}
		case result := <-results:
			if ctx.Err() != nil {
				return nil
			}
			if more, err := send(result); err != nil || !more {
				return err
			}
		}
	}
}

// end sends the reason why the stream ends.
func (s *eventStream) end(why error) error {
	text, err := json.Marshal(problemOf(why).Document(callOf(s.ctx).id))
	if err != nil {
		return fmt.Errorf("encode problem: %w", err)
	}
	return s.event("end", time.Time{}, text)
}

// event writes one event. At a zero position it has no id, and the client keeps its last one. JSON has no line breaks.
func (s *eventStream) event(name string, position time.Time, data []byte) error {
	var text []byte
	if !position.IsZero() {
		text = fmt.Appendf(text, "id: %d\n", position.UnixMilli())
	}
	return s.write(fmt.Appendf(text, "event: %s\ndata: %s\n\n", name, data))
}

func (s *eventStream) write(text []byte) error {
	// A client that does not read must not hold what makes the events, even if the operation's other answers may take longer.
	if err := extendBy(s.rc, min(callOf(s.ctx).operation.writeTimeout, eventTimeout)); err != nil {
		return err
	}
	if _, err := s.w.Write(text); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
