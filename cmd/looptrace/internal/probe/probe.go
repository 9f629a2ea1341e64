// Package probe does what a user does, again and again: it sends a run and reads it back. So it measures the time from
// accepted to visible as nothing inside the product can, and finds what is accepted and never appears.
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
	// Name is that of every run of the probe, and its environment, tag and session: what a filter leaves out by.
	Name = "looptrace-probe"

	// lostAfter is how long an accepted run may take to be visible until it counts as lost.
	lostAfter = 60 * time.Second
	// requestTime bounds one request. Ingest answers within 10 s, also where it refuses.
	requestTime = 15 * time.Second
	// firstLook and lastLook are the shortest and the longest pause between two looks; each is a tenth longer than
	// the one before, and what is measured that exact.
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
	// maxBody bounds what is read of an answer.
	maxBody = 1 << 20
)

// The stages at which a run can fail: the label of a metric.
const (
	// StageIngest: it was not accepted. Nothing was promised.
	StageIngest = "ingest"
	// StageRead: it was accepted, and for as long as was looked the API did not say whether it is there.
	StageRead = "read"
	// StageVisible: it was accepted, and the API says that it is not there: it is lost, or very late.
	StageVisible = "visible"
)

// FailedError says at which stage a run failed, and why.
type FailedError struct {
	Stage string
	Err   error
}

func (e *FailedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// Config says what is probed.
type Config struct {
	// Ingest and API are the base addresses that runs are sent to and read from.
	Ingest, API string
	// Key has the scopes ingest:write and runs:read.
	Key string
}

// Probe sends runs and reads them back.
type Probe struct {
	config Config
	client *http.Client
	// lostAfter is the constant of this name, but in tests.
	lostAfter time.Duration
}

// New returns a probe.
func New(c Config) *Probe {
	return &Probe{config: c, client: &http.Client{Timeout: requestTime}, lostAfter: lostAfter}
}

// Result is a run that was accepted and became visible.
type Result struct {
	RunID string
	// Accepted is the time from the request to the answer 202, Visible from that answer until the API had the run.
	Accepted, Visible time.Duration
}

// Once sends one run and waits until it can be read. Its error is a *FailedError, or that of a ctx that ended.
func (p *Probe) Once(ctx context.Context) (Result, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Result{}, fmt.Errorf("make a run id: %w", err)
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

// send posts the smallest run that there is.
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

// await looks for the run until it is there.
func (p *Probe) await(ctx context.Context, id string, accepted time.Time) error {
	looking, cancel := context.WithDeadline(ctx, accepted.Add(p.lostAfter))
	defer cancel()
	absent, last := false, errors.New("the API does not answer")
	for pause := firstLook; ; pause = min(pause+pause/10, lastLook) {
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
			return failed(ctx, StageRead, fmt.Errorf("run %s was accepted and could not be looked for within %s: %w", id, p.lostAfter, last))
		case <-time.After(pause):
		}
	}
}

func (p *Probe) do(ctx context.Context, method, url string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("make a request: %w", err)
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

// codeOf is the code of an answer with problem details, empty where it has none.
func codeOf(answer []byte) string {
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(answer, &problem) != nil {
		return ""
	}
	return problem.Code
}
