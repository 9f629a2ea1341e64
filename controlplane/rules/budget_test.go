package rules_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

// TestRuleBudgetOfManyRuns has 300,000 runs that were scored today. To score one more reads few of them.
func TestRuleBudgetOfManyRuns(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rule := r.rule(t, r.panels("judge-1"))
	within := r.ended(t, 2, nil)
	r.find(t)
	now := r.Clock.Now().UTC()
	for range 10 { // a statement has little time
		r.Exec(t, `INSERT INTO eval_rule_runs (rule_id, run_id, run_name, version, status, day, taken_at, next_attempt, cost_nanousd, counted_nanousd, counted_day, finished_at)
			SELECT $1, uuidv7(), 'agent', 1, 'scored', $2::date, $2, $2, 10000, 10000, $2::date, $2 FROM generate_series(1, 30000)`, rule.Id, now)
	}
	r.Exec(t, "INSERT INTO eval_rule_days VALUES ($1, $2::date, 3000000000, 0)", rule.Id, now) // $3 of the $5
	r.Exec(t, "ANALYZE eval_rule_runs")
	before := r.rowsRead(t)
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	assert.Less(t, r.rowsRead(t)-before, 1000)
	assert.Equal(t, 1, r.Count(t, "SELECT count(*) FROM eval_rule_runs WHERE run_id = $1 AND status = 'scored'", within))

	r.Exec(t, "UPDATE eval_rule_runs SET counted_nanousd = counted_nanousd + 2000000000 WHERE run_id = $1", within)
	over := r.ended(t, 4, nil)
	r.pass(t, rule)
	assert.Contains(t, r.taken(t, rule.Id, "&status=over_budget"), over)
}

// rowsRead returns how many rows of runs PostgreSQL has read so far.
func (r *ruling) rowsRead(t *testing.T) int {
	t.Helper()
	for _, conn := range r.DB.AcquireAllIdle(t.Context()) { // each tells what it read
		_, err := conn.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
		conn.Release()
		require.NoError(t, err)
	}
	return r.Count(t, "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'eval_rule_runs'")
}

// books are rules whose runs are taken, leased, paid and finished in any order, by the statements alone.
type books struct {
	*rand.Rand
	db      postgres.DB
	pool    *pgxpool.Pool
	project uuid.UUID
	now     time.Time
	rules   []uuid.UUID
	runs    []uuid.UUID
	leases  []lease
}

// lease is a run that a worker has, or had.
type lease struct {
	rule, run, worker uuid.UUID
	version           int
}

// TestRuleBudgetIsTheSumOfItsRuns does what workers, changes and deletions do, at random. After each step the days of the rules are the sums
// of their runs.
func TestRuleBudgetIsTheSumOfItsRuns(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	statements, err := os.ReadFile("queries.sql")
	require.NoError(t, err)
	var project uuid.UUID
	require.NoError(t, pool.QueryRow(t.Context(), `WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id)
		INSERT INTO projects (workspace_id, name) SELECT id, 'p' FROM w RETURNING id`).Scan(&project))
	for seed := range uint64(2) {
		b := &books{
			Rand: rand.New(rand.NewPCG(seed, 0)),
			db:   postgres.NewDB(pool, string(statements)), pool: pool, project: project, now: time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC),
		}
		steps := map[string]func(*testing.T){
			"take": b.take, "lease": b.lease, "reserve": b.reserve, "finish": b.finish, "lose": b.lose, "change": b.change, "forget": b.forget, "delete": b.remove,
		}
		often := []string{"take", "lease", "lease", "reserve", "reserve", "reserve", "finish", "finish", "take", "lease", "reserve", "finish", "lose", "lose", "change", "forget"}
		counted := 0 // the most days with money at a time
		for i := range 200 {
			name := often[b.IntN(len(often))]
			if len(b.rules) < 2 {
				b.create(t)
			} else if i%70 == 69 {
				name = "delete"
			}
			steps[name](t)
			days := b.lines(t, "SELECT rule_id, day, counted_nanousd, held_nanousd FROM eval_rule_days WHERE counted_nanousd <> 0 OR held_nanousd <> 0")
			require.Equal(t, b.lines(t, `SELECT rule_id, counted_day, sum(counted_nanousd)::bigint,
				coalesce(sum(counted_nanousd) FILTER (WHERE status = 'pending' AND worker IS NOT NULL), 0)::bigint
				FROM eval_rule_runs WHERE counted_day IS NOT NULL AND counted_nanousd <> 0 GROUP BY rule_id, counted_day`), days, "seed %d, after step %d: %s", seed, i, name)
			counted = max(counted, len(days))
		}
		assert.Greater(t, counted, 1, "it tests nothing")
		for len(b.rules) > 0 {
			b.remove(t)
		}
		assert.Empty(t, b.lines(t, "SELECT * FROM eval_rule_days"))
	}
}

// lines reads rows as text, in order.
func (b *books) lines(t *testing.T, query string) []string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), "SELECT r::text FROM ("+query+") r ORDER BY 1")
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

func (b *books) exec(t *testing.T, db postgres.DB, statement string, args pgx.NamedArgs) int64 {
	t.Helper()
	args["projects"], args["now"] = []uuid.UUID{b.project}, b.now
	n, err := db.Exec(t.Context(), statement, args)
	require.NoError(t, err)
	return n
}

func pick[T any](b *books, list []T) T { return list[b.IntN(len(list))] }

func (b *books) create(t *testing.T) {
	t.Helper()
	id := uuid.New()
	b.exec(t, b.db, "create rule", pgx.NamedArgs{
		"group_by": "session", "id": id, "project": b.project, "name": id.String(), "run_filter": "", "sample_rate": 1., "scoring": "{}", "max_cost": 1000, "allow_unpriced": false,
		"nowhere": uuid.Nil, "author": nil, "author_key": nil,
	})
	b.rules = append(b.rules, id)
}

func (b *books) version(t *testing.T, rule uuid.UUID) (version int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT version FROM eval_rules WHERE id = $1", rule).Scan(&version))
	return version
}

func (b *books) take(t *testing.T) {
	t.Helper()
	rule, ids, names := pick(b, b.rules), make([]uuid.UUID, 5), make([]string, 5)
	for i := range ids {
		ids[i] = uuid.New()
	}
	b.runs = append(b.runs, ids...)
	b.exec(t, b.db, "take runs", pgx.NamedArgs{"id": rule, "version": b.version(t, rule), "day": b.now, "runs": ids, "names": names})
}

func (b *books) lease(t *testing.T) {
	t.Helper()
	l := lease{rule: pick(b, b.rules), worker: uuid.New()}
	l.version = b.version(t, l.rule)
	leased, err := postgres.Many[struct {
		RunID          uuid.UUID
		Attempts       int
		CountedNanousd int64
		CountedDay     *time.Time
		Lost           bool
	}](t.Context(), b.db, "lease runs", pgx.NamedArgs{"id": l.rule, "version": l.version, "worker": l.worker, "now": b.now, "lease": b.now.Add(time.Minute), "limit": 3})
	require.NoError(t, err)
	for i := range leased {
		l.run = leased[i].RunID
		b.leases = append(b.leases, l)
	}
}

// reserve reads what others count, and reserves money for a run, also for one that its worker has lost.
func (b *books) reserve(t *testing.T) {
	t.Helper()
	if len(b.leases) == 0 {
		return
	}
	l := pick(b, b.leases)
	args := pgx.NamedArgs{"id": l.rule, "run": l.run, "worker": l.worker, "version": l.version, "day": b.now, "counted": b.Int64N(4) * 100}
	others, err := postgres.One[struct{ Counted, Held int64 }](t.Context(), b.db, "read day", args)
	require.NoError(t, err)
	want, err := pgx.CollectExactlyOneRow(b.query(t, `SELECT coalesce(sum(counted_nanousd), 0)::bigint AS counted,
		coalesce(sum(counted_nanousd) FILTER (WHERE status = 'pending' AND worker IS NOT NULL), 0)::bigint AS held
		FROM eval_rule_runs WHERE rule_id = $1 AND counted_day = $2 AND run_id <> $3`, l.rule, b.now, l.run), pgx.RowToStructByName[struct{ Counted, Held int64 }])
	require.NoError(t, err)
	require.Equal(t, want, others)
	b.exec(t, b.db, "reserve", args)
}

func (b *books) query(t *testing.T, sql string, args ...any) pgx.Rows {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	return rows
}

// finish ends runs of a worker, of whose rule the version may have changed meanwhile, twice: the answer to the first may be lost.
func (b *books) finish(t *testing.T) {
	t.Helper()
	if len(b.leases) == 0 {
		return
	}
	first := pick(b, b.leases)
	type row struct {
		RunID       uuid.UUID `json:"run_id"`
		Status      string    `json:"status"`
		Attempted   bool      `json:"attempted"`
		Counted     int64     `json:"counted"`
		CostUnknown bool      `json:"cost_unknown"`
		NextAttempt time.Time `json:"next_attempt"`
	}
	var list []row
	b.leases = slices.DeleteFunc(b.leases, func(l lease) bool {
		ends := l.worker == first.worker && (l.run == first.run || b.IntN(2) == 0)
		if ends {
			list = append(list, row{RunID: l.run, Status: pick(b, []string{"pending", "pending", "scored", "partly_scored", "failed", "skipped", "over_budget"}), Counted: b.Int64N(5) * 70, NextAttempt: b.now})
		}
		return ends
	})
	rows, err := json.Marshal(list)
	require.NoError(t, err)
	for range 2 {
		b.exec(t, b.db, "finish runs", pgx.NamedArgs{"id": first.rule, "version": first.version, "worker": first.worker, "rows": string(rows), "scores": "[]"})
	}
}

// lose lets the leases end, and some times the day.
func (b *books) lose(*testing.T) {
	b.now = b.now.Add(pick(b, []time.Duration{2 * time.Minute, 12 * time.Hour}))
}

func (b *books) change(t *testing.T) {
	t.Helper()
	rule := pick(b, b.rules)
	b.exec(t, b.db, "update rule", pgx.NamedArgs{
		"group_by": "session", "id": rule, "changed": 1, "name": rule.String(), "run_filter": "", "sample_rate": 1., "scoring": "{}", "max_cost": 1000, "allow_unpriced": false,
	})
	b.exec(t, b.db, "move pending runs", pgx.NamedArgs{"id": rule})
}

// forget deletes runs, of any rules.
func (b *books) forget(t *testing.T) {
	t.Helper()
	if len(b.runs) > 0 {
		b.exec(t, b.db, "forget runs", pgx.NamedArgs{"runs": []uuid.UUID{pick(b, b.runs), pick(b, b.runs), pick(b, b.runs)}, "code": "run_deleted", "detail": "The run was deleted."})
	}
}

func (b *books) remove(t *testing.T) {
	t.Helper()
	rule := pick(b, b.rules)
	require.EqualValues(t, 1, b.exec(t, b.db, "delete rule", pgx.NamedArgs{"id": rule}), fmt.Sprint(rule))
	b.rules = slices.DeleteFunc(b.rules, func(id uuid.UUID) bool { return id == rule })
}
