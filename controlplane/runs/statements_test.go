package runs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorder records the statements that a service sends, and answers each with no rows.
type recorder struct {
	driver.Conn
	statements strings.Builder
}

func (r *recorder) Query(_ context.Context, statement string, args ...any) (driver.Rows, error) {
	statement = strings.ReplaceAll(strings.TrimSpace(statement), runColumns, "{runColumns}")
	fmt.Fprintf(&r.statements, "%s;\n-- arguments: %v\n", strings.ReplaceAll(statement, " AND ", "\n\tAND "), args)
	return noRows{}, nil
}

type noRows struct{ driver.Rows }

func (noRows) Columns() []string { return nil }
func (noRows) Next() bool        { return false }
func (noRows) Close() error      { return nil }
func (noRows) Err() error        { return nil }

// TestStatements compares the SQL that filters, orders and cursors make with testdata/*.sql. It shows what a change does to the
// statements; the tests that run them on ClickHouse show whether they are right.
func TestStatements(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 8, 12, 30, 0, 0, time.UTC)
	project, run := uuid.MustParse("11111111-1111-4111-8111-111111111111"), uuid.MustParse("22222222-2222-4222-8222-222222222222")
	cost, tokens, scored, value := 0.5, int64(1000), false, int64(7)
	recent := Filter{ProjectID: project, StartAfter: now.Add(-30 * time.Minute), StartBefore: now}
	with := func(change func(f *Filter)) Filter {
		f := recent
		change(&f)
		return f
	}
	listRunsOf := func(q ListQuery) func(context.Context, *Service, access.Projects) error {
		return func(ctx context.Context, s *Service, projects access.Projects) error {
			q.Limit = 50
			_, err := s.List(ctx, projects, q)
			return err
		}
	}
	cursorOf := func(order string, f Filter, value *int64) string {
		return cursor{List: listRuns, Order: order, Filter: f.Digest(), Time: now.Add(-time.Minute).UnixNano(), ID: run.String(), Value: value}.String()
	}
	for name, send := range map[string]func(context.Context, *Service, access.Projects) error{
		"list":          listRunsOf(ListQuery{Filter: Filter{ProjectID: project, Window: 2 * time.Hour}}),
		"list_oldest":   listRunsOf(ListQuery{Filter: recent, Order: OldestFirst, Cursor: cursorOf(OldestFirst, recent, nil)}),
		"list_offset":   listRunsOf(ListQuery{Filter: recent, Offset: 100}),
		"list_search":   listRunsOf(ListQuery{Filter: with(func(f *Filter) { f.Search = `refund "not found` })}),
		"list_no_token": listRunsOf(ListQuery{Filter: with(func(f *Filter) { f.Search = "--" })}),
		"list_filters": listRunsOf(ListQuery{Filter: with(func(f *Filter) {
			*f = Filter{
				ProjectID: project, Window: time.Hour, Statuses: []string{"error", "ok"}, Kinds: []string{"agent"}, Name: "a'b", Model: "m", AgentName: "a",
				SessionID: "s", ConversationID: "c", UserID: "u", Tag: "t", Environment: "e", Release: "r", ErrorType: "E", Prompts: []PromptMatch{{ID: "p", Name: "n", Version: "1", TextIDs: []uint64{7, 1 << 63}}, {Name: "n"}},
				Fingerprint: "f", Metadata: map[string]string{"tier": "free", "plan": "x"}, MinDuration: time.Second, MinCostUSD: &cost, MinTokens: &tokens,
				HasScore: &scored,
			}
		})}),
		"list_by_cost":        listRunsOf(ListQuery{Filter: recent, Order: descending + byCost, Cursor: cursorOf(descending+byCost, recent, &value)}),
		"list_by_no_duration": listRunsOf(ListQuery{Filter: recent, Order: byDuration, Cursor: cursorOf(byDuration, recent, nil)}),
		"threads": func(ctx context.Context, s *Service, projects access.Projects) error {
			after := cursor{List: listThreads, Filter: recent.Digest(), Time: now.UnixNano(), ID: "7"}
			_, err := s.Threads(ctx, projects, ThreadsQuery{Filter: recent, Limit: 50, Cursor: after.String()})
			return err
		},
		"stats_by_model": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Stats(ctx, projects, StatsQuery{Filter: recent, GroupBy: "model", Groups: 5})
			return err
		},
		"stats_by_prompt": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Stats(ctx, projects, StatsQuery{Filter: recent, GroupBy: "prompt_version", Groups: 5})
			return err
		},
		"failures": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FailureGroups(ctx, projects, FailureWindow{Filter: Filter{ProjectID: project}, From: now.Add(-24 * time.Hour), Now: now}, "")
			return err
		},
		"field_values": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FieldValues(ctx, projects, recent, MetadataField+"tier", "fr", 10)
			return err
		},
		"score_names": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FieldValues(ctx, projects, recent, ScoreNameField, "re", 10)
			return err
		},
		"score_summaries": func(ctx context.Context, s *Service, projects access.Projects) error {
			return s.addScoreSummaries(ctx, projects, []Run{{Run: runmodel.Run{ProjectID: project, RunID: run}}}, []string{"relevance", "tone"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &recorder{}
			s := NewService(conn, nil)
			s.now = func() time.Time { return now }
			require.NoError(t, send(t.Context(), s, accesstest.Projects(t, project)))
			file := filepath.Join("testdata", name+".sql")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(conn.statements.String()), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run the test with -update")
			assert.Equal(t, string(want), conn.statements.String())
		})
	}
}
