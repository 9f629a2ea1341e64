package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// steps of storing a batch, as ClickHouse executes them: the inserts, the reads to derive the runs, and the insert of
// those. The offsets are committed after the last.
var steps = []string{
	`INSERT INTO "spans"`, `INSERT INTO "contents"`, `INSERT INTO "run_bounds"`, "FROM run_bounds", "FROM spans", `INSERT INTO "runs"`,
}

// TestKillWithinInsert kills ClickHouse, and then the worker, while a batch is being stored: after a part of it was
// inserted and before its offsets are committed. It is inserted again, and must not be visible twice.
func TestKillWithinInsert(t *testing.T) {
	s := newSite(t)
	s.client.Shape.Parts = 4 // most batches belong to runs that are stored already
	s.send(t)
	for i, name := range []string{product.ClickHouseProcess, product.CollectorProcess} {
		t.Run(name, func(t *testing.T) {
			kills := scaled(len(steps)/2, 5*len(steps))
			r := s.newRow(t, "kill -9 "+name+" between insert and commit", fmt.Sprintf("%d kills, each within a statement of a batch", kills))
			aimed := 0
			for n := range kills {
				s.awaitRuns(t, 10)
				old, err := s.product.PID(name)
				require.NoError(t, err)
				if s.awaitStatement(t, steps[(i*kills+n)%len(steps)]) {
					aimed++
				}
				begin := time.Now()
				require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
				s.awaitOther(t, name, old)
				s.awaitBack(t, r, begin)
			}
			r.Note("%d kills hit the statement, %d came just after a batch", aimed, kills-aimed)
			r.verify(t, visibleWithin)
		})
	}
}

// awaitStatement waits until ClickHouse executes a statement, and reports whether it saw one: most take a few
// milliseconds, and it polls without a pause.
func (s *site) awaitStatement(t *testing.T, statement string) bool {
	t.Helper()
	const longest = 5 * time.Second
	query := "SELECT count() FROM system.processes WHERE query LIKE '%" + statement + "%' AND query NOT LIKE '%system.processes%'"
	conn := s.product.ClickHouse(t)
	for begin := time.Now(); time.Since(begin) < longest; {
		var working uint64
		require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&working))
		if working > 0 {
			return true
		}
	}
	return false
}
