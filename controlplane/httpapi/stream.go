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

type streamHandlers struct {
	runs watcher
}

type watcher interface {
	Watch(ctx context.Context, in access.Projects, f runs.Filter, scoreNames []string, from time.Time) (*runs.Watch, error)
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
	watch, err := h.runs.Watch(ctx, grantOf(ctx).Projects, filter, valueOf(req.Params.ScoreName, nil), from)
	missed := errors.Is(err, runs.ErrWatchTooOld)
	if missed {
		watch, err = h.runs.Watch(ctx, grantOf(ctx).Projects, filter, valueOf(req.Params.ScoreName, nil), time.Time{})
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
}

// changes is a result of [runs.Watch.Next].
type changes struct {
	runs []runs.Run
	at   time.Time
	err  error
}

// VisitStreamRunsResponse writes events until the client disconnects, loses access or is too slow.
func (s *runStream) VisitStreamRunsResponse(w http.ResponseWriter) error {
	defer s.watch.Close()
	events := newEventStream(s.ctx, w)
	first := "ready"
	if s.missed {
		first = "reset"
	}
	if err := events.event(first, s.watch.From, []byte("{}")); err != nil {
		return err
	}
	next := func(ctx context.Context) changes {
		var c changes
		c.runs, c.at, c.err = s.watch.Next(ctx)
		return c
	}
	return follow(events, s.target, next, func(c changes) (bool, error) {
		switch {
		case errors.Is(c.err, runs.ErrWatchBehind):
			return false, events.event("reset", time.Time{}, []byte("{}"))
		case c.err != nil:
			return false, events.end(c.err)
		}
		return true, sendRuns(events, c)
	})
}

func sendRuns(events *eventStream, c changes) error {
	for i := range c.runs {
		text, err := json.Marshal(runOf(&c.runs[i]))
		if err != nil {
			return fmt.Errorf("encode run: %w", err)
		}
		position := c.at
		if i < len(c.runs)-1 {
			position = time.Time{} // a client that is cut off here has not received the rest
		}
		if err := events.event("run", position, text); err != nil {
			return err
		}
	}
	return nil
}
