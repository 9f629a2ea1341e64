// Package recording records the runs that the control plane makes itself. They go through ingest like those of any program.
package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// maxWaiting is how many bytes of runs wait while ingest does not answer.
	maxWaiting = 256 << 20
	// sendTimeout limits a request to ingest.
	sendTimeout = 10 * time.Second
	// firstDelay and maxDelay are the shortest and the longest wait before a run is sent again.
	firstDelay, maxDelay = 100 * time.Millisecond, 10 * time.Second
	// lastTime is how long the runs that still wait may take to send when the process ends.
	lastTime = 5 * time.Second
	// gatherTime is how long runs gather before they are sent together, at most maxBatch runs in maxBatchBytes.
	gatherTime    = 100 * time.Millisecond
	maxBatch      = 200
	maxBatchBytes = 4 << 20
)

// Keys gives the keys of ingest.
type Keys interface {
	IngestKey(ctx context.Context, project uuid.UUID) (apikey.Key, error)
}

// Recorder sends runs to ingest. Recording never delays what is recorded.
type Recorder struct {
	address string
	keys    Keys
	client  *http.Client
	log     *slog.Logger

	mu      sync.Mutex
	waiting []waitingRun
	size    int
	known   map[uuid.UUID]apikey.Key
	wake    chan struct{}
}

// waitingRun is a run as JSON.
type waitingRun struct {
	project, id uuid.UUID
	source      string
	run         json.RawMessage
	spans       []json.RawMessage
	size        int
	// alone is set if ingest refused the run together with others: one that is not valid must not hold up the others.
	alone bool
}

// New returns a recorder that sends to the address of ingest, such as http://127.0.0.1:7080.
func New(address string, keys Keys, log *slog.Logger) *Recorder {
	return &Recorder{
		address: address, keys: keys, client: &http.Client{Timeout: sendTimeout}, log: log,
		known: map[uuid.UUID]apikey.Key{}, wake: make(chan struct{}, 1),
	}
}

// Record sends a run soon. If ingest does not answer for so long that too many runs wait, the run is lost, and the log says so.
func (r *Recorder) Record(ctx context.Context, run *Run) {
	encoded, err := run.encode()
	if err != nil {
		r.log.ErrorContext(ctx, "a run cannot be recorded", "run", run.ID, "error", err)
		return
	}
	r.mu.Lock()
	full := r.size+encoded.size > maxWaiting
	if !full {
		r.waiting = append(r.waiting, encoded)
		r.size += encoded.size
	}
	r.mu.Unlock()
	if full {
		r.log.ErrorContext(ctx, "a run is not recorded: ingest does not answer, and too many runs wait for it", "run", run.ID)
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Send sends an envelope of POST /v1/runs now. Without an error, ingest has it on disk.
func (r *Recorder) Send(ctx context.Context, project uuid.UUID, envelope []byte) error {
	return r.post(ctx, "/v1/runs", project, envelope)
}

// SendTraces sends an ExportTraceServiceRequest as OTLP/JSON now. Without an error, ingest has it on disk.
func (r *Recorder) SendTraces(ctx context.Context, project uuid.UUID, request []byte) error {
	return r.post(ctx, "/v1/traces", project, request)
}

// Run sends runs until the context ends, and then for a short time those that still wait.
func (r *Recorder) Run(ctx context.Context) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastTime, cancel) })
	defer stop()
	delay := firstDelay
	for last.Err() == nil {
		batch := r.next()
		if batch == nil {
			select {
			case <-r.wake:
				pause(ctx, gatherTime)
			case <-ctx.Done():
				return
			}
			continue
		}
		if err := r.sendBatch(last, batch); err != nil {
			if delay == firstDelay {
				r.log.WarnContext(ctx, "record runs; will retry", "runs", len(batch), "error", err)
			}
			pause(last, delay)
			delay = min(2*delay, maxDelay)
			continue
		}
		delay = firstDelay
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.waiting {
		r.log.ErrorContext(ctx, "a run is not recorded: ingest did not answer before the process ended", "run", run.id)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sendBatch sends runs of one project. What is to be sent again waits after it.
func (r *Recorder) sendBatch(ctx context.Context, batch []waitingRun) error {
	body, err := envelope(batch)
	if err != nil {
		return err
	}
	err = r.post(ctx, "/v1/runs", batch[0].project, body)
	var refused *refusedError
	switch {
	case err == nil:
		return nil
	case problem.Is(err, problem.NotFound):
		r.log.WarnContext(ctx, "runs are not recorded: their project was deleted", "project", batch[0].project, "runs", len(batch))
	case !errors.As(err, &refused):
		r.putBack(batch)
		return err
	case len(batch) == 1:
		r.log.ErrorContext(ctx, "ingest refuses a run", "run", batch[0].id, "error", err)
	default:
		for i := range batch {
			batch[i].alone = true
		}
		r.putBack(batch)
	}
	return nil
}

// next takes the runs that are sent together, or nil if none wait.
func (r *Recorder) next() []waitingRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, size := 0, 0
	for n < min(len(r.waiting), maxBatch) {
		run := &r.waiting[n]
		if n > 0 && (size+run.size > maxBatchBytes || run.project != r.waiting[0].project || run.source != r.waiting[0].source || run.alone || r.waiting[0].alone) {
			break
		}
		n, size = n+1, size+run.size
	}
	if n == 0 {
		return nil
	}
	batch := slices.Clone(r.waiting[:n])
	r.waiting = slices.Delete(r.waiting, 0, n)
	r.size -= size
	return batch
}

// putBack lets runs wait behind those of other projects: what fails for one project must not hold up the others.
func (r *Recorder) putBack(batch []waitingRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, batch...)
	for i := range batch {
		r.size += batch[i].size
	}
}

// refusedError is an answer that a retry does not change.
type refusedError struct {
	status int
	body   string
}

func (e *refusedError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

func (r *Recorder) post(ctx context.Context, path string, project uuid.UUID, body []byte) error {
	key, err := r.key(ctx, project)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key.Reveal())
	response, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("send to ingest: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of ingest: %w", err)
	case response.StatusCode < 300:
		return nil
	case response.StatusCode == http.StatusUnauthorized: // the key was deleted, with an earlier state of the database
		r.mu.Lock()
		delete(r.known, project)
		r.mu.Unlock()
		return fmt.Errorf("ingest refuses the key: %s", answer)
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode >= 500, response.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("ingest answers %d: %s", response.StatusCode, answer)
	default:
		return &refusedError{response.StatusCode, string(answer)}
	}
}

func (r *Recorder) key(ctx context.Context, project uuid.UUID) (apikey.Key, error) {
	r.mu.Lock()
	key, ok := r.known[project]
	r.mu.Unlock()
	if ok {
		return key, nil
	}
	key, err := r.keys.IngestKey(ctx, project)
	if err != nil {
		return key, err //nolint:wrapcheck // it names the statement
	}
	r.mu.Lock()
	r.known[project] = key
	r.mu.Unlock()
	return key, nil
}
