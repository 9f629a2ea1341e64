package kafka

import (
	"testing"

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
