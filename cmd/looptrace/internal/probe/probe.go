// Package probe acts as a user: it sends runs and reads them back. It measures the time from accepted to visible,
// which nothing inside the product can measure, and finds runs that are accepted but never appear.
package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
)

const (
	// Name is the name of every run of the probe, and its environment, tag and session, so that filters can exclude it.
	Name = "looptrace-probe"

	// lostAfter is how long an accepted run may stay invisible before it counts as lost.
	lostAfter = 60 * time.Second
	// requestTime limits one request. Ingest answers within 10 s.
	requestTime = 15 * time.Second
	// minPause and maxPause are the shortest and the longest pause between two reads. Each pause is a tenth longer
	// than the one before, which is also the precision of the measurement.
	minPause = 20 * time.Millisecond
	maxPause = time.Second
	// maxBody limits the size of a response.
	maxBody = 1 << 20
)

// The stages at which a run can fail: values of a metric's label.
const (
	// StageIngest: the run was not accepted.
	StageIngest = "ingest"
	// StageRead: the run was accepted, and the API did not answer whether it exists.
	StageRead = "read"
	// StageVisible: the run was accepted, and the API does not have it: it is lost, or very late.
	StageVisible = "visible"
)

// FailedError is the failure of a run and its stage.
type FailedError struct {
	Stage string
	Err   error
}

func (e *FailedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// Config configures a probe.
type Config struct {
	// Ingest and API are base addresses: runs are sent to Ingest and read from API.
	Ingest, API string
	// Key has the scopes ingest:write and runs:read.
	Key string
}

// Probe sends runs and reads them back.
type Probe struct {
	config Config
	client *http.Client
	// lostAfter is the constant of this name, except in tests.
	lostAfter time.Duration
}

// New returns a probe.
func New(c Config) *Probe {
	return &Probe{config: c, client: &http.Client{Timeout: requestTime}, lostAfter: lostAfter}
}

// Result is the measurement of a run that became visible.
type Result struct {
	RunID string
	// Accepted is the time from the request to the answer 202, Visible from that answer until the API had the run.
	Accepted, Visible time.Duration
}

// Once sends one run and waits until it can be read. Its error is a *FailedError, or that of a ctx that ended.
func (p *Probe) Once(ctx context.Context) (Result, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Result{}, fmt.Errorf("create a run id: %w", err)
	}
	result := Result{RunID: id.String()}
	begun := time.Now()
	if err := p.send(ctx, result.RunID, begun); err != nil {
		return result, failed(ctx, StageIngest, fmt.Errorf("run %s was not accepted: %w", result.RunID, err))
	}
	accepted := time.Now()
	result.Accepted = accepted.Sub(begun)
	if err := p.await(ctx, result.RunID, accepted); err != nil {
		return result, err
	}
	result.Visible = time.Since(accepted)
	return result, nil
}

func failed(ctx context.Context, stage string, err error) error {
	if ctx.Err() != nil {
		return err // whoever ended it knows
	}
	return &FailedError{Stage: stage, Err: err}
}

// send posts a run of minimal size.
func (p *Probe) send(ctx context.Context, id string, at time.Time) error {
	now := at.UTC().Format(time.RFC3339Nano)
	body, err := json.Marshal(map[string]any{
		"sdk": Name,
		"runs": []map[string]any{{
			"run_id": id, "name": Name, "kind": "task", "start_time": now, "end_time": now,
			"environment": Name, "session_id": Name, "tags": []string{Name},
		}},
	})
	if err != nil {
		return fmt.Errorf("write the run: %w", err)
	}
	status, answer, err := p.do(ctx, http.MethodPost, p.config.Ingest+"/v1/runs", body)
	if err != nil {
		return err
	}
	if status != http.StatusAccepted {
		return fmt.Errorf("ingest answers %d %s", status, codeOf(answer))
	}
	return nil
}

// await reads the run until it exists.
func (p *Probe) await(ctx context.Context, id string, accepted time.Time) error {
	looking, cancel := context.WithDeadline(ctx, accepted.Add(p.lostAfter))
	defer cancel()
	absent, last := false, errors.New("the API does not answer")
	for pause := minPause; ; pause = min(pause+pause/10, maxPause) {
		status, answer, err := p.do(looking, http.MethodGet, p.config.API+"/v1/runs/"+id, nil)
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case err == nil && status == http.StatusNotFound:
			absent = true
		case err == nil:
			absent, last = false, fmt.Errorf("the API answers %d %s", status, codeOf(answer))
		case looking.Err() == nil:
			absent, last = false, err
		}
		select {
		case <-looking.Done():
			if absent {
				return failed(ctx, StageVisible, fmt.Errorf("run %s was accepted and is not visible after %s", id, p.lostAfter))
			}
			return failed(ctx, StageRead, fmt.Errorf("run %s was accepted and could not be read within %s: %w", id, p.lostAfter, last))
		case <-time.After(pause):
		}
	}
}

func (p *Probe) do(ctx context.Context, method, url string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("create a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+p.config.Key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("send a request: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read, or its error is returned
	if answer, err = io.ReadAll(io.LimitReader(response.Body, maxBody)); err != nil {
		return 0, nil, fmt.Errorf("read the answer: %w", err)
	}
	return response.StatusCode, answer, nil
}

// codeOf returns the code of a problem response, empty if it has none.
func codeOf(answer []byte) string {
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(answer, &problem) != nil {
		return ""
	}
	return problem.Code
}
