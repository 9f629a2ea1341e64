package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Run is a run with its totals and its root's payloads.
type Run struct {
	runmodel.Run
	Inputs    *string
	Outputs   *string
	Truncated bool
	// Cut names the members, as the API does, that a list has cut.
	Cut []string

	// Scores are the newest of ScoreCount, including those of spans.
	Scores     []runmodel.Score
	ScoreCount uint64
	// ScoreSummaries are those of the names that a list or watch asked for; nil if it asked for none.
	ScoreSummaries []ScoreSummary
	// OwnScores are the newest of the run as a whole. Only an export with spans reads them.
	OwnScores []runmodel.Score
}

// Get returns a run with its totals and its root's payloads.
func (s *Service) Get(ctx context.Context, projects access.Projects, runID uuid.UUID) (Run, error) {
	return located(ctx, s, projects, runID, s.getAt)
}

func (s *Service) getAt(ctx context.Context, loc location, runID uuid.UUID) (Run, error) {
	row, err := s.runRow(ctx, loc, runID)
	if err != nil {
		return Run{}, err
	}
	run, judged := Run{Run: row}, row
	scored := []Run{run}
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		run.Inputs, run.Outputs, err = s.rootPayloads(groupContext, loc, runID, run.RootSpanID)
		return err
	})
	group.Go(func() error {
		return s.addScoresAfter(groupContext, loc.projects, loc.DeletedAt, scored, maxReadScores)
	})
	group.Go(func() error {
		return s.addFailedScores(groupContext, loc.projects, loc.DeletedAt, []*runmodel.Run{&judged})
	})
	if err := group.Wait(); err != nil {
		return Run{}, err
	}
	run.FailedScores, run.Failure, run.RunSignals = judged.FailedScores, judged.Failure, judged.RunSignals
	run.Scores, run.ScoreCount = scored[0].Scores, scored[0].ScoreCount
	// A root without payloads shows its first question and last answer.
	if run.Inputs == nil {
		run.Inputs, run.Truncated = nonEmpty(run.InputPreview), run.Truncated || run.InputPreview != ""
	}
	if run.Outputs == nil {
		run.Outputs, run.Truncated = nonEmpty(run.OutputPreview), run.Truncated || run.OutputPreview != ""
	}
	return run, nil
}

// runRow reads the row of a run.
func (s *Service) runRow(ctx context.Context, loc location, runID uuid.UUID) (runmodel.Run, error) {
	w := loc.where(runID)
	var rows []runmodel.Run
	err := query(ctx, s.conn, loc.projects, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String()+`
		ORDER BY version DESC LIMIT 1`, w.args...)
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return runmodel.Run{}, err
	}
	return rows[0], nil
}

// rootPayloads returns the inputs and outputs of a span, nil where it has none.
func (s *Service) rootPayloads(ctx context.Context, loc location, runID uuid.UUID, spanID uint64) (inputs, outputs *string, err error) {
	w := loc.where(runID)
	w.add("(span_id = ? OR from_log AND parent_span_id = ?)", spanID, spanID) // with the records of a call that is the root
	var versions []runmodel.Span
	err = query(ctx, s.conn, loc.projects, &versions, `SELECT `+loc.withoutAbsent(treeColumns)+`, inputs, outputs, tool_arguments, tool_result,
		input_message_ids, output_message_ids FROM spans WHERE `+w.String(), w.args...)
	if err != nil || len(versions) == 0 {
		return nil, nil, err
	}
	folded := runmodel.Fold(versions)
	at := slices.IndexFunc(folded, func(span runmodel.Span) bool { return span.SpanID == spanID })
	if at < 0 {
		return nil, nil, nil
	}
	in, out, err := s.inputsAndOutputs(ctx, loc, runID, &folded[at], fullContent)
	return nonEmpty(in), nonEmpty(out), err
}

// inputsAndOutputs returns a span's inputs and outputs, or else the last texts of its messages. columns are those of the contents:
// fullContent or cutContent.
func (s *Service) inputsAndOutputs(ctx context.Context, loc location, runID uuid.UUID, span *runmodel.Span, columns string) (in, out string, err error) {
	in, out = cmp.Or(span.Inputs, span.ToolArguments), cmp.Or(span.Outputs, span.ToolResult)
	var ids []uint64
	if in == "" {
		ids = append(ids, span.InputMessageIDs...)
	}
	if out == "" {
		ids = append(ids, span.OutputMessageIDs...)
	}
	contents, err := s.contentsOf(ctx, loc, runID, ids, columns)
	if err != nil {
		return "", "", err
	}
	if in == "" {
		messages, err := contents.messages(span.InputMessageIDs)
		if err != nil {
			return "", "", err
		}
		in = lastQuestion(messages)
	}
	if out == "" {
		messages, err := contents.messages(span.OutputMessageIDs)
		if err != nil {
			return "", "", err
		}
		out = lastText(messages)
	}
	return in, out, nil
}

// readListed reads runs as lists show them. It first reads them uncut, because most pages are small, and planning the expressions that
// cut takes ClickHouse longer than reading such a page. If the rows are larger than a page, they are cut. ClickHouse finds a page's rows
// first and then reads all their columns at once; if it has no memory for that, each row is cut as it is read, which is slowest. more are
// additional columns, rest follows the conditions, and settings are those of the statement.
func readListed[T any](ctx context.Context, s *Service, projects access.Projects, rows *[]T, more string, w where, rest string, settings func(...string) string, args ...any) error {
	stored := `SELECT ` + more + runColumns + ` FROM runs FINAL WHERE ` + w.String() + ` ` + rest
	cut := `SELECT ` + more + runColumns + ` FROM (SELECT ` + listedRunColumns + ` FROM (SELECT ` + runColumns + ` FROM runs FINAL WHERE ` + w.String() + `)) ` + rest
	args = append(slices.Clone(w.args), args...)
	var err error
	for _, statement := range []string{
		stored + settings(fmt.Sprintf("max_result_bytes = %d", maxPage)),
		cut + settings(),
		cut + settings("query_plan_optimize_lazy_materialization = 0", "query_plan_execute_functions_after_sorting = 0"),
	} {
		var exception *ch.Exception
		if err = query(ctx, s.conn, projects, rows, statement, args...); !errors.As(err, &exception) ||
			exception.Code != codeTooManyBytesRows && exception.Code != codeMemoryLimit {
			break
		}
	}
	return err
}

// selectRuns reads the runs that the conditions select, as lists show them.
func (s *Service) selectRuns(ctx context.Context, projects access.Projects, w where, order string, args ...any) ([]Run, error) {
	var rows []runmodel.Run
	err := readListed(ctx, s, projects, &rows, "", w, order, Filter{}.settings, args...)
	if err != nil {
		return nil, err
	}
	if err := s.addFailedScores(ctx, projects, 0, pointers(rows)); err != nil {
		return nil, err
	}
	runs := make([]Run, len(rows))
	for i := range rows {
		runs[i] = listed(rows[i])
		runs[i].Cut = cutRun(&runs[i].Run)
	}
	return runs, nil
}

func pointers(rows []runmodel.Run) []*runmodel.Run {
	list := make([]*runmodel.Run, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	return list
}

func listed(row runmodel.Run) Run {
	return Run{
		Run: row, Inputs: nonEmpty(row.InputPreview), Outputs: nonEmpty(row.OutputPreview),
		Truncated: row.InputPreview != "" || row.OutputPreview != "",
	}
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
