package prompts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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

// eventBuffer is how many events a watch may be behind.
const eventBuffer = 256

// ErrWatchBehind is returned if the reader of a watch is too slow.
var ErrWatchBehind = &problem.Error{Kind: problem.Unavailable, Code: "stream_behind", Detail: "The client reads too slowly. Connect again."}

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

	mu        sync.Mutex
	listening bool
	watches   map[*Watch]bool
}

// run listens until the context ends. Watches end with each connection: they cannot tell what they missed.
func (h *hub) run(ctx context.Context) {
	config := h.pool.Config().ConnConfig
	config.Tracer = nil // traces are of requests
	postgres.Listener{
		Config: config, Channel: channel,
		Opened: func(context.Context, *pgx.Conn) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.listening = true
			return nil
		},
		Notified: func(_ context.Context, _ *pgx.Conn, payload string) error {
			var event Event
			if err := json.Unmarshal([]byte(payload), &event); err != nil {
				return fmt.Errorf("read a notification: %w", err)
			}
			h.send(event)
			return nil
		},
		Lost: func(ctx context.Context, err error, wait time.Duration) {
			h.endAll()
			h.log.DebugContext(ctx, "lost the channel of prompts", "error", err, "retry_in", wait)
		},
	}.Run(ctx)
	h.endAll()
}

func (h *hub) add(w *Watch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.listening {
		return postgres.ErrUnavailable
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
