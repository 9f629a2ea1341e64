package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestBrokerKeepsItsDataOverAKill(t *testing.T) {
	t.Parallel()
	broker := Start(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Address), kgo.DefaultProduceTopic("kept"), kgo.ConsumeTopics("kept"))
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "kept")
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr())

	broker.Kill(t)
	broker.Resume(t)

	fetches := client.PollFetches(t.Context())
	require.NoError(t, fetches.Err())
	require.Equal(t, "hello", string(fetches.Records()[0].Value))
}

// A record that two of three brokers have survives the loss of its leader, and new ones are accepted. A single broker
// accepts none.
func TestClusterSurvivesOneOfThree(t *testing.T) {
	t.Parallel()
	brokers := StartCluster(t)
	var addresses []string
	for _, b := range brokers {
		addresses = append(addresses, b.Address)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.DefaultProduceTopic("kept"), kgo.ConsumeTopics("kept"))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = admin.CreateTopic(t.Context(), 1, -1, nil, "kept")
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr())
	topics, err := admin.ListTopics(t.Context(), "kept")
	require.NoError(t, err)
	partition := topics["kept"].Partitions[0]
	require.Len(t, partition.Replicas, len(brokers))

	leader := brokers[partition.Leader-1]
	leader.Kill(t)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("again")).FirstErr())
	var read []string
	for len(read) < 2 {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		for _, record := range fetches.Records() {
			read = append(read, string(record.Value))
		}
	}
	require.Equal(t, []string{"hello", "again"}, read)

	other := brokers[partition.Leader%3]
	other.Kill(t)
	acknowledged := make(chan error, 1)
	client.Produce(t.Context(), kgo.StringRecord("alone"), func(_ *kgo.Record, err error) { acknowledged <- err })
	select {
	case err := <-acknowledged:
		t.Fatalf("one broker of three answered a record: %v", err)
	case <-time.After(2 * time.Second):
	}
	Resume(t, leader, other)
	require.NoError(t, <-acknowledged)
}
