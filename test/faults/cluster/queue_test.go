package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestQueueErrors uses a broker that answers with errors which a real one cannot be made to return on demand. The
// processes of ingest and store are real.
func TestQueueErrors(t *testing.T) {
	queue, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.BrokerConfigs(map[string]string{"message.max.bytes": fmt.Sprint(64 << 20)}))
	require.NoError(t, err)
	t.Cleanup(queue.Close)
	s := newSiteOver(t, queue.ListenAddrs())
	for _, c := range []struct {
		name   string
		keys   []kmsg.Key
		errors []*kerr.Error
	}{
		{
			name: "fetches of one partition fail", keys: []kmsg.Key{kmsg.Fetch},
			errors: []*kerr.Error{kerr.UnknownServerError, kerr.KafkaStorageError, kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch},
		},
		{
			name: "produces time out after the append", keys: []kmsg.Key{kmsg.Produce},
			errors: []*kerr.Error{kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend}, // both are returned when the record is in the log
		},
		{
			name: "produces fail before the append", keys: []kmsg.Key{kmsg.Produce},
			errors: []*kerr.Error{kerr.NotEnoughReplicas, kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		},
		{
			name: "commits fail, or time out when done", keys: []kmsg.Key{kmsg.OffsetCommit},
			errors: []*kerr.Error{kerr.RequestTimedOut, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			errors := scaled(20, 1000)
			r := s.newRow(t, "cluster: "+c.name, fmt.Sprintf("%d errors", errors))
			for range errors {
				const partitions = 4
				h := queue.Fault(kfake.Fault{
					Keys: c.keys, Topic: topic, Partitions: []int32{rand.Int32N(partitions)},
					Err: c.errors[rand.IntN(len(c.errors))],
				})
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				require.NoError(t, h.Wait(ctx, 1))
				cancel()
			}
			r.awaitBack(t, time.Now())
			r.verify(t)
		})
	}
}
