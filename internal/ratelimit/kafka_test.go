package ratelimit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// Two replicas communicate over a topic that is created only after they have started.
func TestKafkaLog(t *testing.T) {
	t.Parallel()
	const topic = "usage"
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	defer cluster.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	start := func(name string) *Limiter {
		log, err := NewKafkaLog(cluster.ListenAddrs(), topic, name)
		require.NoError(t, err)
		l := New()
		l.Join(name)
		running.Go(func() {
			l.Share(ctx, log)
			log.Close(context.WithoutCancel(ctx))
		})
		return l
	}
	a, b := start("a"), start("b")
	_, fresh := a.Replicas()
	require.False(t, fresh)

	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, topic)
	require.NoError(t, err)

	together := func(l *Limiter) func() bool {
		return func() bool { n, fresh := l.Replicas(); return n == 2 && fresh }
	}
	require.Eventually(t, together(a), patience, 10*time.Millisecond)
	require.Eventually(t, together(b), patience, 10*time.Millisecond)
	slow := Claim{Subject: testSubject, Limits: Limits{Requests: {Rate: 1, Burst: 10_000}}}
	a.Charge(Cost{Requests: 10_100}, slow)
	assert.Eventually(t, func() bool { return !b.Admit(Cost{}, slow).Allowed }, patience, 10*time.Millisecond)
	cancel()
	running.Wait()
}
