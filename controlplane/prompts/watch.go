package prompts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// channel is where triggers of PostgreSQL tell what aliases stand for.
const channel = "looptrace_prompts"

const (
	// eventBuffer is how many events a watch may be behind.
	eventBuffer = 256
	// maxWatches is the maximum number of watches of a process in a project.
	maxWatches = 500
	// probeInterval and probeTimeout are for a connection on which nothing comes: one that hangs looks the same.
	probeInterval, probeTimeout = 5 * time.Second, 5 * time.Second
	minWait, maxWait            = 100 * time.Millisecond, 5 * time.Second
)

var (
	// ErrWatchBehind is returned if the reader of a watch is too slow.
	ErrWatchBehind    = &problem.Error{Kind: problem.Unavailable, Code: "stream_behind", Detail: "The client reads too slowly. Connect again."}
	errTooManyWatches = &problem.Error{
		Kind: problem.RateLimited, Code: "too_many_streams", Detail: fmt.Sprintf("The project has %d streams of prompts. Close some.", maxWatches), RetryAfter: time.Minute,
	}
)

// Event says what an alias stands for now.
type Event struct {
	ProjectID uuid.UUID `json:"project_id"`
	PromptID  uuid.UUID `json:"prompt_id"`
	// Name is the name of the prompt.
	Name string `json:"name"`
	// Alias is nil if the prompt was deleted.
	Alias *string `json:"alias"`
	// Version is nil if the alias was deleted.
	Version *int `json:"version"`
}

// Watch receives the events of projects from its beginning on.
type Watch struct {
	projects []uuid.UUID
	events   chan Event
	// ended is closed after err is set.
	ended chan struct{}
	err   error
	hub   *hub
}

// Watch returns a watch of the projects. The caller closes it. It returns [postgres.ErrUnavailable] while the database
// does not answer.
func (s *Service) Watch(grant access.Grant) (*Watch, error) {
	w := &Watch{projects: grant.IDs(), events: make(chan Event, eventBuffer), ended: make(chan struct{}), hub: s.watch}
	return w, s.watch.add(w)
}

// Next returns the next event. After an error there are no more: [ErrWatchBehind], [postgres.ErrUnavailable], or that of
// the context.
func (w *Watch) Next(ctx context.Context) (Event, error) {
	select {
	case event := <-w.events:
		return event, nil
	case <-w.ended:
		return Event{}, w.err
	case <-ctx.Done():
		return Event{}, fmt.Errorf("wait for an event: %w", ctx.Err())
	}
}

// Close ends the watch.
func (w *Watch) Close() { w.hub.remove(w) }

// hub listens once for all watches of the process.
type hub struct {
	pool *pgxpool.Pool
	log  *slog.Logger

	stop    context.CancelFunc
	stopped chan struct{}

	mu        sync.Mutex
	listening bool
	watches   map[*Watch]bool
}

func newHub(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) *hub {
	ctx, stop := context.WithCancel(ctx)
	h := &hub{pool: pool, log: log, stop: stop, stopped: make(chan struct{}), watches: map[*Watch]bool{}}
	go func() {
		defer close(h.stopped)
		h.run(ctx)
	}()
	return h
}

func (h *hub) close() {
	h.stop()
	<-h.stopped
}

// run listens until the context ends. Watches end with each connection: they cannot tell what they missed.
func (h *hub) run(ctx context.Context) {
	wait := minWait
	for {
		opened, err := h.listen(ctx)
		h.endAll()
		if ctx.Err() != nil {
			return
		}
		if opened {
			wait = minWait
		}
		h.log.DebugContext(ctx, "lost the channel of prompts", "error", err, "retry_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // spreads reconnects, guards nothing
		}
		wait = min(2*wait, maxWait)
	}
}

// listen passes events on until an error. opened is whether it began.
func (h *hub) listen(ctx context.Context) (opened bool, err error) {
	config := h.pool.Config().ConnConfig
	config.Tracer = nil // traces are of requests
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if err := h.probe(ctx, conn, "LISTEN "+channel); err != nil {
		return false, err
	}
	h.mu.Lock()
	h.listening = true
	h.mu.Unlock()
	for {
		waiting, cancel := context.WithTimeout(ctx, probeInterval)
		notification, err := conn.WaitForNotification(waiting)
		timedOut := waiting.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return true, fmt.Errorf("listen: %w", ctx.Err())
		case err != nil && timedOut:
			if err := h.probe(ctx, conn, "SELECT"); err != nil {
				return true, err
			}
			continue
		case err != nil:
			return true, fmt.Errorf("wait for a notification: %w", err)
		}
		var event Event
		if err := json.Unmarshal([]byte(notification.Payload), &event); err != nil {
			return true, fmt.Errorf("read a notification: %w", err)
		}
		h.send(event)
	}
}

func (h *hub) probe(ctx context.Context, conn *pgx.Conn, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (h *hub) add(w *Watch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.listening {
		return postgres.ErrUnavailable
	}
	for _, project := range w.projects {
		count := 0
		for other := range h.watches {
			if slices.Contains(other.projects, project) {
				count++
			}
		}
		if count >= maxWatches {
			return errTooManyWatches
		}
	}
	h.watches[w] = true
	return nil
}

func (h *hub) remove(w *Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
}

func (h *hub) send(event Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		if !slices.Contains(w.projects, event.ProjectID) {
			continue
		}
		select {
		case w.events <- event:
		default:
			h.end(w, ErrWatchBehind)
		}
	}
}

func (h *hub) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listening = false
	for w := range h.watches {
		h.end(w, postgres.ErrUnavailable)
	}
}

// end ends a watch. The caller holds the lock.
func (h *hub) end(w *Watch, err error) {
	delete(h.watches, w)
	w.err = err
	close(w.ended)
}
