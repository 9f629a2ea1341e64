package clickhouse

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestLeftBehind(t *testing.T) {
	t.Parallel()
	run := runmodel.RunKey{ProjectID: uuid.New(), RunID: uuid.New()}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(start time.Time, version uint64) RunPlace {
		return RunPlace{ProjectID: run.ProjectID, RunID: run.RunID, StartTime: start, Version: version}
	}
	deletions := leftBehind([]RunPlace{at(noon.Add(time.Minute), 1), at(noon.Add(-time.Minute), 3), at(noon.Add(-2*time.Hour), 2)})
	require.Len(t, deletions, 2)
	for _, d := range deletions {
		assert.Equal(t, uint8(1), d.Deleted)
		assert.Equal(t, uint64(3), d.Version)
		assert.NotEqual(t, noon.Add(-time.Minute), d.StartTime)
	}
	assert.Empty(t, leftBehind([]RunPlace{at(noon, 5)}))
}
