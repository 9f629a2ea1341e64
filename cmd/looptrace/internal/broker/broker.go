// Package broker is the queue of one machine: an embedded broker that speaks Kafka's protocol, keeps every
// record on disk before it acknowledges it, deletes nothing that is not stored, and refuses records rather
// than fill the disk.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// segmentBytes is how much of a partition is deleted at once.
	segmentBytes = 4 << 20
	// checkInterval is how often the space is looked at.
	checkInterval = 500 * time.Millisecond
	// maxRecordBytes bounds one record: a request at the limit of ingest, with room for its translation.
	maxRecordBytes = 64 << 20
)

// Config says how to run the broker.
type Config struct {
	// DataDir holds the log.
	DataDir string
	// Addr is the one address to listen on and to give to clients.
	Addr string
	// MaxBytes is the size of the log at which records are refused.
	MaxBytes int64
	// KeepBytes is what is kept of the records that Group has committed, for replay after an unclean stop
	// of the store.
	KeepBytes int64
	// MinFree is the free space on the disk below which records are refused.
	MinFree int64
	// Group is the consumer group behind whose offsets Topic is trimmed.
	Group, Topic string
}

// Broker is a running broker.
type Broker struct {
	config  Config
	cluster *kfake.Cluster
	client  *kgo.Client
	log     *slog.Logger
	guard   guard
}

// Start opens the log and serves it.
func Start(config Config, log *slog.Logger) (*Broker, error) {
	_, portText, err := net.SplitHostPort(config.Addr)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if err := mend(config.DataDir); err != nil {
		return nil, err
	}
	b := &Broker{config: config, log: log}
	b.cluster, err = kfake.NewCluster(
		kfake.DataDir(config.DataDir),
		kfake.SyncWrites(),
		kfake.Ports(port),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			return net.Listen(network, config.Addr) //nolint:noctx // kfake closes it
		}),
		kfake.ClusterID("looptrace"),
		kfake.WithLogger(logger{log}),
		kfake.BrokerConfigs(map[string]string{
			"log.segment.bytes": strconv.Itoa(segmentBytes),
			"message.max.bytes": strconv.Itoa(maxRecordBytes),
			// Offsets are kept for as long as there are records: a laptop may sleep for months.
			"offsets.retention.minutes": strconv.Itoa(10 * 365 * 24 * 60),
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	// It describes the producers at the last clean stop and would be wrong after a kill. Without it any
	// producer may go on where it was.
	if err := os.Remove(filepath.Join(config.DataDir, "seq_windows.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		b.cluster.Close()
		return nil, fmt.Errorf("clear the state of producers: %w", err)
	}
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		b.cluster.Close()
		return nil, fmt.Errorf("connect to the broker: %w", err)
	}
	b.check()
	return b, nil
}

// Addr is the address that the broker listens on.
func (b *Broker) Addr() string { return b.cluster.ListenAddrs()[0] }

// Run looks after the space until ctx ends, then closes the log.
func (b *Broker) Run(ctx context.Context) error {
	defer b.cluster.Close()
	defer b.client.Close()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		b.check()
		if err := b.trim(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "cannot trim the log", "error", err)
		}
	}
}
