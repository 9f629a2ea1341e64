package runs

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// ScoreNameField is a field whose values are the names of the scores that runs have. It is no filter.
const ScoreNameField = "score_name"

// scoredRuns are the runs that a filter selects, with the names of their scores.
const scoredRuns = `SELECT toString(name) AS value, uniqExact(run_id) AS runs FROM scores FINAL
	WHERE ` + projectsMark + ` AND ` + hasValue + ` AND run_id IN (SELECT run_id FROM runs FINAL WHERE `

// hasValue selects scores with a value that JSON can hold, which comments alone have not.
const hasValue = `value_kind != '' AND (value_kind = '` + runmodel.ScoreCategory + `' OR isFinite(ifNull(number, nan)))`

// How many authors a summary names, and how many characters its texts have.
const (
	maxSummaryAuthors = 5
	maxSummaryText    = 200
)

// ScoreSummary sums up the scores of one name that a run and its spans have.
type ScoreSummary struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	Name      string    `ch:"name"`
	Count     uint64    `ch:"total"`
	OfSpans   uint64    `ch:"of_spans"`
	// Mean is that of the numbers, with true as 1; nil if some are categories, or if numbers and booleans are mixed.
	Mean *float64 `ch:"mean"`
	// The newest score. ValueKind, Number and Label are those of runmodel.Score.
	ValueKind string   `ch:"newest_kind"`
	Number    *float64 `ch:"newest_number"`
	Label     string   `ch:"newest_label"`
	Version   uint64   `ch:"newest_version"`
	// Authors are the names of up to 5 of AuthorCount people, keys and rules. The scores that came with their spans have no author.
	Authors     []string `ch:"authors"`
	AuthorCount uint64   `ch:"author_count"`
}

// Value returns the newest value as [runmodel.Score.Value] does.
func (s *ScoreSummary) Value() any {
	newest := runmodel.Score{ValueKind: s.ValueKind, Number: s.Number, Label: s.Label}
	return newest.Value()
}

// addScoreSummaries gives runs the summaries of their scores of these names.
func (s *Service) addScoreSummaries(ctx context.Context, projects access.Projects, runs []Run, names []string) error {
	if len(runs) == 0 || len(names) == 0 {
		return nil
	}
	ids, at := byKey(runs)
	for i := range runs {
		runs[i].ScoreSummaries = []ScoreSummary{}
	}
	var rows []ScoreSummary
	err := query(ctx, s.conn, projects, &rows, `SELECT project_id, run_id, name, count() AS total, countIf(span_id != 0) AS of_spans,
			if(uniqExact(value_kind) = 1 AND any(value_kind) != '`+runmodel.ScoreCategory+`', avg(number), NULL) AS mean,
			tupleElement(argMax(tuple(value_kind, number, substringUTF8(label, 1, ?), version), (version, score_id)) AS newest, 1) AS newest_kind,
			tupleElement(newest, 2) AS newest_number, tupleElement(newest, 3) AS newest_label, tupleElement(newest, 4) AS newest_version,
			groupUniqArrayIf(?)(substringUTF8(author_name, 1, ?), author_kind != '') AS authors,
			uniqExactIf((author_kind, author_id), author_kind != '') AS author_count
		FROM scores FINAL WHERE {projects} AND run_id IN (?) AND name IN (?) AND `+hasValue+`
		GROUP BY project_id, run_id, name ORDER BY project_id, run_id, name`,
		maxSummaryText, maxSummaryAuthors, maxSummaryText, ids, names)
	if err != nil {
		return err
	}
	for i := range rows {
		if run := at[runmodel.RunKey{ProjectID: rows[i].ProjectID, RunID: rows[i].RunID}]; run != nil {
			if mean := rows[i].Mean; mean != nil && math.IsInf(*mean, 0) {
				rows[i].Mean = nil // the sum is too large
			}
			run.ScoreSummaries = append(run.ScoreSummaries, rows[i])
		}
	}
	return nil
}
