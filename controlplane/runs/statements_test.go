package runs

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/clickhouse/clickhousetest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What statements are made of.
var (
	statementTime    = time.Date(2026, 3, 8, 12, 30, 0, 0, time.UTC)
	statementProject = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	statementRun     = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	recentRuns       = Filter{ProjectID: statementProject, StartAfter: statementTime.Add(-30 * time.Minute), StartBefore: statementTime}
)

// sender sends statements through a service whose connection is a recorder.
type sender func(ctx context.Context, s *Service, projects access.Projects) error

// answering is a sender whose statements are answered.
func answering(answer func(statement string) ([]clickhousetest.Row, error), send sender) sender {
	return func(ctx context.Context, s *Service, projects access.Projects) error {
		s.conn.(*clickhousetest.Recorder).Answer = answer
		return send(ctx, s, projects)
	}
}

// row answers the statements that have a part with a row, and others with none.
func row(part string, columns clickhousetest.Row) func(statement string) ([]clickhousetest.Row, error) {
	return func(statement string) ([]clickhousetest.Row, error) {
		if strings.Contains(statement, part) {
			return []clickhousetest.Row{columns}, nil
		}
		return nil, nil
	}
}

// compareStatements compares what senders send with testdata/*.sql.
func compareStatements(t *testing.T, senders map[string]sender) {
	t.Helper()
	for name, send := range senders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &clickhousetest.Recorder{Shorten: map[string]string{runColumns: "{runColumns}"}}
			s := NewService(conn, nil)
			s.now = func() time.Time { return statementTime }
			require.NoError(t, send(t.Context(), s, accesstest.Projects(t, statementProject)))
			clickhousetest.Compare(t, name, conn.String(), *update)
		})
	}
}

// TestStatements compares the SQL that filters, orders and cursors make with testdata/*.sql. It shows what a change does to the
// statements; the tests that run them on ClickHouse show whether they are right.
func TestStatements(t *testing.T) {
	t.Parallel()
	now, project, run := statementTime, statementProject, statementRun
	cost, tokens, scored, value := 0.5, int64(1000), false, int64(7)
	recent := recentRuns
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
	compareStatements(t, map[string]sender{
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
	})
}
