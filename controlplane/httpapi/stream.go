package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
)

const (
	// streamBeat is the interval of keep-alive comments.
	streamBeat = 15 * time.Second
	// streamCheck is the interval at which access is checked again: a revoked key ends a stream within 5 seconds.
	streamCheck = 3 * time.Second
	// streamLife is the maximum life of a stream, so that clients spread over the current replicas.
	streamLife = time.Hour
)

type streamHandlers struct {
	runs watcher
}

type watcher interface {
	Watch(ctx context.Context, in access.Projects, f runs.Filter, from time.Time) (*runs.Watch, error)
}

// StreamRuns streams runs as they appear or change.
func (h streamHandlers) StreamRuns(ctx context.Context, req contract.StreamRunsRequestObject) (contract.StreamRunsResponseObject, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	var from time.Time
	if id := valueOf(req.Params.LastEventID, ""); id != "" {
		ms, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse Last-Event-ID: %w", err) // the document's pattern allows only digits
		}
		from = time.UnixMilli(ms)
	}
	watch, err := h.runs.Watch(ctx, grantOf(ctx).Projects, filter, from)
	missed := errors.Is(err, runs.ErrWatchTooOld)
	if missed {
		watch, err = h.runs.Watch(ctx, grantOf(ctx).Projects, filter, time.Time{})
	}
	if err != nil {
		return nil, err
	}
	return &runStream{ctx: ctx, watch: watch, missed: missed, target: access.Target{Project: req.Params.ProjectId}}, nil
}

// runStream writes the changes of a watch as events.
type runStream struct {
	ctx    context.Context
	watch  *runs.Watch
	missed bool
	target access.Target

	w  http.ResponseWriter
	rc *http.ResponseController
}

// changes is a result of [runs.Watch.Next].
type changes struct {
	runs []runs.Run
	at   time.Time
	err  error
}

// VisitStreamRunsResponse writes events until the client disconnects, loses access or is too slow.
func (s *runStream) VisitStreamRunsResponse(w http.ResponseWriter) error {
	ctx, cancel := context.WithTimeout(s.ctx, streamLife)
	changed := make(chan changes)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var c changes
			c.runs, c.at, c.err = s.watch.Next(ctx)
			select {
			case changed <- c:
			case <-ctx.Done():
				return
			}
			if c.err != nil {
				return
			}
		}
	}()
	defer func() {
		cancel()
		s.watch.Close()
		<-ended
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s.w, s.rc = w, http.NewResponseController(w)
	return s.serve(ctx, changed)
}

func (s *runStream) serve(ctx context.Context, changed <-chan changes) error {
	first := "ready"
	if s.missed {
		first = "reset"
	}
	if err := s.event(first, s.watch.From, []byte("{}")); err != nil {
		return err
	}
	beat, check := time.NewTicker(streamBeat), time.NewTicker(streamCheck)
	defer beat.Stop()
	defer check.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			err = s.write([]byte(": alive\n\n"))
		case <-check.C:
			if refused := callOf(ctx).recheck(ctx, s.target); refused != nil {
				return s.end(refused)
			}
		case c := <-changed:
			switch {
			case errors.Is(c.err, runs.ErrWatchBehind):
				return s.event("reset", time.Time{}, []byte("{}"))
			case c.err != nil && ctx.Err() != nil:
				return nil
			case c.err != nil:
				return s.end(c.err)
			}
			err = s.send(c)
		}
		if err != nil {
			return err
		}
	}
}

func (s *runStream) send(c changes) error {
	for i := range c.runs {
		text, err := json.Marshal(runOf(&c.runs[i]))
		if err != nil {
			return fmt.Errorf("encode run: %w", err)
		}
		position := c.at
		if i < len(c.runs)-1 {
			position = time.Time{} // a client that is cut off here has not received the rest
		}
		if err := s.event("run", position, text); err != nil {
			return err
		}
	}
	return nil
}

// end sends the reason why the stream ends.
func (s *runStream) end(why error) error {
	text, err := json.Marshal(problemOf(why).Document(callOf(s.ctx).id))
	if err != nil {
		return fmt.Errorf("encode problem: %w", err)
	}
	return s.event("end", time.Time{}, text)
}

// event writes one event. At a zero position it has no id, and the client keeps its last one. JSON has no line breaks.
func (s *runStream) event(name string, position time.Time, data []byte) error {
	var text []byte
	if !position.IsZero() {
		text = fmt.Appendf(text, "id: %d\n", position.UnixMilli())
	}
	return s.write(fmt.Appendf(text, "event: %s\ndata: %s\n\n", name, data))
}

func (s *runStream) write(text []byte) error {
	if err := callOf(s.ctx).extend(s.rc); err != nil {
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
