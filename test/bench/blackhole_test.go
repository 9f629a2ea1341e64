package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// blackholeProcess is a broker that acknowledges spans and keeps none, so that ingest can be measured alone. It is
	// a separate process: this program, with the address in blackholeAddr.
	blackholeProcess = "blackhole"
	blackholeAddr    = "LOOPTRACE_BENCH_BLACKHOLE"
	spansTopic       = "looptrace.spans"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(blackholeAddr); addr != "" {
		if err := serveBlackhole(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveBlackhole(addr string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// From version 13 on, a request names topics by ids.
	const produceWithNames = 12
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.Produce.Int16(), produceWithNames)
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) { return net.Listen(network, addr) }),
		kfake.MaxVersions(versions),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "67108864"}),
	)
	if err != nil {
		return fmt.Errorf("start the blackhole: %w", err)
	}
	defer cluster.Close()
	next := map[int32]int64{} // each partition's offset; kfake runs one control at a time
	cluster.ControlKey(kmsg.Produce.Int16(), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		produce, ok := request.(*kmsg.ProduceRequest)
		if !ok || len(produce.Topics) != 1 || produce.Topics[0].Topic != spansTopic {
			return nil, nil, false // the replicas' usage records are kept
		}
		answer := kmsg.NewProduceResponseTopic()
		answer.Topic = spansTopic
		for _, partition := range produce.Topics[0].Partitions {
			taken := kmsg.NewProduceResponseTopicPartition()
			taken.Partition, taken.BaseOffset = partition.Partition, next[partition.Partition]
			next[partition.Partition]++
			answer.Partitions = append(answer.Partitions, taken)
		}
		response, _ := produce.ResponseKind().(*kmsg.ProduceResponse)
		response.Topics = []kmsg.ProduceResponseTopic{answer}
		return response, nil, true
	})
	<-ctx.Done()
	return nil
}

// startBlackhole starts the broker that keeps nothing.
func (r *rig) startBlackhole() {
	r.t.Helper()
	r.brokers, r.login = r.ports.Addr(product.Broker), "null"
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	child := r.run(blackholeProcess, []string{blackholeAddr + "=" + r.brokers}, self)
	r.await(child, func(ctx context.Context) error { return r.migrate(ctx, "KAFKA_BROKERS="+r.brokers) })
}
