// Package migrate prepares the stores for this version of the product: the schemas of PostgreSQL and ClickHouse, and
// the topics of the queue.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/kafkaclient"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// Names in the queue.
const (
	SpansTopic      = "looptrace.spans"
	DeadLetterTopic = "looptrace.spans.deadletter"
	StoreGroup      = "looptrace-store"
)

// maxRecordBytes is the largest request that ingest accepts, plus its translation.
const maxRecordBytes = 64 << 20

// usageRetention is ten minutes in milliseconds. A process that starts reads the last ten seconds.
const usageRetention = "600000"

// Stores are the addresses of the stores to migrate. Run skips empty ones.
type Stores struct {
	DatabaseURL string
	// DatabaseAdminURL is a superuser's, who makes the database and its role. Without it both must exist.
	DatabaseAdminURL string
	ClickHouseURL    string
	KafkaBrokers     string
	KafkaSecurity    kafkaclient.Security
	// TextIndex switches ClickHouse's text indexes on or off.
	TextIndex clickhouse.TextIndex
}

// Run migrates all stores concurrently. It may be killed at any time and run again.
func Run(ctx context.Context, s Stores) error {
	group, ctx := errgroup.WithContext(ctx)
	if s.DatabaseURL != "" {
		group.Go(func() error {
			if s.DatabaseAdminURL != "" {
				if err := postgres.Provide(ctx, s.DatabaseAdminURL, s.DatabaseURL); err != nil {
					return err
				}
			}
			return postgres.Migrate(ctx, s.DatabaseURL)
		})
	}
	if s.ClickHouseURL != "" {
		group.Go(func() error {
			if err := clickhouse.Migrate(ctx, s.ClickHouseURL); err != nil {
				return err
			}
			return clickhouse.SetTextIndex(ctx, s.ClickHouseURL, s.TextIndex)
		})
	}
	if s.KafkaBrokers != "" {
		group.Go(func() error { return createTopics(ctx, strings.Split(s.KafkaBrokers, ","), s.KafkaSecurity) })
	}
	return group.Wait()
}

// IsOlderBuild reports whether Run refused a store that was created by a build from before the first release.
func IsOlderBuild(err error) bool {
	return errors.Is(err, postgres.ErrOlderBuild) || errors.Is(err, clickhouse.ErrOlderBuild)
}

// createTopics creates the missing topics and does not change existing ones: the cluster's owner may have set
// partitions, replicas and retention.
func createTopics(ctx context.Context, brokers []string, security kafkaclient.Security) error {
	client, err := kgo.NewClient(append(security.Options(), kgo.SeedBrokers(brokers...))...)
	if err != nil {
		return fmt.Errorf("read the queue's address: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client) // uses the client, nothing to close
	spans := map[string]*string{
		"max.message.bytes": kadm.StringPtr(strconv.Itoa(maxRecordBytes)),
		"retention.ms":      kadm.StringPtr("-1"), // unlimited: no record may expire before it is stored
	}
	usage := map[string]*string{
		// Not compacted: that would keep a replica's last record and drop the snapshot before it.
		"cleanup.policy": kadm.StringPtr("delete"),
		"retention.ms":   kadm.StringPtr(usageRetention),
		"segment.ms":     kadm.StringPtr(usageRetention), // retention removes whole segments only
	}
	for _, topic := range []struct {
		name       string
		partitions int32
		config     map[string]*string
	}{
		{SpansTopic, 4, spans},
		{DeadLetterTopic, 1, spans},
		{ratelimit.UsageTopic, 1, usage}, // one partition: all readers see the same order
		{ratelimit.APIUsageTopic, 1, usage},
	} {
		_, err := admin.CreateTopic(ctx, topic.partitions, -1, topic.config, topic.name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create the topic %s: %w", topic.name, err)
		}
	}
	return nil
}
