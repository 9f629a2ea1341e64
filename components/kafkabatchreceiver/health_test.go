package kafkabatchreceiver

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/looptrace/looptrace/components/kafkabatchreceiver/internal/metadata"
)

// A consumer that never returns causes no error. The receiver must notice that records wait without progress.
func TestWedgedIsNotReady(t *testing.T) {
	t.Parallel()
	q, _ := fakeQueue(t)
	s := newStore()
	entered, open := gate(s)
	defer open()
	h := &host{}
	runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), s)
	q.put(t, 2, spanNamed(t, name(0)))
	<-entered
	until(t, "the receiver says so", func() bool { _, ready := h.last(); return !ready })
	text, _ := h.last()
	assert.Regexp(t, `^records wait and none was stored since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, text)

	open()
	until(t, "the receiver is well again", func() bool { text, ready := h.last(); return ready && text == "" })
	assert.Equal(t, componentstatus.StatusOK, h.reported()[len(h.reported())-1])
}

// A partition that returns no records is reported although the others make progress.
func TestUnreadPartitionIsNotReady(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	var away atomic.Bool
	away.Store(true)
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		// It answers as if partition 1 were empty.
		topics := request.(*kmsg.FetchRequest).Topics
		for i := range topics {
			topics[i].Partitions = slices.DeleteFunc(topics[i].Partitions, func(p kmsg.FetchRequestTopicPartition) bool {
				return p.Partition == 1 && away.Load()
			})
		}
		return nil, nil, false
	})
	s := newStore()
	h := &host{}
	runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), s)
	q.fill(t, 0, 40)
	until(t, "the receiver says so", func() bool { _, ready := h.last(); return !ready })
	text, _ := h.last()
	assert.Contains(t, text, "partition 1: records wait and none was read since ")
	assert.Equal(t, 30, s.count())
	away.Store(false)
}

// A store that refuses is a problem at once, and makes the receiver not ready after a delay.
func TestRefusingStoreIsNotReadyAfterPatience(t *testing.T) {
	t.Parallel()
	q, _ := fakeQueue(t)
	s := newStore()
	away := errors.New("the store is away")
	s.refuse = func([]string) error { return away }
	h := &host{}
	runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), s)
	begun := time.Now()
	q.fill(t, 0, 4)
	until(t, "a problem is reported", func() bool { text, _ := h.last(); return text != "" })
	text, ready := h.last()
	assert.True(t, ready)
	assert.Regexp(t, `^cannot hand a batch on since \S+: the store is away$`, text)
	until(t, "the patience ends", func() bool { _, ready := h.last(); return !ready })
	assert.Greater(t, time.Since(begun), time.Second, "not before its time")
}

// A slow, idle or rebalanced receiver is ready.
func TestReadyWhileThereIsProgress(t *testing.T) {
	t.Parallel()
	const looks = 3 // times notReadyAfter
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		q, _ := fakeQueue(t)
		h := &host{}
		runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), newStore())
		q.fill(t, 0, 4)
		q.waitDrained(t)
		<-time.After(looks * time.Second)
		assert.False(t, h.refused())
		assert.Empty(t, h.reported())
	})
	t.Run("slow store", func(t *testing.T) {
		t.Parallel()
		q, _ := fakeQueue(t)
		s := newStore()
		s.refuse = func([]string) error { <-time.After(200 * time.Millisecond); return nil }
		h := &host{}
		cfg := q.config()
		cfg.MaxBatchSpans = 4 // a partition has none in most of them
		q.fill(t, 0, 80)
		runQuick(t, receivertest.NewNopSettings(metadata.Type), h, cfg, s)
		q.waitDrained(t)
		assert.False(t, h.refused())
	})
	t.Run("rebalance", func(t *testing.T) {
		t.Parallel()
		q, _ := fakeQueue(t)
		h := &host{}
		runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), newStore())
		q.waitSettled(t, 1)
		for i := range looks {
			stop := run(t, q.config(), newStore())
			q.waitSettled(t, 2)
			q.fill(t, 10*i, 10*i+10)
			q.waitDrained(t)
			stop()
			q.waitSettled(t, 1)
		}
		assert.False(t, h.refused())
	})
}

// A broker that stays unavailable, or refuses commits, is reported in the same way.
func TestBrokerTroubleIsNotReady(t *testing.T) {
	t.Parallel()
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		require.NoError(t, err)
		q := newQueue(t, cluster.ListenAddrs()[0])
		h := &host{}
		runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), newStore())
		q.waitSettled(t, 1)
		cluster.Close()
		until(t, "the receiver says so", func() bool { _, ready := h.last(); return !ready })
		text, _ := h.last()
		assert.Contains(t, text, "connection refused")
	})
	t.Run("refuses commits", func(t *testing.T) {
		t.Parallel()
		q, cluster := fakeQueue(t)
		h := &host{}
		cluster.ControlKey(int16(kmsg.OffsetCommit), func(request kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			answer := request.ResponseKind().(*kmsg.OffsetCommitResponse)
			for _, topic := range request.(*kmsg.OffsetCommitRequest).Topics {
				one := kmsg.OffsetCommitResponseTopic{Topic: topic.Topic, TopicID: topic.TopicID}
				for _, partition := range topic.Partitions {
					one.Partitions = append(one.Partitions, kmsg.OffsetCommitResponseTopicPartition{
						Partition: partition.Partition, ErrorCode: kerr.UnknownServerError.Code,
					})
				}
				answer.Topics = append(answer.Topics, one)
			}
			return answer, nil, true
		})
		runQuick(t, receivertest.NewNopSettings(metadata.Type), h, q.config(), newStore())
		q.fill(t, 0, 4)
		until(t, "the receiver says so", func() bool { _, ready := h.last(); return !ready })
		text, _ := h.last()
		assert.Contains(t, text, "cannot commit offsets since ")
	})
}
