package results

import (
	"encoding/binary"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/evaluations"
)

// OutputRow is what is read of an output.
type OutputRow = outputRow

// Of returns the results of outputs, as they are read.
func Of(t *testing.T, e *evaluations.Evaluation, config *evaluations.Config, rows []outputRow, groups []int) *Results {
	t.Helper()
	r := newResults(e, config, nil, int32(e.ItemCount))
	stored := make([]storedItem, e.ItemCount)
	for i := range stored {
		stored[i] = storedItem{Number: int32(i + 1), ItemID: itemID(i), Status: evaluations.ItemPending}
		r.Items[i].ID, r.Items[i].Group = itemID(i), groups[i]
	}
	for i := range rows {
		require.NoError(t, r.add(&rows[i]))
	}
	r.order()
	r.statuses(stored)
	return r
}

func itemID(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint32(id[:], uint32(i+1))
	return id
}
