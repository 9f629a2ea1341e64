package start

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Result is what another program made of an item. It has either an output or an error.
type Result struct {
	ItemID       uuid.UUID           `json:"item_id"`
	Repeat       int                 `json:"repeat"`
	Output       json.RawMessage     `json:"output"`
	ErrorCode    string              `json:"error_code"`
	ErrorDetail  string              `json:"error_detail"`
	Message      json.RawMessage     `json:"message"`
	RunID        *uuid.UUID          `json:"run_id"`
	Model        string              `json:"model"`
	DurationMS   *float64            `json:"duration_ms"`
	InputTokens  *int64              `json:"input_tokens"`
	OutputTokens *int64              `json:"output_tokens"`
	CostUSD      *float64            `json:"cost_usd"`
	Scores       []evaluations.Score `json:"scores"`
}

// Added counts results that were sent. Ungraded are those of Added and Replaced that a job grades after the end, since that takes long.
type Added struct{ Added, Replaced, Unchanged, Ungraded int }

// errResultExists is returned for another result of an item and repeat that has one.
func errResultExists(i int) error {
	return &problem.Error{
		Kind: problem.Conflict, Code: "result_exists", Detail: fmt.Sprintf("body.items[%d]: the item has another result for this repeat. Nothing was stored. To replace it, set replace.", i),
	}
}

// AddResults stores results of an eval-run, all or none.
func (s *Starter) AddResults(ctx context.Context, grant access.Grant, id uuid.UUID, results []Result, replace bool) (Added, evaluations.Evaluation, error) {
	var added Added
	e, err := s.evaluations.Get(ctx, grant, evaluations.EvalRun, id)
	if err != nil {
		return added, e, err
	}
	if !receives(&e) {
		return added, e, errTooLate
	}
	rows, err := s.resultRows(ctx, &e, results, grant.Allows(e.ProjectID, apikey.ScopeRunsRead))
	if err != nil {
		return added, e, err
	}
	changed, err := s.evaluations.Change(ctx, grant, evaluations.EvalRun, id, func(ctx context.Context, tx pgx.Tx, e *evaluations.Evaluation) error {
		if !receives(e) {
			return errTooLate
		}
		added = Added{}
		return s.storeResults(ctx, tx, e, rows, replace, &added)
	})
	return added, changed, err
}

// storedResult is a result as it is stored.
type storedResult struct {
	execute.OutputRow
	ResultHash string                 `json:"result_hash"`
	RunLookup  *evaluations.RunLookup `json:"run_lookup"`
	hash       []byte
	ungraded   bool
}

// resultRows checks results, and grades them as far as there is time. readsRuns is whether who sent them may read runs.
func (s *Starter) resultRows(ctx context.Context, e *evaluations.Evaluation, results []Result, readsRuns bool) ([]storedResult, error) {
	config, err := e.ReadConfig()
	if err != nil {
		return nil, err
	}
	graders, err := evaluations.ParseGraders("graders", config.Graders)
	if err != nil {
		return nil, err
	}
	grading := s.gradeFor(graders, readsRuns)
	ids := make([]uuid.UUID, len(results))
	for i := range results {
		ids[i] = results[i].ItemID
	}
	found, err := postgres.Many[struct {
		Number  int32
		ItemID  uuid.UUID
		Ordinal int64
	}](ctx, s.db, "find items by id", pgx.NamedArgs{"id": e.ID, "items": ids})
	if err != nil {
		return nil, err
	}
	numbers, ordinals := map[uuid.UUID]int32{}, make([]int64, len(found))
	for i, f := range found {
		numbers[f.ItemID], ordinals[i] = f.Number, f.Ordinal
	}
	contents, err := s.datasets.ItemsAt(ctx, e.DatasetID, e.Revision, ordinals)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the statement
	}
	items := map[uuid.UUID]*datasets.Item{}
	for i := range contents {
		items[contents[i].ItemID] = &contents[i]
	}
	type resultKey struct {
		item   uuid.UUID
		repeat int
	}
	rows, seen := make([]storedResult, len(results)), map[resultKey]bool{}
	for i := range results {
		result, at := &results[i], fmt.Sprintf("body.items[%d]", i)
		item := items[result.ItemID]
		switch key := (resultKey{result.ItemID, result.Repeat}); {
		case item == nil:
			return nil, problem.InvalidField(at+".item_id", "is no item of the eval-run")
		case result.Repeat > e.Repeats:
			return nil, problem.InvalidField(at+".repeat", fmt.Sprintf("must be at most %d, the repeats of the eval-run", e.Repeats))
		case seen[key]:
			return nil, problem.InvalidField(at, "is a second result of the same item and repeat")
		default:
			seen[key] = true
		}
		if err := result.check(at); err != nil {
			return nil, err
		}
		if rows[i], err = grading.row(ctx, result, item, numbers[result.ItemID]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (r *Result) check(at string) error {
	if (r.ErrorCode != "") == (len(r.Output) > 0 || len(r.Message) > 0) {
		return problem.InvalidField(at, "must have either an output (which may be null), or an error")
	}
	if r.ErrorCode != "" && len(r.Scores) > 0 {
		return problem.InvalidField(at+".scores", "must be empty beside an error: there is no output that they score")
	}
	seen := map[string]bool{}
	for i := range r.Scores {
		score, scoreAt := &r.Scores[i], fmt.Sprintf("%s.scores[%d]", at, i)
		if err := validate.Printable(scoreAt+".name", score.Name); err != nil {
			return err //nolint:wrapcheck // it is for the client
		}
		switch {
		case seen[score.Name]:
			return problem.InvalidField(scoreAt+".name", "is that of an earlier score")
		case evaluations.IsMeasured(score.Name):
			return problem.InvalidField(scoreAt+".name", fmt.Sprintf("is %q, which is measured anyway: choose another name", score.Name))
		case score.Error != "" && score.Value != nil:
			return problem.InvalidField(scoreAt, "must not have both a score and an error")
		case score.Value != nil && (math.IsNaN(*score.Value) || *score.Value < 0 || *score.Value > 1):
			return problem.InvalidField(scoreAt+".score", "must be from 0 to 1")
		}
		seen[score.Name] = true
		score.Reason, score.Error = utf8text.Storable(score.Reason), utf8text.Storable(score.Error)
	}
	return nil
}

// resultGrading is how the results of a request are graded.
type resultGrading struct {
	graders []*grader.Grader
	until   *execute.Deadline
	// readsRuns is whether who sent the results may read runs.
	readsRuns bool
	now       time.Time
}

// gradeFor grades the results of a request from now on.
func (s *Starter) gradeFor(graders []*grader.Grader, readsRuns bool) *resultGrading {
	return &resultGrading{graders, &execute.Deadline{At: time.Now().Add(s.GradingTime)}, readsRuns, s.now()}
}

// row grades a result, unless it takes too long: a job grades it then.
func (g *resultGrading) row(ctx context.Context, result *Result, item *datasets.Item, number int32) (storedResult, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return storedResult{}, fmt.Errorf("encode a result: %w", err)
	}
	hash := sha256.Sum256(text)
	stored := storedResult{ResultHash: hex.EncodeToString(hash[:]), hash: hash[:], OutputRow: execute.OutputRow{
		Number: number, Side: evaluations.SideA, Repeat: result.Repeat, Status: evaluations.OutputOK, Model: optional.NonZero(utf8text.Storable(result.Model)), DurationMS: result.DurationMS, Input: result.InputTokens,
		OutputTokens: result.OutputTokens, CreatedAt: g.now, Scores: "[]",
	}}
	if result.RunID != nil {
		stored.RunID = *result.RunID
	}
	if result.CostUSD != nil {
		stored.Cost = new(int64(providers.MoneyOf(*result.CostUSD)))
	}
	lacking := stored.Cost == nil || stored.DurationMS == nil || stored.Input == nil && stored.OutputTokens == nil
	if result.ErrorCode != "" {
		stored.Status, stored.ErrorCode, stored.ErrorDetail = evaluations.OutputFailed, new(utf8text.Storable(result.ErrorCode)), new(utf8text.Storable(result.ErrorDetail))
		stored.RunLookup = execute.LookupOf(result.RunID, lacking, g.readsRuns)
		return stored, nil
	}
	if len(result.Output) > 0 {
		stored.Output = new(string(result.Output))
	}
	if len(result.Message) > 0 {
		stored.Message = new(string(result.Message))
	}
	left, err := stored.Grade(ctx, g.graders, item, execute.Known{Scores: result.Scores, Later: result.RunID != nil && g.readsRuns, Until: g.until})
	stored.RunLookup = execute.LookupOf(result.RunID, lacking || left, g.readsRuns)
	if stored.ungraded = left && g.until.Passed(); stored.ungraded && (stored.RunLookup == nil || *stored.RunLookup != evaluations.RunWaiting) {
		stored.RunLookup = new(evaluations.RunUngraded)
	}
	return stored, err
}

// foundResult is a result that is stored.
type foundResult struct {
	Number      int32
	Repeat      int
	Status      string
	ResultHash  []byte
	CostNanousd *int64
}

// findResults returns the results that an eval-run has for the items and repeats of rows.
func (s *Starter) findResults(ctx context.Context, db postgres.DB, e *evaluations.Evaluation, rows []storedResult) ([]foundResult, error) {
	numbers, repeats := make([]int32, len(rows)), make([]int16, len(rows))
	for i := range rows {
		numbers[i], repeats[i] = rows[i].Number, int16(rows[i].Repeat)
	}
	return postgres.Many[foundResult](ctx, db, "find results", pgx.NamedArgs{"id": e.ID, "numbers": numbers, "repeats": repeats})
}

// in returns the index of the result of the same item and repeat, -1 if there is none.
func (r *storedResult) in(found []foundResult) int {
	return slices.IndexFunc(found, func(f foundResult) bool { return f.Number == r.Number && f.Repeat == r.Repeat })
}

// storeResults stores results that are new or other than those before.
func (s *Starter) storeResults(ctx context.Context, tx pgx.Tx, e *evaluations.Evaluation, rows []storedResult, replace bool, added *Added) error {
	db := s.db.On(tx)
	before, err := s.findResults(ctx, db, e, rows)
	if err != nil {
		return err
	}
	changed, failed, cost, costed := make([]storedResult, 0, len(rows)), 0, int64(0), 0
	// count counts a result, or with -1 takes it back.
	count := func(status string, nanousd *int64, times int) {
		if status == evaluations.OutputFailed {
			failed += times
		}
		if nanousd != nil {
			cost, costed = cost+*nanousd*int64(times), costed+times
		}
	}
	for i := range rows {
		at := rows[i].in(before)
		switch {
		case at < 0:
			added.Added++
		case bytes.Equal(before[at].ResultHash, rows[i].hash):
			added.Unchanged++
			continue
		case !replace:
			return errResultExists(i)
		default:
			added.Replaced++
			count(before[at].Status, before[at].CostNanousd, -1)
		}
		if rows[i].ungraded {
			added.Ungraded++
		}
		count(rows[i].Status, rows[i].Cost, 1)
		changed = append(changed, rows[i])
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if _, err := db.Exec(ctx, "add results", pgx.NamedArgs{"id": e.ID, "rows": string(text)}); err != nil {
		return err
	}
	numbers := make([]int32, len(rows))
	for i := range rows {
		numbers[i] = rows[i].Number
	}
	if err := s.evaluations.CompleteItems(ctx, tx, e, numbers, e.Repeats, e.VotesTotal > 0); err != nil {
		return err
	}
	_, err = db.Exec(ctx, "count results", pgx.NamedArgs{"id": e.ID, "added": added.Added, "failed": failed, "cost": cost, "costed": costed})
	return err
}
