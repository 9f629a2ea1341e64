package clickhouse

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/clickhouse/clickhousetest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestStatements compares the SQL of this package with testdata/*.sql. It shows what a change does to the statements; the tests that run
// them on ClickHouse show whether they are right.
func TestStatements(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 8, 12, 30, 0, 0, time.UTC)
	project, run := uuid.MustParse("11111111-1111-4111-8111-111111111111"), uuid.MustParse("22222222-2222-4222-8222-222222222222")
	score := uuid.MustParse("33333333-3333-4333-8333-333333333333")
	bounds := []Bounds{{ProjectID: project, RunID: run, FirstStart: now.Add(-time.Hour), LastStart: now}}
	keys := []runmodel.RunKey{bounds[0].key()}
	conversations := Conversations{ProjectID: project, IDs: []string{"a", "b"}, First: now.Add(-time.Hour), Last: now}
	batch := regexp.MustCompile(`(arguments: \[)\d+ \d+( \d+ )`) // it is random
	for name, send := range map[string]func(conn *clickhousetest.Recorder) error{
		"waiting": func(conn *clickhousetest.Recorder) error {
			_, err := ReadWaiting(t.Context(), conn, conversations)
			return err
		},
		"calls": func(conn *clickhousetest.Recorder) error {
			_, err := ReadCalls(t.Context(), conn, conversations)
			return err
		},
		"written_scores": func(conn *clickhousetest.Recorder) error {
			_, err := LeaveOutWritten(t.Context(), conn, []runmodel.Score{{ProjectID: project, RunID: run, ExportedID: score}})
			return err
		},
		"drop": func(conn *clickhousetest.Recorder) error {
			dropper := NewDropper(conn, nil, time.Hour)
			dropper.dropped = map[runmodel.RunKey]Bounds{}
			_, err := dropper.Drop(t.Context())
			return err
		},
		"delete_runs": func(conn *clickhousetest.Recorder) error {
			return DeleteRuns(t.Context(), conn, project, []uuid.UUID{run}, now)
		},
		"stale_runs": func(conn *clickhousetest.Recorder) error {
			_, err := DeriveStale(t.Context(), conn, nil, nil)
			return err
		},
		"versions": func(conn *clickhousetest.Recorder) error {
			_, err := readVersions(t.Context(), conn, bounds, 100)
			return err
		},
		"first_versions": func(conn *clickhousetest.Recorder) error {
			_, err := readFirstVersions(t.Context(), conn, bounds[0], 100)
			return err
		},
		"count_versions": func(conn *clickhousetest.Recorder) error {
			_, err := countVersions(t.Context(), conn, bounds)
			return err
		},
		"own_fingerprints": func(conn *clickhousetest.Recorder) error {
			_, err := readOwnFingerprints(t.Context(), conn, bounds)
			return err
		},
		"run_locations": func(conn *clickhousetest.Recorder) error {
			_, err := ReadRunLocations(t.Context(), conn, keys, now.Add(-time.Hour), now)
			return err
		},
		"priced_projects": func(conn *clickhousetest.Recorder) error {
			_, err := ReadPricedProjects(t.Context(), conn, now.Add(-time.Hour), now)
			return err
		},
		"priced_runs": func(conn *clickhousetest.Recorder) error {
			_, err := ReadPricedRuns(t.Context(), conn, project, now.Add(-time.Hour), now)
			return err
		},
		"priced_versions": func(conn *clickhousetest.Recorder) error {
			_, err := ReadPricedVersions(t.Context(), conn, bounds, runmodel.KeyCacheWrite1hTokens)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &clickhousetest.Recorder{}
			conn.Answer = func(statement string) ([]clickhousetest.Row, error) {
				switch {
				case strings.Contains(statement, "FROM run_bounds\n"):
					return []clickhousetest.Row{{"project_id": project, "run_id": run, "first_start": now.Add(-time.Hour), "last_start": now}}, nil
				case strings.Contains(statement, "HAVING NOT max(genai)"): // what to drop
					return []clickhousetest.Row{{"project_id": project, "run_id": run}}, nil
				case strings.Contains(statement, "AS hour FROM runs"):
					return []clickhousetest.Row{{"hour": now.Truncate(time.Hour)}}, nil
				}
				return nil, nil
			}
			require.NoError(t, send(conn))
			statements := conn.String()
			if name == "delete_runs" {
				statements = batch.ReplaceAllString(statements, "${1}{batch} {batch}${2}")
			}
			clickhousetest.Compare(t, name, statements, *update)
		})
	}
}
