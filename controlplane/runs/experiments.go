package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Attributes of spans that belong to an experiment of Langfuse's SDKs (langfuse-python langfuse/_client/attributes.py, langfuse-js
// packages/core/src/constants.ts).
const (
	ExperimentPrefix   = "langfuse.experiment."
	ExperimentID       = ExperimentPrefix + "id"
	ExperimentItemID   = ExperimentPrefix + "item.id"
	ExperimentItemRoot = ExperimentPrefix + "item.root_observation_id"
	ObservationType    = "langfuse.observation.type"
	// BaseName is what an experiment's runs have in common. The name of the experiment has the time of the run.
	BaseName = "langfuse.observation.metadata.experiment_name"
	// EvaluatorKind is on the spans of evaluators that run_experiment calls.
	EvaluatorKind = "langfuse.observation.metadata.evaluator_kind"
	// EvaluatorType is the ObservationType of a span that an evaluator is.
	EvaluatorType = "evaluator"
)

const (
	// MaxExperimentText is how many bytes of a text are read. One that is longer is cut to one byte more.
	MaxExperimentText = 256 << 10
	// shortExperimentText is the same where the spans of a run are too large to read.
	shortExperimentText = 512
	// maxExperimentSpans is how many versions of spans of a run are read.
	maxExperimentSpans = 20_000
	// maxExperimentBytes limits what one statement returns.
	maxExperimentBytes = 96 << 20
)

// ExperimentRun has those spans of a run that belong to an experiment: the root of each of its items, and its evaluators, in start order.
type ExperimentRun struct {
	RunID uuid.UUID
	Spans []runmodel.Span
	// Cut is whether the texts were too large to read, and are cut.
	Cut bool
	// Partial is whether there are more spans.
	Partial bool
}

// experimentColumns are those of the spans of an experiment. The first argument is how many bytes of each text are read.
const experimentColumns = `project_id, run_id, span_id, version, parent_span_id, start_time, end_time, from_log, is_run, name, status, error_type,
	substring(error_message, 1, 2000) AS error_message, substring(inputs, 1, ?) AS inputs, substring(outputs, 1, ?) AS outputs,
	mapApply((k, v) -> (k, substring(v, 1, ?)), mapFilter((k, v) -> startsWith(k, ?) OR k IN (?), attributes)) AS attributes`

// ExperimentSpans returns the runs that have items of an experiment, of some runs of one project.
func (s *Service) ExperimentSpans(ctx context.Context, projects access.Projects, ids []uuid.UUID) ([]ExperimentRun, error) {
	locations, err := s.locationsOf(ctx, projects, ids)
	if err != nil || len(locations) == 0 {
		return nil, err
	}
	found, err := s.experimentSpans(ctx, projects, locations, ids, MaxExperimentText)
	if !errors.Is(err, ErrTooExpensive) {
		return found, err
	}
	if len(ids) > 1 {
		half := len(ids) / 2
		first, err := s.ExperimentSpans(ctx, projects, ids[:half])
		if err != nil {
			return nil, err
		}
		rest, err := s.ExperimentSpans(ctx, projects, ids[half:])
		return append(first, rest...), err
	}
	found, err = s.experimentSpans(ctx, projects, locations, ids, shortExperimentText)
	for i := range found {
		found[i].Cut = true
	}
	if err != nil {
		return nil, fmt.Errorf("read the experiments of run %s: %w", ids[0], err)
	}
	return found, nil
}

func (s *Service) experimentSpans(
	ctx context.Context, projects access.Projects, locations map[uuid.UUID]location, ids []uuid.UUID, cut int,
) ([]ExperimentRun, error) {
	area := areaOf(projects, locations)
	w := inProjects()
	w.hours(area.FirstStart, area.LastStart)
	w.add("run_id IN (?)", ids)
	w.add("source = ?", runmodel.SourceEvaluation)
	w.add("s.attributes[?] != ''", ExperimentID)
	w.add("(s.attributes[?] = ? AND s.attributes[?] != '' OR lower(s.attributes[?]) = lower(leftPad(hex(span_id), 16, '0')))", ObservationType, EvaluatorType, EvaluatorKind, ExperimentItemRoot)
	var versions []runmodel.Span
	args := append([]any{cut + 1, cut + 1, cut + 1, ExperimentPrefix, []string{ObservationType, BaseName, EvaluatorKind}}, w.args...)
	err := query(ctx, s.conn.with(options{resultBytes: maxExperimentBytes}), projects, &versions, `
		SELECT `+experimentColumns+` FROM spans AS s WHERE `+w.String()+` ORDER BY run_id, start_time, span_id LIMIT ? BY run_id`, append(args, maxExperimentSpans)...)
	if err != nil {
		return nil, err
	}
	var found []ExperimentRun
	for key, of := range runmodel.ByRun(versions) {
		one := ExperimentRun{RunID: key.RunID, Partial: len(of) == maxExperimentSpans}
		if of = locations[key.RunID].dropDeleted(of); len(of) > 0 {
			one.Spans = runmodel.Fold(of)
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b ExperimentRun) int { return strings.Compare(a.RunID.String(), b.RunID.String()) })
	return found, nil
}
