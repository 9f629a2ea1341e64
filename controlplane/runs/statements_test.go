package runs

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
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
		s.conn.Conn.(*clickhousetest.Recorder).Answer = answer
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
			s := NewService(conn, nil, nil, nil)
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

// tooLarge is the error of a statement that returns more than it may.
func tooLarge() error { return &ch.Exception{Code: codeTooManyBytesRows} }

// TestStatementsOfLists shows the statements that follow those of TestStatements where rows are found.
func TestStatementsOfLists(t *testing.T) {
	t.Parallel()
	now, project, run := statementTime, statementProject, statementRun
	loc := location{projects: accesstest.Projects(t, project), ProjectID: project, FirstStart: now.Add(-time.Hour), LastStart: now, DeletedAt: 7}
	compareStatements(t, map[string]sender{
		"list_cut": answering(func(statement string) ([]clickhousetest.Row, error) {
			if strings.Contains(statement, "query_plan_optimize_lazy_materialization") {
				return nil, nil
			}
			return nil, tooLarge()
		}, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.selectRuns(ctx, projects, inProjects(), "ORDER BY start_time, run_id LIMIT ?", 50)
			return err
		}),
		"list_by_tokens": answering(row("AS value FROM runs", clickhousetest.Row{"run_id": run, "start_time": now}), func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.List(ctx, projects, ListQuery{Filter: recentRuns, Order: byTokens, Limit: 50})
			return err
		}),
		"list_full": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.List(ctx, projects, ListQuery{Filter: recentRuns, Limit: 50, full: true})
			return err
		},
		"stats_days": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Stats(ctx, projects, StatsQuery{Filter: Filter{ProjectID: project, StartAfter: now.Add(-72 * time.Hour), StartBefore: now}})
			return err
		},
		"thread_totals": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.threadTotals(ctx, projects, []matchedThread{{ThreadID: "a"}, {ThreadID: "b"}}, Filter{})
			return err
		},
		"thread_runs": answering(row("argMaxIf(output_preview", clickhousetest.Row{"thread_id": "a", "first_time": now.Add(-time.Hour), "last_time": now}),
			func(ctx context.Context, s *Service, projects access.Projects) error {
				after := cursor{List: listThreadRuns, Time: now.Add(-time.Minute).UnixNano(), ID: run.String()}
				_, err := s.Thread(ctx, projects, ThreadQuery{ProjectID: project, ThreadID: "a", Limit: 20, Cursor: after.String()})
				return err
			}),
		"thread_roots": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.withRoots(ctx, projects, []runmodel.Run{{ProjectID: project, RunID: run, StartTime: now, RootSpanID: 1}})
			return err
		},
		"changes": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.changes(ctx, projects, now.Add(-time.Minute), 100)
			return err
		},
		"uncosted": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.UncostedModels(ctx, projects, now.Add(-24*time.Hour))
			return err
		},
		"cost_differences": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.CostDifferences(ctx, projects, now.Add(-24*time.Hour))
			return err
		},
		"experiments": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.experimentSpans(ctx, projects, map[uuid.UUID]location{run: loc}, []uuid.UUID{run}, MaxExperimentText)
			return err
		},
	})
}

func TestStatementsOfAgents(t *testing.T) {
	t.Parallel()
	compareStatements(t, map[string]sender{
		"agents": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Agents(ctx, projects, recentRuns, 50, 0)
			return err
		},
		"agent_runs": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.AgentRuns(ctx, projects, recentRuns, "a", 1000)
			return err
		},
		"agent_parts": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.AgentParts(ctx, projects, recentRuns, "a", []string{"r", "s"})
			return err
		},
		"agent_scores": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.AgentScores(ctx, projects, recentRuns, "a", 1000, 5000)
			return err
		},
	})
}

func TestStatementsOfFailures(t *testing.T) {
	t.Parallel()
	now, project, run := statementTime, statementProject, statementRun
	window := FailureWindow{Filter: Filter{ProjectID: project, AgentName: "a"}, From: now.Add(-24 * time.Hour), Now: now}
	compareStatements(t, map[string]sender{
		"failure_totals": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FailureTotals(ctx, projects, window)
			return err
		},
		"failures_first_seen": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FailuresFirstSeen(ctx, projects, window)
			return err
		},
		"releases_first_seen": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.ReleasesFirstSeen(ctx, projects, window)
			return err
		},
		"failures_since": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FailuresSince(ctx, projects, project, now, map[string]time.Time{"f": now.Add(-time.Hour), "g": now.Add(-2 * time.Hour)})
			return err
		},
		"failure_counts": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FailureCounts(ctx, projects, window, []string{"f", "g"}, 24)
			return err
		},
		"failure_attributes": answering(row("LIMIT ? BY of", clickhousetest.Row{"of": "f", "name": "release", "value": "1.2"}),
			func(ctx context.Context, s *Service, projects access.Projects) error {
				_, _, _, err := s.FailureAttributes(ctx, projects, window, []string{"f", "g"})
				return err
			}),
		"attributes": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Attributes(ctx, projects, project, []uuid.UUID{run}, now.Add(-time.Hour), now)
			return err
		},
		"failure_sample": answering(func(statement string) ([]clickhousetest.Row, error) {
			if strings.Contains(statement, "BY failed_as") {
				return []clickhousetest.Row{{"run_id": run, "start_time": now, "failed_as": "f"}}, nil
			}
			return row("SELECT "+runColumns, clickhousetest.Row{"project_id": project, "run_id": run, "start_time": now, "end_time": now, "span_count": uint64(3)})(statement)
		}, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.FailureSample(ctx, projects, window, []string{"f", "g"}, 3, 100)
			return err
		}),
	})
}

func TestStatementsOfPrompts(t *testing.T) {
	t.Parallel()
	now, project := statementTime, statementProject
	prompt := PromptUsageQuery{
		ProjectID: project, ID: "p", Name: "triage", TextIDs: map[string][]uint64{"1": {7}, "2": {8, 1 << 63}},
		StartAfter: recentRuns.StartAfter, StartBefore: recentRuns.StartBefore,
	}
	compareStatements(t, map[string]sender{
		"prompt_seen": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.PromptUsage(ctx, projects, prompt)
			return err
		},
		"prompt_scores": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.usageScores(ctx, projects, newWindow(recentRuns, recentRuns.StartAfter, now), prompt.versionsOf())
			return err
		},
		"prompt_calls": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.usageCalls(ctx, projects, prompt, recentRuns.StartAfter, now)
			return err
		},
	})
}

func TestStatementsOfSelections(t *testing.T) {
	t.Parallel()
	now, project, run := statementTime, statementProject, statementRun
	counted := row("SELECT count() AS runs", clickhousetest.Row{"runs": uint64(3)})
	clock := row("AS now", clickhousetest.Row{"now": now})
	mark := Mark{Written: now.Add(-time.Minute), ProjectID: project, RunID: run}
	compareStatements(t, map[string]sender{
		"select": answering(counted, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Select(ctx, projects, Selection{Filter: recentRuns, ReceivedBefore: now}, 10)
			return err
		}),
		"select_ids": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Select(ctx, projects, Selection{Filter: recentRuns, RunIDs: []uuid.UUID{run}}, 10)
			return err
		},
		"select_sample": answering(counted, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Sample(ctx, projects, recentRuns, 10, 42)
			return err
		}),
		"select_newest": answering(row("count() AS runs", clickhousetest.Row{"runs": uint64(3), "first": now}), func(ctx context.Context, s *Service, projects access.Projects) error {
			_, _, err := s.Newest(ctx, projects, recentRuns, 10)
			return err
		}),
		"delete": answering(counted, func(ctx context.Context, s *Service, projects access.Projects) error {
			none := func(context.Context, []uuid.UUID) error { return nil }
			_, err := s.Delete(ctx, projects, Deletion{Selection: Selection{Filter: recentRuns}, Forget: none, DryRun: true})
			return err
		}),
		"written_evaluations": answering(clock, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, _, _, err := s.WrittenEvaluations(ctx, projects, mark, 100)
			return err
		}),
		"written": answering(clock, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Written(ctx, projects, now.Add(-time.Minute), now)
			return err
		}),
		"written_sample": func(ctx context.Context, s *Service, projects access.Projects) error {
			written := &Written{Until: now, Settled: now, hours: map[uuid.UUID]writtenHours{project: {ProjectID: project, First: now.Add(-time.Hour), Last: now}}}
			sample := &Sample{Filter: Filter{ProjectID: project, AgentName: "a"}, Of: run, Share: 0.25, EndedAfter: now.Add(-24 * time.Hour)}
			_, _, err := s.WrittenSample(ctx, projects, written, mark, sample, 100)
			return err
		},
	})
}

// TestStatementsOfRun shows the statements that read a run, its spans, contents and scores.
func TestStatementsOfRun(t *testing.T) {
	t.Parallel()
	now, project, run := statementTime, statementProject, statementRun
	loc := location{projects: accesstest.Projects(t, project), ProjectID: project, FirstStart: now.Add(-time.Hour), LastStart: now, DeletedAt: 7}
	one := func() []Run { return []Run{{Run: runmodel.Run{ProjectID: project, RunID: run}}} }
	bounds := row("FROM run_bounds", clickhousetest.Row{"run_id": run, "project_id": project, "first_start": now.Add(-time.Hour), "last_start": now})
	compareStatements(t, map[string]sender{
		"run_location": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.find(ctx, projects, run)
			return ignore(err)
		},
		"run_locations": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.locationsOf(ctx, projects, []uuid.UUID{run})
			return err
		},
		"run_row": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.runRow(ctx, loc, run)
			return ignore(err)
		},
		"run_payloads": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, _, err := s.rootPayloads(ctx, loc, run, 1)
			return err
		},
		"run_totals": answering(bounds, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.Totals(ctx, projects, []uuid.UUID{run})
			return err
		}),
		"run_tool_calls": answering(bounds, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.ToolCalls(ctx, projects, []uuid.UUID{run})
			return err
		}),
		"outline": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.outlineVersions(ctx, loc, loc.where(run), 0, firstVersions+1)
			return err
		},
		"excerpts": func(ctx context.Context, s *Service, _ access.Projects) error {
			outline := Outline{Run: runmodel.Run{RunID: run}, Spans: []runmodel.Span{{SpanID: 1}}, location: loc}
			_, err := s.Excerpts(ctx, outline, []uint64{1})
			return err
		},
		"texts": func(ctx context.Context, s *Service, _ access.Projects) error {
			outline := Outline{Run: runmodel.Run{RunID: run}, Spans: []runmodel.Span{{SpanID: 1}}, location: loc}
			_, _, err := s.Texts(ctx, outline)
			return err
		},
		"spans_listed": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.listSpans(ctx, loc, run, listedColumns, maxListed)
			return ignore(err)
		},
		"spans_tree": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.listSpans(ctx, loc, run, treeColumns, 0)
			return ignore(err)
		},
		"spans_cut": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.listedPage(ctx, loc, run, []Span{{Span: runmodel.Span{SpanID: 1}}})
			return err
		},
		"spans_exported": func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.fullSpans(ctx, projects, []runmodel.Run{{ProjectID: project, RunID: run, StartTime: now, RootSpanID: 1}}, map[uuid.UUID]location{run: loc}, true)
			return err
		},
		"contents": answering(row("FROM contents", clickhousetest.Row{"content_id": uint64(5), "shared_ids": []uint64{8}, "shared_tails": []uint64{9}}),
			func(ctx context.Context, s *Service, _ access.Projects) error {
				_, err := s.contentsOf(ctx, loc, run, []uint64{5, 8}, cutContent)
				return err
			}),
		"contents_hashed": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.contentsOf(ctx, loc, run, []uint64{5}, hashedContent)
			return err
		},
		"source_rows": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.runRows(ctx, loc, []uuid.UUID{run})
			return err
		},
		"source_skeletons": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.skeletons(ctx, loc, map[uuid.UUID]location{run: loc}, []uuid.UUID{run})
			return err
		},
		"source_contents": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.contentsOfRuns(ctx, loc, []runmodel.Span{{RunID: run, InputMessageIDs: []uint64{5, 6}}})
			return err
		},
		"scores": answering(func(statement string) ([]clickhousetest.Row, error) {
			if strings.Contains(statement, "FROM run_bounds") {
				return []clickhousetest.Row{{"project_id": project, "first_start": now.Add(-time.Hour), "last_start": now}}, nil
			}
			return row("SELECT run_id", clickhousetest.Row{"run_id": run})(statement)
		}, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, _, err := s.Scores(ctx, projects, run, ScoresQuery{SpanID: 1, Limit: 10, Offset: 20})
			return err
		}),
		"score_newest": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.newestVersion(ctx, loc, run, run)
			return err
		},
		"scores_listed": func(ctx context.Context, s *Service, projects access.Projects) error {
			return s.addScores(ctx, projects, one(), maxListedScores)
		},
		"scores_read": func(ctx context.Context, s *Service, projects access.Projects) error {
			return s.addScoresAfter(ctx, projects, 7, one(), maxReadScores)
		},
		"scores_of_spans": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, err := s.spanScores(ctx, loc, run, 0, false)
			return err
		},
		"scores_exported": func(ctx context.Context, s *Service, _ access.Projects) error {
			_, _, err := s.exportedScores(ctx, loc, run)
			return err
		},
		"scores_by_rule": answering(func(statement string) ([]clickhousetest.Row, error) {
			if strings.Contains(statement, "argMax(created_at") {
				return nil, tooLarge() // what follows writes
			}
			if strings.Contains(statement, "FROM runs") {
				return []clickhousetest.Row{{"project_id": project, "run_id": run, "version": uint64(1)}}, nil
			}
			return bounds(statement)
		}, func(ctx context.Context, s *Service, projects access.Projects) error {
			_, err := s.PutRuleScores(ctx, projects, project, "rule", []RuleScore{{RunID: run, Name: "tone", Value: true}})
			if errors.Is(err, ErrTooExpensive) {
				return nil
			}
			return err
		}),
	})
}

// ignore ignores that a recorder has no run.
func ignore(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
