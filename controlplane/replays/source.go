package replays

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// maxSpans is how many spans a run may have to be replayed, and maxBytes how much text.
	maxSpans = 20_000
	maxBytes = 256 << 20
)

// source is a recorded run.
type source struct {
	run       runs.Run
	spans     []runs.Span
	recording *recorded.Recording
	// size is about how many bytes of text it has.
	size int
}

// read reads a run in full.
func (s *Service) read(ctx context.Context, projects access.Projects, id uuid.UUID) (*source, error) {
	run, err := s.runs.Get(ctx, projects, id)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	full, err := s.runs.Recorded(ctx, projects.Only(run.ProjectID), id, maxSpans, maxBytes)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	if full.TooLarge {
		return nil, &problem.Error{
			Kind: problem.TooLarge, Code: "run_too_large",
			Detail: fmt.Sprintf("The run has %d spans; up to %d spans with %d MiB of text can be replayed.", full.SpanCount, maxSpans, maxBytes>>20),
		}
	}
	from := source{run: run, spans: full.Spans, size: full.Bytes}
	from.recording = recorded.Read(full.Replayed())
	return &from, nil
}

// Replayability says how far a run can be replayed.
func (s *Service) Replayability(ctx context.Context, projects access.Projects, id uuid.UUID) (*recorded.Recording, error) {
	from, err := s.read(ctx, projects, id)
	if err != nil {
		return nil, err
	}
	return from.recording, nil
}

// sameRecording returns an error if more attempts of a replay would be of another recording than those that it has.
func (s *Service) sameRecording(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	r, err := s.Get(ctx, grant, id)
	if err != nil || r.unfinished() {
		return err
	}
	config, err := r.ReadConfig()
	if err != nil {
		return err
	}
	from, err := s.read(ctx, grant.Only(r.ProjectID), r.RunID)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return ErrRunDeleted
	case err != nil:
		return err
	case hashOf(from.recording) != config.Recording:
		return errRecordingChanged
	}
	return nil
}

// whoseRunsExist returns the controls whose runs can still be read.
func (s *Service) whoseRunsExist(ctx context.Context, project uuid.UUID, controls []reusedControl) ([]reusedControl, error) {
	there := controls[:0]
	for _, control := range controls {
		_, err := s.runs.Get(ctx, access.OfJob(project), control.RunID)
		if errors.Is(err, runs.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // it says what it does
		}
		there = append(there, control)
	}
	return there, nil
}
