// Package broker is the queue of one machine: an embedded broker that speaks Kafka's protocol. It syncs every record
// to the disk before it acknowledges it, deletes only records that are stored, and refuses records before the disk is
// full.
//
// kfake implements the protocol, the groups and the writing. syncer holds answers back until a power cut cannot undo
// what they report. recoverFiles repairs the files that a crash has left.
package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/internal/kafkaclient"
)

const (
	// segmentBytes is the size of a segment. A partition is trimmed by whole segments.
	segmentBytes = 4 << 20
	// groupsBytes is the size at which the groups file is rewritten with the newest state only.
	groupsBytes = 1 << 20
	// checkInterval is how often the free space is checked.
	checkInterval = 500 * time.Millisecond
	// maxRecordBytes limits one record: the largest request that ingest accepts, plus its translation.
	maxRecordBytes = 64 << 20
)

// Config configures the broker.
type Config struct {
	// DataDir holds the log.
	DataDir string
	// Addr is the address to listen on and to advertise to clients.
	Addr string
	// Password is the clients' password, see Login.
	Password string
	// MaxBytes is the size of the log, without dead deadLetters, at which records are refused.
	MaxBytes int64
	// KeepBytes is how much of the records that Group has committed is kept, for replay after an unclean stop of the
	// store.
	KeepBytes int64
	// MinFree is the free space on the disk below which records are refused.
	MinFree int64
	// Topic is trimmed to the offsets that the consumer group Group has committed.
	Group, Topic string
	// DeadLetterTopic is the topic of dead deadLetters. Its oldest segments are deleted when it exceeds DeadLetterBytes or
	// they are older than DeadLetterAge. Its newest segment stays.
	DeadLetterTopic string
	DeadLetterBytes int64
	DeadLetterAge   time.Duration
	// Registry registers the metrics.
	Registry prometheus.Registerer
}

// Broker is a running broker.
type Broker struct {
	config  Config
	cluster *kfake.Cluster
	client  *kgo.Client
	log     *slog.Logger
	syncer  *syncer
	guard   guard
	metrics metrics
}

// The SASL mechanism and the user of clients.
const (
	user      = "looptrace"
	mechanism = "SCRAM-SHA-256"
)

// Login returns the credentials of clients for the password.
func Login(password string) *kafkaclient.SASL {
	return &kafkaclient.SASL{Mechanism: mechanism, Username: user, Password: password}
}

// Start opens the log and serves it. A disk failure ends the process, because only a new process reads the state of
// the disk.
func Start(config Config, log *slog.Logger) (*Broker, error) {
	return start(config, segmentBytes, groupsBytes, log)
}

func start(config Config, segmentBytes, groupsBytes int64, log *slog.Logger) (*Broker, error) {
	_, portText, err := net.SplitHostPort(config.Addr)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	if err := makeDir(filepath.Join(config.DataDir, partitionsDir)); err != nil {
		return nil, err
	}
	if err := recoverFiles(config.DataDir, log); err != nil {
		return nil, err
	}
	b := &Broker{config: config, log: log}
	if b.syncer, err = newSyncer(config.DataDir); err != nil {
		return nil, err
	}
	if b.metrics, err = newMetrics(config); err != nil {
		return nil, err
	}
	// It would restore the password of the last clean stop.
	if err := os.Remove(filepath.Join(config.DataDir, "sasl.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clear the passwords: %w", err)
	}
	ready := make(chan struct{})
	defer close(ready) // if the start fails, the broker is closed by then
	b.cluster, err = kfake.NewCluster(
		kfake.DataDir(config.DataDir),
		kfake.Ports(port),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			l, err := net.Listen(network, config.Addr) //nolint:noctx // kfake closes it
			if err != nil {
				return nil, err
			}
			return listener{Listener: l, ready: ready, syncer: b.syncer, fail: b.fail}, nil
		}),
		kfake.ClusterID("looptrace"),
		kfake.EnableSASL(),
		kfake.Superuser(mechanism, user, config.Password),
		kfake.WithLogger(logger{log, b.fail}),
		kfake.BrokerConfigs(map[string]string{
			"log.segment.bytes":       strconv.FormatInt(segmentBytes, 10),
			"state.log.compact.bytes": strconv.FormatInt(groupsBytes, 10),
			"message.max.bytes":       strconv.Itoa(maxRecordBytes),
			// Offsets are kept as long as records: a laptop may sleep for months.
			"offsets.retention.minutes": strconv.Itoa(10 * 365 * 24 * 60),
		}),
	)
	if err != nil {
		b.syncer.close()
		return nil, fmt.Errorf("open the log: %w", err)
	}
	if err := b.open(); err != nil {
		b.cluster.Close()
		b.syncer.close()
		return nil, err
	}
	b.check()
	return b, nil
}

// open prepares the log before the first client.
func (b *Broker) open() error {
	// It describes the producers at the last clean stop and is wrong after a kill. Without it any producer may
	// continue.
	err := os.Remove(filepath.Join(b.config.DataDir, "seq_windows.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear the state of producers: %w", err)
	}
	if err := b.syncer.sync(); err != nil {
		return err
	}
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.Addr()), Login(b.config.Password).Option())
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	return nil
}

// Addr returns the address that the broker listens on.
func (b *Broker) Addr() string { return b.cluster.ListenAddrs()[0] }

// Run trims the log and checks the free space until ctx ends, then closes the log.
func (b *Broker) Run(ctx context.Context) error {
	b.maintain(ctx)
	b.client.Close()
	b.cluster.Close()
	err := b.syncer.sync() // what Close wrote
	b.syncer.close()
	return err
}

func (b *Broker) maintain(ctx context.Context) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.check()
		if err := b.trim(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "cannot trim the log", "error", err)
		}
		if err := b.trimDeadLetters(); err != nil {
			b.log.WarnContext(ctx, "cannot trim the dead deadLetters", "error", err)
		}
	}
}

// fail ends the process before it answers anyone, because the state of the disk is unknown. It adds one byte to a
// file that counts failures, because the next process serves the metrics.
func (b *Broker) fail(cause error) {
	b.log.Error("the log cannot be written, the process ends to be restarted", "cause", cause.Error())
	if err := noteFailure(b.config.DataDir); err != nil {
		b.log.Error("cannot count the failure", "cause", err.Error())
	}
	os.Exit(1)
}
